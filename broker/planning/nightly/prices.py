"""How the prices moved of what the plan in force buys."""

from collections.abc import Iterator
from datetime import timedelta

from broker.alerts.night import PriceMove
from broker.domain.offer import PriceKind
from broker.domain.plan import Plan
from broker.planning.catalog_view import CatalogView
from broker.planning.differences.lines import Window
from broker.planning.nightly.owed import OwedLines
from broker.verification.timeline import node_hours_of

_HOUR = timedelta(hours=1)


def price_moves(
    plan: Plan, view: CatalogView, window: Window, owed: OwedLines
) -> tuple[PriceMove, ...]:
    """List the offers in use of which the price moved; what is bought or owned has no new one.

    The price of a commitment is that of an hour with its share of the upfront. Nodes are the mean
    over the rest of the horizon.
    """
    return tuple(_moves(plan, view, window, owed))


def _moves(plan: Plan, view: CatalogView, window: Window, owed: OwedLines) -> Iterator[PriceMove]:
    then = {offer.key: offer for offer in plan.offers}
    now = {offer.key: offer for offer in view.offers}
    hours = (window.to_at - window.from_at) / _HOUR
    for one in plan.purchases:
        node_hours = float(node_hours_of(window.clipped(one.steps)))
        is_bought = one.id in owed and owed[one.id].is_whole
        is_paid = one.price_kind is PriceKind.OWNED or is_bought
        if is_paid or one.offer not in now or not node_hours:
            continue
        before, after = then[one.offer], now[one.offer]
        if before.effective_usd_per_hour != after.effective_usd_per_hour:
            yield PriceMove(
                offer=one.offer,
                usd_per_hour_before=before.effective_usd_per_hour,
                usd_per_hour_now=after.effective_usd_per_hour,
                nodes=round(node_hours / hours, 2),
                seen_at=after.provenance.observed_at,
            )
