"""From plan to purchase: states, approvals, the audit log, what was executed, what was billed."""
