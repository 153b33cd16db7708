"""The store of offers: append-only observations in SQL."""
