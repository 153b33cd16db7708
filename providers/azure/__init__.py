"""Microsoft Azure: the public Retail Prices API."""
