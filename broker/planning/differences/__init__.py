"""What changed between two plans: the lines, the cost by its causes, and the steps to get there."""
