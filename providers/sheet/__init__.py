"""Price sheets: private quotes, owned hardware and recorded markets, from CSV or YAML."""
