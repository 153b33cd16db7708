"""Spot is used where it is enough below on demand: here 4 USD an hour, and 2 on spot."""

from decimal import Decimal

import pytest
from tiny_cases import offer, serving, training

from broker.domain.case import TrainingOption
from broker.domain.coverage_policy import CoveragePolicy
from broker.domain.offer import PriceKind
from broker.domain.policy import Policy
from broker.domain.surcharge import Surcharge
from broker.planning.spot_discount import WorthIt, worth_it

BOX, SPOT = offer("4"), offer("2", kind=PriceKind.SPOT)


@pytest.mark.parametrize(("discount", "is_used"), [(0.0, True), (0.5, True), (0.51, False)])
def test_replicas_go_on_spot_from_the_discount_on(discount: float, *, is_used: bool) -> None:
    found = _left(discount)
    assert [one.on_spot for one in found.serving] == ([False, True] if is_used else [False])
    assert (SPOT in found.offers, SPOT in found.dropped) == (is_used, not is_used)


def test_a_run_pays_for_what_interruptions_cost_it() -> None:
    """With nine tenths of its time useful, 2 USD are as dear as 2.22: 44 % below, not 50."""
    run = _useful(training(BOX, on_spot=True), 0.9)
    assert worth_it(_asked(0.44), [BOX, SPOT], [], [run]).training == (run,)
    found = worth_it(_asked(0.45), [BOX, SPOT], [], [run, training(BOX)])
    assert found.training == (training(BOX),)
    assert found.dropped == (SPOT,)


def test_without_an_on_demand_price_there_is_nothing_to_be_below() -> None:
    found = worth_it(_asked(0.1), [SPOT], [serving(BOX, [1], on_spot=True)], [])
    assert (found.offers, found.serving) == ((), ())


@pytest.mark.parametrize(
    ("spot_usd", "certified"),
    [("0.617285", ()), ("0.6", ("soc2",))],
    ids=["to the micro-dollar", "where spot alone has a surcharge"],
)
def test_prices_are_those_that_are_paid(spot_usd: str, certified: tuple[str, ...]) -> None:
    """0.617285 is half of 1.23457; a tenth more, it is 0.679014, and above half of 1.358027."""
    box = offer("1.23457")
    spot = offer(spot_usd, kind=PriceKind.SPOT).model_copy(update={"certifications": certified})
    dearer = Surcharge(rate=Decimal("0.1"), certifications=certified)
    for surcharges, is_used in (((), True), ((dearer,), False)):
        policy = _asked(0.5, surcharges)
        options = [serving(box, [1]), serving(box, [1], on_spot=True)]
        left = worth_it(policy, [box, spot], options, [])
        assert [one.on_spot for one in left.serving] == ([False, True] if is_used else [False])


def _asked(discount: float, surcharges: tuple[Surcharge, ...] = ()) -> Policy:
    return Policy(coverage=CoveragePolicy(spot_discount=discount), surcharges=surcharges)


def _left(discount: float) -> WorthIt:
    options = [serving(BOX, [1]), serving(BOX, [1], on_spot=True)]
    return worth_it(_asked(discount), [BOX, SPOT], options, [])


def _useful(option: TrainingOption, share: float) -> TrainingOption:
    candidate = option.candidate.model_copy(update={"useful_share": share})
    return TrainingOption(option.run, option.machine, candidate, option.egress_usd)
