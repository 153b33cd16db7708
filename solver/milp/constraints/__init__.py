"""Constraint families, one a module."""
