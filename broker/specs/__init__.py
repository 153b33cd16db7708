"""Facts from datasheets and published tables, as CSV with units and sources."""
