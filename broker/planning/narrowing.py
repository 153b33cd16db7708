"""A case with some of its freedom taken away."""

from collections.abc import Callable
from dataclasses import replace

from broker.domain.case import Case, standing
from broker.domain.offer import Offer, PriceKind


def narrowed(
    case: Case,
    *,
    offer: Callable[[Offer], bool],
    owned: Callable[[Offer], bool] = lambda machine: True,
) -> Case:
    """Keep some offers and owned machines, and the options that stand on what is left.

    The rate of a savings plan stands on the on-demand offer of its machine.
    """
    kept = [one for one in case.offers if offer(one)]
    rented = {one.machine for one in kept if one.price_kind is PriceKind.ON_DEMAND}
    offers = tuple(
        one for one in kept if one.price_kind is not PriceKind.SAVINGS_PLAN or one.machine in rented
    )
    holdings = tuple(one for one in case.owned if owned(case.machines[one.machine]))
    return standing(replace(case, offers=offers, owned=holdings))
