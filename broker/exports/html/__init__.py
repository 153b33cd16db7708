"""A plan as one HTML page that opens offline, prints, and needs no script."""
