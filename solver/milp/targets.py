"""Targets of a whole plan: how much is committed, how full commitments are, who has how much of it.

Their rows join all machines and all periods, so what prices machines outside a smaller relaxed
program would have to know of them. The relaxed program that bounds a case does without them, which
costs no more: bound and penalties hold. Pruning moves work from committed nodes to rented ones, and
from one provider to another, so nothing is pruned where there is a target.
"""

from dataclasses import replace

from broker.domain.case import Case
from broker.domain.coverage_policy import CoveragePolicy
from solver.milp.build import build_sets
from solver.milp.sets import Sets


def has_targets(case: Case) -> bool:
    """Say whether the policy asks for a share of commitments, for their use, or for providers'."""
    policy = case.workloads.policy
    return (
        policy.coverage.min_committed_share > 0
        or policy.coverage.min_commitment_utilization > 0
        or policy.max_share_per_provider < 1
    )


def lacks_commitments(case: Case) -> bool:
    """Say whether a share is to be committed of work that must be firm, and nothing can be."""
    if not case.workloads.policy.coverage.min_committed_share:
        return False
    sets = build_sets(case)
    if sets.committed or sets.plan_rates or any(any(one.owned) for one in sets.machines):
        return False
    on_spot = {one.run for one in sets.run_options if one.option.candidate.on_spot}
    return len(on_spot) < len(sets.runs) or any(
        one.service.spot.max_share < 1 and one.load_requests_per_s.any() for one in sets.demands
    )


def without_targets(sets: Sets) -> Sets:
    """Ask for nothing: no plan of the case costs less."""
    if not has_targets(sets.case):
        return sets
    file = sets.case.workloads
    nothing = {"coverage": CoveragePolicy(), "max_share_per_provider": 1.0}
    policy = file.policy.model_copy(update=nothing)
    workloads = file.model_copy(update={"policy": policy})
    return replace(sets, case=replace(sets.case, workloads=workloads))
