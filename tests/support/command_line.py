"""What a command of gpubroker did, for tests of the command line."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


Gpubroker = Callable[..., Ended]
"""Runs one command line."""
