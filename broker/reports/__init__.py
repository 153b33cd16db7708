"""What people and machines read of a plan or a catalog."""
