"""What fits, and at what rate: one formula a function."""
