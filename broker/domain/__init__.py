"""The values that every stage shares: no I/O, no clock, no framework but pydantic."""
