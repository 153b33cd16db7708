"""Workloads files of real situations, listed and copied by a command."""
