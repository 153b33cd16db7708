"""Plans over scenarios that must use an offer: by hand, by trying everything, and by laws."""

import math
from decimal import Decimal
from functools import partial

import pytest
from oracle_scenarios import cheapest_over_scenarios
from scenario_cases import hedged_case, scenario_case, two_or_four_requests
from solving import EXACT, assembled, no_dearer, same_cost

from broker.domain.case import Case
from broker.domain.plan import Status
from broker.domain.robust import Robust
from broker.verification.check import check
from solver.milp.forced import forced_optimum, forced_program, is_used
from solver.milp.optimize import optimize
from solver.milp.optimum import Optimum, over_scenarios
from solver.milp.program import Program, build_program
from solver.milp.prune import Pruned
from solver.milp.scenarios.used import Use, used_somewhere
from solver.milp.sets import Sets

SEEDS = [0, 1, 2, 3, 5, 6, 9, 10]
COUNTED = frozenset({("worked",), ("needed",), ("bought",), ("covered",)})


def usd(optimum: Optimum) -> float:
    return math.inf if optimum.status is Status.INFEASIBLE else float(optimum.objective_usd)


def robust_of(of: Case) -> Robust:
    robust = of.workloads.policy.robust
    assert robust is not None
    return robust


def test_the_least_use_is_in_the_scenario_where_it_costs_least() -> None:
    """A node by the hour beside one for the month costs 24 where none is needed, if not growth.

    As it grows two nodes are rented anyway, at 240 each: so the plan that hedges uses both. Without
    the month, growth rents three.
    """
    of = hedged_case(probability=0.5)
    rented, committed = (one.key for one in of.offers)
    best = optimize(of, EXACT)
    assert is_used(best, [rented])
    assert is_used(best, [committed])
    assert not any(one.offer == rented for one in best.purchases)
    for key in (rented, committed):
        assert forced_optimum(of, key, EXACT).objective_usd == best.objective_usd


def test_an_offer_is_used_where_that_counts_least() -> None:
    """A node of b costs 48 dollars a day more than one of a; growth has one chance in five."""
    of = two_or_four_requests(1.0)
    best, forced = optimize(of, EXACT), forced_optimum(of, of.offers[1].key, EXACT)
    assert best.objective_usd == Decimal("0.8") * 48 + Decimal("0.2") * 96
    assert forced.objective_usd == best.objective_usd + Decimal("0.2") * 48
    assert forced.total_usd == best.total_usd


@pytest.mark.parametrize("measure", ["mean", "cvar"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_with_an_offer_keeps_every_rule_and_is_never_cheaper(
    seed: int, measure: str
) -> None:
    of = scenario_case(seed, measure=measure)
    best = optimize(of, EXACT)
    for one in of.offers:
        forced = forced_optimum(of, one.key, EXACT)
        if forced.status is Status.INFEASIBLE:
            assert not is_used(best, [one.key])
            continue
        assert is_used(forced, [one.key])
        assert check(assembled(of, forced), of) == ()
        assert no_dearer(usd(best), usd(forced))
        if is_used(best, [one.key]):
            assert same_cost(usd(forced), usd(best))


@pytest.mark.parametrize("seed", SEEDS)
def test_commitments_cost_what_enumeration_finds(seed: int) -> None:
    of = scenario_case(seed, measure="cvar")
    for one in of.offers:
        if one.commitment is not None:
            forced = forced_optimum(of, one.key, EXACT)
            expected = cheapest_over_scenarios(of, robust_of(of), with_commitment=one.key)
            assert usd(forced) == pytest.approx(expected, rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_pruning_changes_no_plan_with_an_offer(seed: int) -> None:
    of = scenario_case(seed)
    for one in of.offers:
        pruned = forced_optimum(of, one.key, EXACT)
        use = Use(_unpruned, partial(_with_use, one.key), "forced_use", COUNTED)
        whole = over_scenarios(used_somewhere(of, robust_of(of), EXACT, use), EXACT)
        assert same_cost(usd(pruned), usd(whole)) or usd(pruned) == usd(whole)


def _unpruned(cases: list[Case]) -> tuple[Pruned, ...]:
    return tuple(Pruned(case, {}) for case in cases)


def _with_use(key: str, sets: Sets) -> Program:
    return forced_program(sets, key) or build_program(sets)
