"""Google Cloud: machines priced from the parts that the Cloud Billing Catalog lists."""
