"""The independent check of a plan: domain values only, never the solver."""
