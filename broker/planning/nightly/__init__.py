"""The nightly job: price, plan, verify, diff, decide, tell."""
