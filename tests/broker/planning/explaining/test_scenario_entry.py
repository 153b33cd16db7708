"""The price at which an offer enters a plan over scenarios, and how their dollars are weighed."""

from decimal import ROUND_FLOOR, Decimal

import pytest
from changed_cases import with_workloads
from explaining import TO_THE_END, Entering
from scenario_cases import hedged_case, scenario_case, two_or_four_requests

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from broker.domain.plan import Status
from broker.domain.robust import Robust
from broker.planning.explaining.entry_price import CENT
from broker.planning.explaining.weights import least_weight, weights_of
from solver.milp.forced import is_used
from solver.milp.optimize import optimize

TIE = Decimal("0.00002")
SEEDS = [0, 9, *(pytest.param(one, marks=pytest.mark.long) for one in (6,))]


def robust_of(of: Case) -> Robust:
    robust = of.workloads.policy.robust
    assert robust is not None
    return robust


def test_an_offer_enters_for_the_scenario_that_pays_most_for_it() -> None:
    """Two of b stand for three of a as forecast, 2p <= 3, and for four if it grows: 2p <= 4."""
    of = two_or_four_requests(2.0, load=3)
    entry = Entering(of, of.offers[1].key).entry()
    assert entry.least_usd_per_hour == entry.most_usd_per_hour == 2


def test_a_price_that_a_scenario_multiplies_is_that_of_the_catalog() -> None:
    """If it grows, whatever is rented costs twice as much, so 2p <= 4 all the same."""
    dear = {"policy.robust.scenarios.0.prices": {"on_demand": 2}}
    of = with_workloads(two_or_four_requests(2.0, load=3), dear)
    entry = Entering(of, of.offers[1].key).entry()
    assert entry.least_usd_per_hour == entry.most_usd_per_hour == 2


def test_no_highest_price_is_told_where_its_scenario_counts_for_nothing() -> None:
    of = with_workloads(two_or_four_requests(2.0), {"policy.robust.scenarios.0.probability": 1})
    one = Entering(of, of.offers[1].key)
    assert one.forced(one.now).objective_usd == one.planned(one.now).objective_usd
    entry = one.entry()
    assert entry.least_usd_per_hour == one.now
    assert entry.most_usd_per_hour is None


@pytest.mark.parametrize("measure", ["mean", "cvar"])
@pytest.mark.parametrize("seed", SEEDS)
def test_planning_at_the_price_and_a_cent_above_confirms_it(seed: int, measure: str) -> None:
    of = scenario_case(seed, measure=measure)
    plan = optimize(of, TO_THE_END)
    assert plan.status is not Status.INFEASIBLE
    tried = 0
    for offered in of.offers:
        one = Entering(of, offered.key)
        if is_used(plan, [one.key]) or one.forced(one.now).status is Status.INFEASIBLE:
            continue
        entry = one.entry()
        least, most = entry.least_usd_per_hour, entry.most_usd_per_hour
        if least is None or least < CENT:
            continue
        tried += 1
        figure = least.quantize(CENT, rounding=ROUND_FLOOR)
        planned, forced = one.planned(figure), one.forced(figure)
        assert abs(planned.objective_usd - forced.objective_usd) <= TIE
        assert forced.objective_usd <= one.rest(figure).least_usd + TIE
        if most is not None and most <= least + CENT:
            assert not is_used(one.planned(figure + 2 * CENT), [one.key])
    assert tried


def test_weights_make_the_objective_of_the_costs() -> None:
    changes = {"measure": "cvar", "alpha": 0.5, "weight": 0.4}
    of = with_workloads(
        scenario_case(0), {f"policy.robust.{key}": value for key, value in changes.items()}
    )
    optimum = optimize(of, TO_THE_END)
    assert optimum.scenarios is not None
    costs = [one.total_usd for one in optimum.scenarios.scenarios]
    weights = weights_of(robust_of(of), costs)
    assert sum(weights) == 1
    weighed = sum(one * cost for one, cost in zip(weights, costs, strict=True))
    assert abs(weighed - optimum.objective_usd) <= Decimal("0.000001")


def test_what_is_committed_counts_whole_and_what_is_rented_as_its_least_scenario() -> None:
    robust = robust_of(hedged_case(probability=0.25))
    assert least_weight(robust, PriceKind.RESERVED) == 1
    assert least_weight(robust, PriceKind.SPOT) == Decimal("0.25")
    assert least_weight(robust, PriceKind.ON_DEMAND) == Decimal("0.75")
