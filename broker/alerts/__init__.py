"""What is worth telling someone, and how it reaches them once."""
