"""Where alerts go: one module for each way."""
