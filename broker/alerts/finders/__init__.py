"""What may be worth telling of a night: one module for each kind of alert."""
