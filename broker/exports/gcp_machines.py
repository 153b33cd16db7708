"""GCP's machines to which GPUs are attached: `n1-standard-8+nvidia-tesla-t4x1` is two things.

The catalog names the machine with what it gets, as that is what has a price; Google takes the two
apart.
"""

import re

_ATTACHED = re.compile(r"(?P<machine>[^+]+)\+(?P<gpu>.+)x\d+")


def machine_type(instance_type: str) -> str:
    """Name the machine alone."""
    found = _ATTACHED.fullmatch(instance_type)
    return found["machine"] if found else instance_type


def attached_gpu(instance_type: str) -> str:
    """Name the GPU that is attached; empty where the machine comes with its own."""
    found = _ATTACHED.fullmatch(instance_type)
    return found["gpu"] if found else ""
