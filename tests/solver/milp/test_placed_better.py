"""Where a market is too large to branch on, the known plan is placed better."""

from dataclasses import replace

import pytest
from gang_cases import gang_case
from random_cases import random_case
from solving import EXACT, least_usd, no_dearer

from broker.domain.case import Case
from broker.domain.plan import Status
from solver.milp import narrow, optimize
from solver.milp.known import Known
from solver.milp.solve import Limits
from solver.milp.watch import Watch


def one_kind(of: Case) -> Case:
    policy = of.workloads.policy.model_copy(update={"max_groups": 1})
    return replace(of, workloads=of.workloads.model_copy(update={"policy": policy}))


@pytest.mark.parametrize("most_columns", [1, pytest.param(40, marks=pytest.mark.long), 60])
def test_a_plan_is_placed_better_and_its_bound_holds(
    monkeypatch: pytest.MonkeyPatch, most_columns: int
) -> None:
    usd: list[tuple[float, float]] = []
    placed = optimize.placed_better

    def told(known: Known, limits: Limits, watch: Watch, enough_usd: float) -> Known:
        better = placed(known, limits, watch, enough_usd)
        usd.append((known.usd, better.usd))
        return better

    monkeypatch.setattr(narrow, "_MOST_COLUMNS", most_columns)
    monkeypatch.setattr(optimize, "_WORTH", 1.0)
    monkeypatch.setattr(optimize, "placed_better", told)
    cases = [gang_case(seed) for seed in range(12)]
    cases += [random_case(seed, machines=(4, 6)) for seed in range(24)]
    for of in map(one_kind, cases):
        found = optimize.optimize(of, EXACT)
        if found.status is not Status.INFEASIBLE:
            assert no_dearer(float(found.bound_usd), least_usd(of))
            assert no_dearer(least_usd(of), float(found.total_usd))
    assert len(usd) > 3
    assert all(no_dearer(after, before) for before, after in usd)
