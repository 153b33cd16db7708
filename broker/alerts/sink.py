"""A sink: one way in which messages reach people, or their machines."""

from typing import ClassVar, Protocol

from broker.alerts.news import Message
from broker.domain.errors import BrokerError


class DeliveryError(BrokerError):
    """A message did not arrive; it is kept and sent again in the next run.

    `is_down` if the sink takes no messages at present, so that others need not be tried now;
    otherwise it refused this one.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, *, hint: str, is_down: bool = True) -> None:
        super().__init__(message, hint=hint)
        self.is_down = is_down


class Sink(Protocol):
    """One way to deliver messages."""

    @property
    def name(self) -> str:
        """Name the sink; what was told is remembered by this name."""

    def deliver(self, message: Message) -> None:
        """Deliver a message whole, or not at all, trying again where that may help.

        Raises:
            DeliveryError: it did not arrive, or nobody can know.
        """

    def preview(self, message: Message) -> str:
        """Show what would be sent, and where to, without a secret."""
