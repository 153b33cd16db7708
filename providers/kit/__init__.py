"""What adapters share: the protocol, the retrying transport, recorded replies."""
