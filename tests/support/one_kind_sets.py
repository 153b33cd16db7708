"""Sets of random tiny cases in which one kind serves each demand."""

from collections.abc import Iterator
from dataclasses import replace

from gang_cases import gang_case
from random_cases import random_case
from shared_cases import shared_case
from wide_cases import wide_case

from broker.domain.case import Case
from solver.milp.alike_periods import clusters_of
from solver.milp.build import build_sets
from solver.milp.coarse import coarse
from solver.milp.linear import LinearPlan, LinearProgram
from solver.milp.program import Program, to_proto
from solver.milp.sets import Sets, has_hopeless_workload


def one_kind_sets() -> Iterator[Sets]:
    """Give those of cases of several shapes, of which each workload has an option."""
    cases: list[Case] = [
        *(random_case(seed, machines=(4, 6)) for seed in range(25)),
        *(shared_case(seed) for seed in range(8)),
        *(wide_case(seed) for seed in range(4)),
        *(gang_case(seed) for seed in range(20)),
    ]
    for one in cases:
        policy = one.workloads.policy.model_copy(update={"max_groups": 1})
        sets = build_sets(
            replace(one, workloads=one.workloads.model_copy(update={"policy": policy}))
        )
        if not has_hopeless_workload(sets):
            yield sets


def coarse_and_exact(program: Program, clusters: int) -> tuple[LinearPlan, LinearPlan] | None:
    """Relax a program with like hours added up and as it is; the first costs no more."""
    exact = LinearProgram(to_proto(program)).solve(60).plan
    added_up = clusters_of(program.sets, clusters)
    smaller = LinearProgram(coarse(program, added_up).proto).solve(60).plan
    if exact is None:
        return None
    assert smaller is not None
    assert smaller.usd <= exact.usd + 1e-6
    return smaller, exact
