"""Spot that is worth it: options on spot stay where the price is enough below on demand."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from broker.domain.case import ServingOption, TrainingOption
from broker.domain.offer import Offer, PriceKind
from broker.domain.policy import Policy
from broker.domain.surcharge import paid

NOT_WORTH_IT = "spot not enough below on demand"


@dataclass(frozen=True, slots=True)
class WorthIt:
    """What is left of offers and options, and the spot offers on which nothing may run."""

    offers: tuple[Offer, ...]
    serving: tuple[ServingOption, ...]
    training: tuple[TrainingOption, ...]
    dropped: tuple[Offer, ...]


def worth_it(
    policy: Policy,
    offers: Sequence[Offer],
    serving: Iterable[ServingOption],
    training: Iterable[TrainingOption],
) -> WorthIt:
    """Keep options on spot whose price is the policy's `spot_discount` below on demand, or more.

        spot_usd_per_hour / useful_share ≤ (1 − discount) · on_demand_usd_per_hour

    Prices are those that are paid, with the policy's surcharges. The useful share is that of a
    run's time up which interruptions leave; 1 for replicas, whose rates know of none. A machine
    without an on-demand price has no price to be below. A spot offer that then carries nothing goes
    too.
    """
    discount = policy.coverage.spot_discount
    if not discount:
        return WorthIt(tuple(offers), tuple(serving), tuple(training), ())
    ratios = _price_ratios(paid(one, policy.surcharges) for one in offers)
    most = 1 - Fraction(str(discount))

    def stays(machine: str, useful_share: float) -> bool:
        ratio = ratios.get(machine)
        return ratio is not None and ratio <= most * Fraction(str(useful_share))

    served = tuple(one for one in serving if not one.on_spot or stays(one.machine, 1.0))
    done = tuple(
        one
        for one in training
        if not one.candidate.on_spot or stays(one.machine, one.candidate.useful_share)
    )
    used = {one.machine for one in served if one.on_spot}
    used |= {one.machine for one in done if one.candidate.on_spot}
    dropped = tuple(_unused(offers, used))
    gone = {one.key for one in dropped}
    return WorthIt(tuple(one for one in offers if one.key not in gone), served, done, dropped)


def _price_ratios(offers: Iterable[Offer]) -> dict[str, Fraction]:
    """Give the spot price over the on-demand price of each machine that has both."""
    prices = {(one.machine, one.price_kind): Fraction(one.usd_per_hour) for one in offers}
    return {
        machine: usd / prices[machine, PriceKind.ON_DEMAND]
        for (machine, kind), usd in prices.items()
        if kind is PriceKind.SPOT and (machine, PriceKind.ON_DEMAND) in prices
    }


def _unused(offers: Iterable[Offer], used: set[str]) -> Iterator[Offer]:
    return (one for one in offers if one.price_kind is PriceKind.SPOT and one.machine not in used)
