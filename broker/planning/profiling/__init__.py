"""From a log of requests to a load curve and size classes."""
