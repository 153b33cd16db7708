"""What a report may tell beside its plan, where somebody has it: given as data."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class PriceStep:
    """What a node cost from one instant to another; `is_held` marks a price that was doubted."""

    from_at: datetime
    to_at: datetime
    usd_per_hour: Decimal
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class PricePath:
    """The prices of one offer, in the order of time, as the catalog learned of them."""

    offer: str
    steps: tuple[PriceStep, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of one thing of the plan; `subject` is a line's id or any other heading."""

    subject: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Extras:
    """All of it; a report does without what is not there."""

    prices: tuple[PricePath, ...] = ()
    told: tuple[Told, ...] = ()


NO_EXTRAS = Extras()
"""A report of the plan alone."""
