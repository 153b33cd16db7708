"""Ranks with ties: what differs by less than an estimate of a ratio may be off is no difference.

Errors of one formula are shared by the GPUs that it is asked about, so the order of two is surer
than either figure. Options within 20 % of each other are a tie; across vendors, or a group over
PCIe against one over a fast link, within 40 % (held-out order of published pairs of GPUs: right in
96 %, wrong ones mostly below a gap of 30 %).
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final, Protocol

TIE_SHARE: Final = Decimal("0.2")
TIE_SHARE_ACROSS: Final = Decimal("0.4")


class Priced(Protocol):
    """What is ranked: its price, and of which kind of hardware it is."""

    @property
    def usd(self) -> Decimal:
        """Give the price."""

    @property
    def kind(self) -> tuple[str, bool]:
        """Give the vendor, and whether it is a group over PCIe."""


def ranks(options: Sequence[Priced]) -> Iterator[tuple[int, bool]]:
    """Give each option, cheapest first, its rank, and whether it shares it.

    Options that tie with the first of a rank have its rank; the next one has its own place.
    """
    firsts: list[int] = []
    for place, option in enumerate(options):
        first = firsts[-1] if firsts else place
        firsts.append(first if _ties(options[first], option) else place)
    for first in firsts:
        yield first + 1, firsts.count(first) > 1


def _ties(one: Priced, other: Priced) -> bool:
    share = TIE_SHARE if one.kind == other.kind else TIE_SHARE_ACROSS
    return other.usd <= one.usd * (1 + share)
