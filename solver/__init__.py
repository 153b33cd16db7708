"""Sizing and the program: pure functions over domain values."""
