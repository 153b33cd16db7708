"""Rules under which what costs less may still be what breaks them, so that no pruning is exact."""

from broker.domain.case import Case


def is_about_more(case: Case) -> bool:
    """Say whether a rule looks at more than what the whole plan costs.

    A budget for a provider, team or workload may be kept by a dearer machine elsewhere, and one for
    each hour by a run that takes longer at less an hour, one for each month by one that is done in
    another.
    """
    policy = case.workloads.policy
    return any(
        one.is_hourly or one.is_by_month or one.is_for_work or one.provider is not None
        for one in policy.budgets
    )
