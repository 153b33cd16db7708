"""Targets of a whole plan: how much is committed, and how full commitments are.

Their rows join all machines and all periods, so what prices machines outside a smaller relaxed
program would have to know of them. The relaxed program that bounds a case does without them, which
costs no more: bound and penalties hold. Pruning moves work from committed nodes to rented ones, so
nothing is pruned where there is a target.
"""

from dataclasses import replace

from broker.domain.case import Case
from broker.domain.coverage_policy import CoveragePolicy
from solver.milp.sets import Sets


def has_targets(case: Case) -> bool:
    """Say whether the policy asks for a share of commitments, or for their use."""
    coverage = case.workloads.policy.coverage
    return coverage.min_committed_share > 0 or coverage.min_commitment_utilization > 0


def without_targets(sets: Sets) -> Sets:
    """Ask for nothing: no plan of the case costs less."""
    if not has_targets(sets.case):
        return sets
    file = sets.case.workloads
    policy = file.policy.model_copy(update={"coverage": CoveragePolicy()})
    workloads = file.model_copy(update={"policy": policy})
    return replace(sets, case=replace(sets.case, workloads=workloads))
