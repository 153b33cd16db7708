"""The database under everything that is kept: how it is opened, and its schema's migrations."""
