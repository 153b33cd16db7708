"""What several plans use, taken together, has each of them, and often a cheaper one."""

import math
from dataclasses import replace

import pytest
from random_cases import random_case
from solving import EXACT, least_usd, no_dearer, objective_usd, solution_of

from broker.domain.case import Case
from solver.milp import first_plan
from solver.milp.build import build_sets
from solver.milp.first_plan import searched_on
from solver.milp.merged import merged
from solver.milp.program import build_program
from solver.milp.sets import has_hopeless_workload


def one_kind(of: Case) -> Case:
    policy = of.workloads.policy.model_copy(update={"max_groups": 1})
    return replace(of, workloads=of.workloads.model_copy(update={"policy": policy}))


def test_what_plans_use_has_the_best_of_them_and_no_rule_is_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(first_plan, "_MANY_GROUPS", 0)
    smaller = 0
    for seed in range(12):
        sets = build_sets(one_kind(random_case(seed, machines=(4, 6))))
        if has_hopeless_workload(sets):
            continue
        program = build_program(sets)
        plans = list(searched_on(program, EXACT, lambda: 0.0))[:3]
        if not plans:
            continue
        some = build_program(merged(program, plans))
        usd = objective_usd(some, solution_of(some, EXACT))
        best = min(float(program.cost @ values) for values in plans)
        assert no_dearer(usd, best)
        assert no_dearer(least_usd(sets.case), usd)
        smaller += len(some.sets.groups) < len(sets.groups)
    assert smaller > 3


def test_a_single_plan_keeps_its_kinds_on_all_their_machines() -> None:
    sets = build_sets(one_kind(random_case(3, machines=(4, 6))))
    program = build_program(sets)
    values = solution_of(program, EXACT).values
    some = merged(program, [values])
    alone = build_program(some)
    used = program.columns.kind_used.of(values) > 0.5
    assert len(some.groups) == sum(bool(used[one.kind]) for one in sets.groups)
    assert math.isfinite(objective_usd(alone, solution_of(alone, EXACT)))
