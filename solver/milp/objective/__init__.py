"""Objective terms, one a module."""
