"""How much one provider may have: of a service's replicas at a time, and of a whole plan's work."""

import math
from fractions import Fraction

from broker.domain.case import Case
from broker.domain.workload import Service, Workloads

_FINEST = 10_000
"""A share is read as a fraction of at most this denominator, so that rows can tell its steps."""


def provider_share(workloads: Workloads, service: Service) -> Fraction:
    """Give the share of a service's replicas that one provider may have, by the stricter rule."""
    policy, own = workloads.policy.max_provider_share, service.availability.max_provider_share
    return Fraction(str(min(policy, own))).limit_denominator(_FINEST)


def plan_share(workloads: Workloads) -> Fraction:
    """Give the share of the whole plan's GPU-hours that one provider may have."""
    return Fraction(str(workloads.policy.max_share_per_provider)).limit_denominator(_FINEST)


def spread_services(case: Case) -> frozenset[str]:
    """Name the services of which no provider may have all, or that must be in several zones."""
    return frozenset(
        one.name
        for one in case.workloads.services
        if provider_share(case.workloads, one) < 1 or one.availability.min_zones > 1
    )


def most_with_one(share: Fraction, replicas: int) -> int:
    """Count the replicas of a fleet that one provider may have.

    The share is rounded up, but two replicas or more are never all with one; a single one is.
    """
    if share == 1:
        return replicas
    return min(math.ceil(share * replicas), max(replicas - 1, 1))
