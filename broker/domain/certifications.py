"""Names of certifications: one way of writing, so that those of two sources can be compared."""

import re


def certification_code(name: str) -> str:
    """Write a name in the one way in which "SOC 2", "soc-2" and "soc2" are the same."""
    return re.sub(r"[^a-z0-9]+", "", name.lower())
