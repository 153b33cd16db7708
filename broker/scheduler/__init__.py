"""What runs when: schedules, the one runner that holds the lease, and its jobs."""
