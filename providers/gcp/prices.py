"""The prices of all parts, by part, market and region, as they are found on the pages.

The parts of one machine may stand on different pages, so machines are priced when all are read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from broker.domain.offer import Provenance, Rejection
from providers.gcp.labels import Market, Part, read_label
from providers.gcp.machines import NAME, Machine
from providers.gcp.wire import PartKind, Problem, Sku, list_price

_Key = tuple[Part, Market, str]


class PartPrice(NamedTuple):
    """Dollars for an hour of one unit of a part, and where that was read."""

    usd: Decimal
    seen: Provenance


@dataclass(frozen=True, slots=True)
class MachinePrice:
    """What a machine costs an hour, by parts, exact; `seen` is the page of its GPUs.

    The price holds since the time at which the oldest of its parts does.
    """

    by_kind: dict[PartKind, Decimal]
    seen: Provenance

    @property
    def usd(self) -> Decimal:
        """Add up the parts."""
        return sum(self.by_kind.values(), Decimal(0))

    def of(self, kind: PartKind) -> Decimal:
        """Give the dollars of one kind of part; zero where the machine is not billed for it."""
        return self.by_kind.get(kind, Decimal(0))


class PriceBook:
    """Prices of parts. Two prices for one part in one place cancel each other: it has none."""

    def __init__(self) -> None:
        self._prices: dict[_Key, PartPrice] = {}
        self._unclear: dict[_Key, str] = {}

    def add(self, sku: Sku, seen: Provenance) -> Iterator[Rejection]:
        """Note the price of a SKU in each of its regions, or say why it has none."""
        label = read_label(sku.description, sku.category.usage_type)
        if label is None:
            return
        if isinstance(label, Problem):
            yield rejection(sku.subject, label)
            return
        found = list_price(sku, label.part.kind)
        if isinstance(found, Problem):
            yield rejection(sku.subject, found)
            return
        dated = seen.model_copy(update={"effective_at": found.effective_at})
        for region in sku.service_regions:
            clash = self._note((*label, region), PartPrice(found.usd, dated))
            if clash:
                yield rejection(f"{sku.subject} in {region}", Problem("ambiguous_part", clash))

    def regions(self) -> tuple[str, ...]:
        """Name the regions in which a part has a price."""
        return tuple(sorted({region for _, _, region in self._prices}))

    def lists(self, machine: Machine, market: Market, region: str) -> bool:
        """Tell whether a part that only this kind of machine has is priced, or should be."""
        keys = [(part, market, region) for part in machine.own]
        return any(key in self._prices or key in self._unclear for key in keys)

    def price(self, machine: Machine, market: Market, region: str) -> MachinePrice | Problem:
        """Add up the parts of a machine, all of one region and one market."""
        keys = [(part, market, region) for part, _ in machine.needs]
        absent = [self._why_absent(key) for key in keys if key not in self._prices]
        if absent:
            return Problem("missing_part", "; ".join(absent))
        found = [self._prices[key] for key in keys]
        by_kind = {
            part.kind: amount * one.usd
            for (part, amount), one in zip(machine.needs, found, strict=True)
        }
        times = [one.seen.effective_at for one in found if one.seen.effective_at]
        oldest = min(times, default=None)
        return MachinePrice(by_kind, found[0].seen.model_copy(update={"effective_at": oldest}))

    def _note(self, key: _Key, price: PartPrice) -> str:
        """Note a price; where another one is known already, strike both and tell of it."""
        known = self._prices.setdefault(key, price)
        if key in self._unclear or known.usd != price.usd:
            clash = self._unclear.setdefault(key, f"priced {known.usd} and {price.usd}")
            del self._prices[key]
            return clash
        return ""

    def _why_absent(self, key: _Key) -> str:
        part, market, _ = key
        return f"{part} {market}: {self._unclear.get(key, 'no price')}"


def rejection(subject: str, problem: Problem) -> Rejection:
    """Make a rejection of a problem."""
    return Rejection(provider=NAME, subject=subject, reason=problem.reason, detail=problem.detail)
