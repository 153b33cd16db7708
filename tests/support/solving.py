"""Solve a case exactly and in this process, with or without a family, and make a plan of it."""

import math
from dataclasses import replace
from functools import lru_cache

from broker.domain.case import Case
from broker.domain.offer import Offer
from broker.domain.plan import CatalogRef, Plan, SolveSettings, Status
from solver.milp.build import build_sets
from solver.milp.optimum import Optimum, optimum_of
from solver.milp.program import Program, build_program, to_proto
from solver.milp.solve import Limits, Outcome, Solution, solve_model

EXACT = Limits(gap_fraction=1e-6, time_limit_s=60)
COST_TOLERANCE = 5e-6
"""How far two exact solves of one cost may differ, relative to it."""


def program_of(of: Case, *, without: str = "") -> Program:
    """Build a case's program, one family left out if it is named."""
    program = build_program(build_sets(of))
    families = tuple(rows for rows in program.families if rows.family != without)
    assert not without or len(families) == len(program.families) - 1
    return replace(program, families=families)


def solution_of(program: Program, limits: Limits = EXACT) -> Solution:
    """Solve a program, unless a test of this process has solved the same one to the same end."""
    return _solution_of(to_proto(program).SerializeToString(deterministic=True), limits)


@lru_cache(maxsize=1000)
def _solution_of(model: bytes, limits: Limits) -> Solution:
    solution = solve_model(model, limits)
    solution.values.flags.writeable = False
    return solution


def solved(of: Case, limits: Limits = EXACT) -> Optimum:
    """Solve the whole program of a case, unpruned."""
    program = program_of(of)
    return optimum_of(program, solution_of(program, limits), limits)


def least_usd(of: Case) -> float:
    """Give the optimal cost of a case; infinity where it has no plan."""
    optimum = solved(of)
    return math.inf if optimum.status is Status.INFEASIBLE else float(optimum.total_usd)


def objective_usd(program: Program, solution: Solution) -> float:
    """Give the program's own cost of a solution; infinity where there is none."""
    if solution.outcome not in (Outcome.OPTIMAL, Outcome.FEASIBLE):
        return math.inf
    return float(program.cost @ solution.values)


def same_cost(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=COST_TOLERANCE, abs_tol=1e-5)


def no_dearer(less: float, more: float) -> bool:
    return less <= more or same_cost(less, more)


def assembled(of: Case, optimum: Optimum, limits: Limits = EXACT) -> Plan:
    """Put the parts of an optimum into a plan for its case, as the planner does."""
    told = optimum.scenarios.scenarios if optimum.scenarios else ()
    used = {purchase.offer for purchase in optimum.purchases}
    used |= {purchase.offer for one in told for purchase in one.purchases}
    offers: dict[str, Offer] = {one.key: one for one in of.machines.values()}
    offers |= {one.key: one for one in of.offers}
    seen_at = of.workloads.horizon.start
    return Plan(
        status=optimum.status,
        total_usd=optimum.total_usd,
        bound_usd=optimum.bound_usd,
        gap_fraction=optimum.gap_fraction,
        catalog=CatalogRef(
            snapshot="c5a1", offers=len(of.offers), as_of=seen_at, oldest_price_at=None
        ),
        workloads_sha256="10ad",
        settings=SolveSettings(
            gap_fraction=limits.gap_fraction, time_limit_s=limits.time_limit_s, seed=limits.seed
        ),
        purchases=optimum.purchases,
        serving=optimum.serving,
        training=optimum.training,
        cost_lines=optimum.cost_lines,
        comparisons=(),
        rejected=(),
        warnings=(),
        workloads=of.workloads,
        scenarios=optimum.scenarios,
        offers=tuple(offers[key] for key in sorted(used)),
        in_force=of.in_force,
    )
