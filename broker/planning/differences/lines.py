"""The lines of two plans side by side, over the time that both cover."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from broker.domain.case import committed_hours
from broker.domain.offer import Offer, PriceKind
from broker.domain.pauses import fewest
from broker.domain.plan import NodeStep, Plan, Purchase
from broker.domain.surcharge import paid, paid_by_key
from broker.reports.diff_view import LineRow
from broker.verification.costs import to_micro_usd
from broker.verification.timeline import node_hours_of

_ORDER = ("added", "removed", "changed", "repriced", "unchanged")


@dataclass(frozen=True, slots=True)
class Window:
    """The time in which two plans are compared: where both horizons lie; empty if they do not."""

    from_at: datetime
    to_at: datetime

    @classmethod
    def of(cls, old: Plan, new: Plan) -> "Window":
        """Overlap the horizons of two plans."""
        horizons = (old.workloads.horizon, new.workloads.horizon)
        start = max(one.start for one in horizons)
        return cls(start, max(start, min(one.end for one in horizons)))

    def clipped(self, steps: Iterable[NodeStep]) -> tuple[NodeStep, ...]:
        """Keep what lies in the window of some steps."""
        return tuple(
            NodeStep(
                from_at=max(one.from_at, self.from_at),
                to_at=min(one.to_at, self.to_at),
                nodes=one.nodes,
            )
            for one in steps
            if one.from_at < self.to_at and one.to_at > self.from_at
        )


def line_rows(old: Plan, new: Plan, new_prices: Mapping[str, Offer]) -> tuple[LineRow, ...]:
    """List every line of either plan: what was added, removed and changed comes first."""
    window = Window.of(old, new)
    before = {one.id: one for one in old.purchases}
    after = {one.id: one for one in new.purchases}
    old_prices = old.paid_offers
    new_prices = paid_by_key(new_prices.values(), new.workloads.policy.surcharges)
    rows = [
        _row(
            line,
            before.get(line),
            after.get(line),
            prices=(old_prices, new_prices),
            window=window,
        )
        for line in sorted(before.keys() | after.keys())
    ]
    return tuple(sorted(rows, key=lambda row: (_ORDER.index(row.change), row.line)))


def repriced_usd(purchase: Purchase, offer: Offer) -> Decimal:
    """Charge an old purchase at an offer's price, by the rule that the plan was charged by.

    rented (usd_per_hour · node_hours), committed (with the upfront share of its hours), owned 0. Of
    a block of which some hours are left, the same part of its whole price. What a savings plan
    promises stays as it is; of nodes that it covers, the same part of their hours is covered.
    """
    if purchase.price_kind is PriceKind.OWNED:
        return Decimal(0)
    if purchase.savings is not None:
        return purchase.usd
    per_hour = Fraction(offer.usd_per_hour)
    if purchase.block is not None:
        nodes = max((step.nodes for step in purchase.steps), default=0)
        per_hour *= Fraction(purchase.block.length_h * nodes) / Fraction(purchase.node_hours)
    if offer.commitment is not None:
        per_hour += Fraction(offer.commitment.upfront_usd) / Fraction(committed_hours(offer))
    hours = node_hours_of(purchase.steps)
    if purchase.covered_node_hours:
        hours *= 1 - Fraction(purchase.covered_node_hours) / Fraction(purchase.node_hours)
    return to_micro_usd(per_hour * hours)


def promised_usd(purchase: Purchase, window: Window) -> Decimal | None:
    """Give what a savings plan promises in a window; None where the purchase is none."""
    if purchase.savings is None:
        return None
    seconds = Fraction((window.to_at - window.from_at) // timedelta(seconds=1))
    return to_micro_usd(Fraction(purchase.savings.usd_per_hour) * seconds / 3600)


def price_changes(old: Plan, new_prices: Mapping[str, Offer]) -> Iterator[tuple[str, Decimal]]:
    """Give what the new price adds to each old purchase whose offer still has one.

    Surcharges are those of the old plan.
    """
    for one in old.purchases:
        if one.price_kind is PriceKind.OWNED:
            yield one.id, Decimal(0)
        elif one.offer in new_prices:
            price = paid(new_prices[one.offer], old.workloads.policy.surcharges)
            yield one.id, repriced_usd(one, price) - one.usd


def _row(
    line: str,
    old: Purchase | None,
    new: Purchase | None,
    *,
    prices: tuple[Mapping[str, Offer], Mapping[str, Offer]],
    window: Window,
) -> LineRow:
    old_usd = old.usd if old else Decimal(0)
    new_usd = new.usd if new else Decimal(0)
    old_price, new_price = (_price(old or new, known) for known in prices)
    repriced = prices[1].get(old.offer) if old else None
    old_least, old_most = _span(old)
    new_least, new_most = _span(new)
    return LineRow(
        change=_change(old, new, window, is_repriced=old_price != new_price),
        line=line,
        old_least_nodes=old_least,
        old_most_nodes=old_most,
        new_least_nodes=new_least,
        new_most_nodes=new_most,
        old_usd_per_hour=old_price,
        new_usd_per_hour=new_price,
        old_usd=old_usd,
        new_usd=new_usd,
        change_usd=new_usd - old_usd,
        price_usd=repriced_usd(old, repriced) - old_usd if old and repriced else None,
    )


def _change(
    old: Purchase | None, new: Purchase | None, window: Window, *, is_repriced: bool
) -> str:
    if old is None:
        return "added"
    if new is None:
        return "removed"
    if window.clipped(old.steps) != window.clipped(new.steps):
        return "changed"
    if _promised(old) != _promised(new):
        return "changed"
    return "repriced" if is_repriced else "unchanged"


def _promised(purchase: Purchase) -> Decimal | None:
    return purchase.savings.usd_per_hour if purchase.savings else None


def _price(purchase: Purchase | None, known: Mapping[str, Offer]) -> Decimal | None:
    """Give the price of an hour with its upfront share; none is owed for an owned node."""
    if purchase is None or purchase.offer not in known:
        return None
    is_owned = purchase.price_kind is PriceKind.OWNED
    return Decimal(0) if is_owned else known[purchase.offer].effective_usd_per_hour


def _span(purchase: Purchase | None) -> tuple[int | None, int | None]:
    if purchase is None or not purchase.steps:
        return None, None
    nodes = [step.nodes for step in purchase.steps]
    return fewest(purchase.steps, nodes), max(nodes)
