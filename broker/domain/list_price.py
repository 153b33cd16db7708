"""List prices: what the work of a team or a workload is charged by in budgets.

Nodes are shared, and what is paid for one in an hour may be part rent, part commitment and part
sunk, so there is no share of the bill that is a workload's own. At list prices its cost follows
from its own replicas and gangs alone, whoever else is on the nodes and whatever they are paid with:
idle parts of nodes, and what commitments save, stay with the plan.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from broker.domain.offer import Offer, PriceKind

_NOTHING = Decimal(0)


def list_usd_per_hour(offers: Iterable[Offer]) -> Mapping[tuple[str, bool], Decimal]:
    """Give the list price of a node by machine, and whether on spot.

    On spot it is the spot price. Else it is the on-demand price; where a machine is not rented, the
    dearest of its committed prices by the hour, upfront spread over the term. Owned nodes that
    nothing is on offer for have none: their work costs nothing.
    """
    listed: dict[tuple[str, bool], Decimal] = {}
    rented: set[str] = set()
    for offer in offers:
        side = (offer.machine, offer.price_kind is PriceKind.SPOT)
        usd = offer.effective_usd_per_hour
        if offer.price_kind is PriceKind.ON_DEMAND:
            listed[side] = usd
            rented.add(offer.machine)
        elif side[1] or offer.machine not in rented:
            listed[side] = max(usd, listed.get(side, _NOTHING))
    return listed
