"""Targets of a whole plan: how much is committed, how full commitments are, who has how much of it.

Their rows join all machines and all periods, so what prices machines outside a smaller relaxed
program would have to know of them. The relaxed program that bounds a case does without them, which
costs no more: bound and penalties hold. Pruning moves work from committed nodes to rented ones, and
from one provider to another, so nothing is pruned where there is a target.
"""

from dataclasses import replace

from broker.domain.case import Case
from broker.domain.coverage_policy import CoveragePolicy
from solver.milp.sets import Sets


def has_targets(case: Case) -> bool:
    """Say whether the policy asks for a share of commitments, for their use, or for providers'."""
    policy = case.workloads.policy
    return (
        policy.coverage.min_committed_share > 0
        or policy.coverage.min_commitment_utilization > 0
        or policy.max_share_per_provider < 1
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
