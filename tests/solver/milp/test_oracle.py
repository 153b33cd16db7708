"""The program against the oracle: the same optimal cost on random tiny instances."""

from dataclasses import replace
from datetime import timedelta

import pytest
from oracle import INFEASIBLE, Tiny, cheapest_usd
from random_cases import handover_case, random_case, savings_case
from solving import assembled

from broker.domain.case import Case
from broker.domain.plan import Status
from broker.verification.check import check
from solver.milp.build import build_sets
from solver.milp.optimum import Optimum, optimum_of
from solver.milp.program import build_program, to_proto
from solver.milp.prune import prune
from solver.milp.solve import Limits, solve_model

EXACT = Limits(gap_fraction=1e-7, time_limit_s=60)
SEEDS = list(range(80))


def solved(of: Case) -> Optimum:
    program = build_program(build_sets(of))
    solution = solve_model(to_proto(program).SerializeToString(), EXACT)
    return optimum_of(program, solution, EXACT)


@pytest.mark.parametrize("seed", SEEDS)
def test_program_costs_what_enumeration_finds(seed: int) -> None:
    tiny = random_case(seed)
    expected = cheapest_usd(Tiny(tiny, most_committed=4))
    optimum = solved(tiny)
    if expected == INFEASIBLE:
        assert optimum.status is Status.INFEASIBLE
    else:
        assert float(optimum.total_usd) == pytest.approx(expected, rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("seed", [*range(39), pytest.param(39, marks=pytest.mark.long)])
def test_handovers_cost_what_enumeration_finds(seed: int) -> None:
    tiny = handover_case(seed)
    expected = cheapest_usd(Tiny(tiny, most_committed=0))
    optimum = solved(tiny)
    assert float(optimum.total_usd) == pytest.approx(expected, rel=1e-5, abs=1e-4)
    assert check(assembled(tiny, optimum), tiny) == ()


@pytest.mark.parametrize("seed", range(40))
def test_savings_plans_cost_what_enumeration_finds(seed: int) -> None:
    tiny = savings_case(seed)
    expected = cheapest_usd(Tiny(tiny, most_committed=4))
    optimum = solved(tiny)
    if expected == INFEASIBLE:
        assert optimum.status is Status.INFEASIBLE
    else:
        assert float(optimum.total_usd) == pytest.approx(expected, rel=1e-5, abs=1e-4)
        assert check(assembled(tiny, optimum), tiny) == ()


def test_some_savings_plans_are_bought_and_cover_what_runs_use() -> None:
    optima = [solved(savings_case(seed)) for seed in range(40)]
    plans = [one.savings for optimum in optima for one in optimum.purchases if one.savings]
    assert len(plans) > 8
    assert any(len(plan.covers) > 1 for plan in plans)


def test_some_handovers_cost_money() -> None:
    instant = [solved(at_once(handover_case(seed))) for seed in range(40)]
    careful = [solved(handover_case(seed)) for seed in range(40)]
    dearer = [one.total_usd < other.total_usd for one, other in zip(instant, careful, strict=True)]
    assert sum(dearer) > 3


def at_once(of: Case) -> Case:
    """Let replicas serve as soon as they are started, under the same load."""
    services = tuple(
        one.model_copy(update={"start_up": timedelta(microseconds=0)})
        for one in of.workloads.services
    )
    return replace(of, workloads=of.workloads.model_copy(update={"services": services}))


@pytest.mark.parametrize("seed", SEEDS)
def test_pruning_never_changes_the_optimal_cost(seed: int) -> None:
    tiny = random_case(seed)
    whole, pruned = solved(tiny), solved(prune(tiny).case)
    assert (pruned.status is Status.INFEASIBLE) == (whole.status is Status.INFEASIBLE)
    assert float(pruned.total_usd) == pytest.approx(float(whole.total_usd), rel=1e-5, abs=1e-4)


def test_random_instances_use_every_kind_of_decision() -> None:
    optima = [solved(random_case(seed)) for seed in SEEDS]
    kinds = {one.price_kind.value for optimum in optima for one in optimum.purchases}
    assert kinds == {"on_demand", "spot", "reserved", "owned"}
    assert any(group.on_spot for optimum in optima for group in optimum.serving)
    assert any(run.on_spot for optimum in optima for run in optimum.training)
    assert any(len(run.steps) > 1 for optimum in optima for run in optimum.training)
    assert any(len({one.candidate.id for one in optimum.serving}) > 1 for optimum in optima)
    assert any(
        {run.machine for run in optimum.training if not run.on_spot}
        & {group.machine for group in optimum.serving if not group.on_spot}
        for optimum in optima
    )
