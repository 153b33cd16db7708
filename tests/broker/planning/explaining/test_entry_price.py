from decimal import ROUND_FLOOR, Decimal

import pytest
from explaining import TO_THE_END, Entering
from random_cases import random_case
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from broker.domain.plan import Status
from broker.planning.explaining.entry_price import CENT, Question, Rest, entry_price, fewest_hours
from solver.milp.forced import is_used
from solver.milp.optimize import optimize

A = offer("1", name="a")
B = offer("3", name="b")
TIE = Decimal("0.00001")


def three_requests(*, max_groups: int, rate_of_b: float = 2.0) -> Case:
    """Serve 3 requests/s all day: three of `a` at 1 $/h each, or `b`, which is faster."""
    file = workloads(services=[service_entry(3, 3)], policy={"max_groups": max_groups})
    return case(file, [A, B], serving=[serving(A, [1.0]), serving(B, [rate_of_b])])


@pytest.mark.parametrize(
    ("max_groups", "enters"),
    [
        (1, "1.50"),  # two of b must cost no more than three of a: 2p ≤ 3
        (2, "2.00"),  # one of b stands for two of three a: p + 1 ≤ 3
    ],
)
def test_an_offer_enters_at_the_price_worked_by_hand(max_groups: int, enters: str) -> None:
    entry = Entering(three_requests(max_groups=max_groups), B.key).entry()
    assert entry.least_usd_per_hour == entry.most_usd_per_hour == Decimal(enters)
    assert entry.now_usd_per_hour == 3


def test_an_offer_may_stay_out_even_for_nothing() -> None:
    """The egress to it is paid whatever its nodes cost."""
    file = workloads(training=[run_entry(8 * 3600)])
    options = [training(A), training(B, egress_usd="50")]
    entry = Entering(case(file, [A, B], training=options), B.key).entry()
    assert entry.least_usd_per_hour is None
    assert entry.most_usd_per_hour is not None
    assert entry.most_usd_per_hour < CENT


def test_an_upfront_part_is_part_of_the_price() -> None:
    committed = offer("1", name="a", kind=PriceKind.RESERVED, term_months=1, upfront_usd="730")
    file = workloads(services=[service_entry(3, 3)], days=28, slot="24 h")
    one = Entering(case(file, [A, committed], serving=[serving(A, [1.0])]), committed.key)
    entry = one.entry()
    assert entry.now_usd_per_hour == 2
    assert entry.least_usd_per_hour == 1
    half = one.planned(Decimal("0.99"))
    (bought,) = [line for line in half.purchases if line.id == committed.key]
    assert bought.upfront_usd == Decimal("1084.05")  # half of 0.99 · 730, for three nodes


def test_a_gap_makes_an_interval() -> None:
    """The best plan without b costs 72; were only 60 proven, b would enter for certain at 1.5."""
    one = Entering(three_requests(max_groups=2), B.key)
    question = Question(one.key, one.now, fewest_hours(one.of))
    entry = entry_price(question, one.forced, lambda _: Rest(Decimal(60), Decimal(72)))
    assert entry.least_usd_per_hour == Decimal("1.5")
    assert entry.most_usd_per_hour is not None
    assert entry.most_usd_per_hour >= 2


@pytest.mark.parametrize("seed", [1, 9, 17, 80])
def test_planning_at_the_price_and_a_cent_above_confirms_it(seed: int) -> None:
    plan = optimize(random_case(seed), TO_THE_END)
    tried = 0
    for offered in random_case(seed).offers:
        one = Entering(random_case(seed), offered.key)
        if is_used(plan, [one.key]) or one.forced(one.now).status is Status.INFEASIBLE:
            continue
        least = one.entry().least_usd_per_hour
        if least is None or least < CENT:
            continue
        tried += 1
        figure = least.quantize(CENT, rounding=ROUND_FLOOR)
        assert abs(one.planned(figure).total_usd - one.forced(figure).total_usd) <= TIE
        assert figure == least or is_used(one.planned(figure), [one.key])
        assert not is_used(one.planned(figure + CENT), [one.key])
    assert tried
