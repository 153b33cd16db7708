"""A case with some of its freedom taken away."""

from collections.abc import Callable
from dataclasses import replace

from broker.domain.case import Case
from broker.domain.offer import Offer, PriceKind


def narrowed(
    case: Case,
    *,
    offer: Callable[[Offer], bool],
    owned: Callable[[Offer], bool] = lambda machine: True,
) -> Case:
    """Keep some offers and owned machines, and the options that stand on what is left.

    A spot option stands on a spot offer of its machine, any other on a firm offer or an owned node.
    The rate of a savings plan stands on the on-demand offer of its machine.
    """
    kept = [one for one in case.offers if offer(one)]
    rented = {one.machine for one in kept if one.price_kind is PriceKind.ON_DEMAND}
    offers = tuple(
        one for one in kept if one.price_kind is not PriceKind.SAVINGS_PLAN or one.machine in rented
    )
    holdings = tuple(one for one in case.owned if owned(case.machines[one.machine]))
    spot = {one.machine for one in offers if one.price_kind is PriceKind.SPOT}
    firm = {one.machine for one in offers if one.price_kind is not PriceKind.SPOT}
    firm |= {one.machine for one in holdings}

    def stands(machine: str, *, on_spot: bool) -> bool:
        return machine in (spot if on_spot else firm)

    return replace(
        case,
        offers=offers,
        owned=holdings,
        serving=tuple(one for one in case.serving if stands(one.machine, on_spot=one.on_spot)),
        training=tuple(
            one for one in case.training if stands(one.machine, on_spot=one.candidate.on_spot)
        ),
    )
