"""What two plans cost from now on: only that can still be changed.

A commitment that was bought is owed whether it is used or not, so leaving it saves nothing.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from broker.domain.horizon import Horizon
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Plan, Purchase
from broker.domain.quantities import quantize_usd
from broker.domain.surcharge import paid, paid_by_key
from broker.planning.differences.lines import Window, promised_usd, repriced_usd
from broker.planning.nightly.data_window import egress, egress_after, storage
from broker.planning.nightly.owed import NOTHING_OWED, OwedLines

_NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True)
class Costs:
    """What each line of two plans costs in a window, at tonight's prices; also data."""

    before: Mapping[str, Decimal]
    after: Mapping[str, Decimal]

    @property
    def before_usd(self) -> Decimal:
        """Add up what the plan in force costs, what is owed for it included."""
        return sum(self.before.values(), _NOTHING)

    @property
    def after_usd(self) -> Decimal:
        """Add up what tonight's plan costs, what stays owed for the other included."""
        return sum(self.after.values(), _NOTHING)

    @property
    def saving_usd(self) -> Decimal:
        """Say what tonight's plan saves; below zero where it costs more."""
        return self.before_usd - self.after_usd

    def saved(self, item: str) -> Decimal:
        """Say what one line saves."""
        return self.before.get(item, _NOTHING) - self.after.get(item, _NOTHING)


def window_from(now: datetime, horizon: Horizon) -> Window:
    """Give the rest of a horizon, in whole slots; it is empty once the horizon is over."""
    slots_over = max(0, math.ceil((now - horizon.start) / horizon.slot))
    return Window(min(horizon.start + slots_over * horizon.slot, horizon.end), horizon.end)


def shared_window(now: datetime, in_force: Plan, horizon: Horizon) -> Window:
    """Give the rest of the time that a plan in force and a horizon that moved on both cover."""
    rest = window_from(now, horizon)
    ends_at = min(rest.to_at, in_force.workloads.horizon.end)
    from_at = max(rest.from_at, in_force.workloads.horizon.start)
    return Window(min(from_at, ends_at), ends_at)


def costs_of(
    in_force: Plan,
    made: Plan,
    window: Window,
    *,
    prices: Mapping[str, Offer],
    owed: OwedLines = NOTHING_OWED,
) -> Costs:
    """Charge both plans at the same prices: tonight's, and the old ones of offers that are gone.

    What is `owed` of the plan in force is charged as it was bought, in both: what tonight's plan
    has beyond it is at tonight's price.
    """
    surcharges = made.workloads.policy.surcharges
    known = in_force.paid_offers | paid_by_key(prices.values(), surcharges)
    before = {one.id: _usd(one, known, window) for one in in_force.purchases}
    known |= made.paid_offers
    after = {one.id: _usd(one, known, window) for one in made.purchases}
    for one in in_force.purchases:
        if one.id in owed:
            due = owed[one.id]
            offer = paid(due.offer, surcharges)
            bought_usd = _part(_usd(one, {one.offer: offer}, window), due.part)
            listed_usd = _part(before[one.id], due.part)
            more_usd = max(_NOTHING, after.get(one.id, _NOTHING) - listed_usd)
            before[one.id] += bought_usd - listed_usd
            after[one.id] = bought_usd + more_usd
    before |= egress(in_force, window) | storage(in_force, window)
    after |= egress_after(in_force, made, window) | storage(made, window)
    return Costs(before, after)


def first_costs(made: Plan, window: Window) -> Costs:
    """Charge tonight's plan where there is none in force."""
    prices = made.paid_offers
    after = {one.id: _usd(one, prices, window) for one in made.purchases}
    return Costs({}, after | egress(made, window) | storage(made, window))


def _part(usd: Decimal, part: Fraction) -> Decimal:
    return quantize_usd(usd * part.numerator / part.denominator)


def _usd(purchase: Purchase, prices: Mapping[str, Offer], window: Window) -> Decimal:
    if purchase.price_kind is PriceKind.OWNED:
        return _NOTHING
    promised = promised_usd(purchase, window)
    if promised is not None:
        return promised
    clipped = purchase.model_copy(update={"steps": window.clipped(purchase.steps)})
    return repriced_usd(clipped, prices[purchase.offer])
