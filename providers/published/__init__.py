"""Providers whose prices no API tells: dated sheets of their price pages, in the package."""
