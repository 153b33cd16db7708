"""How much a dollar in a scenario counts in what a plan over scenarios is to cost at least."""

from collections.abc import Sequence
from decimal import Decimal

from broker.domain.offer import PriceKind
from broker.domain.robust import FORECAST, Measure, Robust


def weights_of(robust: Robust, costs: Sequence[Decimal]) -> list[Decimal]:
    """Weigh scenarios, the forecast first, so that Σ weight · cost is the objective of their costs.

        weight[s] = (1 − weight) · probability[s] + weight · taken[s] / (1 − alpha)

    taken[s] is what of its probability is among the worst courses, which are taken dearest first.
    """
    probabilities = list(robust.probabilities.values())
    tail = robust.weight if robust.measure is Measure.CVAR else Decimal(0)
    weights = [(1 - tail) * one for one in probabilities]
    left = share = 1 - robust.alpha
    for number in sorted(range(len(costs)), key=lambda at: costs[at], reverse=True):
        taken = min(probabilities[number], left)
        weights[number] += tail * taken / share
        left -= taken
    return weights


def least_weight(robust: Robust, kind: PriceKind) -> Decimal:
    """Give what a dollar on the price of an offer adds at least for each node-hour of its use.

    What is committed is paid in every scenario, and their weights add up to 1. What is rented may
    be so in one alone, which need not be among the worst.
    """
    if kind not in (PriceKind.ON_DEMAND, PriceKind.SPOT):
        return Decimal(1)
    tail = robust.weight if robust.measure is Measure.CVAR else Decimal(0)
    return (1 - tail) * min(
        probability * price_factor(robust, name, kind)
        for name, probability in robust.probabilities.items()
    )


def price_factor(robust: Robust, name: str, kind: PriceKind) -> Decimal:
    """Give what the price of an offer is multiplied by in a scenario."""
    if name == FORECAST:
        return Decimal(1)
    (prices,) = (one.prices for one in robust.scenarios if one.name == name)
    factors = {PriceKind.ON_DEMAND: prices.on_demand, PriceKind.SPOT: prices.spot}
    return factors.get(kind, Decimal(1))
