"""What can go wrong for a person: one tree, each class with the exit code of the command.

BrokerError 1
├── ConfigurationError 2
├── ProviderError 3
└── NoFeasiblePlanError 4
"""

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Self


class BrokerError(Exception):
    """Anything the user can act on: the message says what happened, the hint what to do next."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.hint = hint

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[object, ...]]:
        """Go to another process with the hint, which Python would leave behind."""
        return partial(type(self), hint=self.hint), self.args


class ConfigurationError(BrokerError):
    """A file, an option or a setting is wrong."""

    exit_code = 2


class ProviderError(BrokerError):
    """A provider did not answer, or answered what cannot be read."""

    exit_code = 3


class NoFeasiblePlanError(BrokerError):
    """No purchase meets every rule of the workloads file."""

    exit_code = 4
