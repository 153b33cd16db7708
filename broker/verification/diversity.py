"""Diversity: no provider has more of a service's replicas than its share."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from broker.domain.workload import Service
from broker.verification.facts import Facts, Finding
from broker.verification.timeline import Array


def provider_share(facts: Facts) -> Iterator[Finding]:
    """Keep each provider's replicas of a service within its share, for each region of its users.

        replicas[v,t] ≤ ⌈share · n[t]⌉, and ≤ n[t] − 1 where n[t] ≥ 2

    n[t] are all replicas of the service there, firm and on spot; v is the cloud whose machine it
    is, whoever sells it; the share is the smaller of the policy's and the service's. 1 asks for
    nothing.
    """
    for service in facts.case.workloads.services:
        share = _share(facts, service)
        for region, users in service.users.items():
            if share < 1 and users > 0:
                yield from _shared(facts, share, service.name, region)


def _shared(facts: Facts, share: Fraction, service: str, region: str) -> Iterator[Finding]:
    by_cloud: dict[str, Array] = {}
    for group in facts.groups_of(service, region):
        machine = facts.case.machines.get(group.assignment.machine)
        cloud = machine.cloud if machine else group.assignment.machine
        by_cloud[cloud] = by_cloud.get(cloud, facts.timeline.zeros()) + group.replicas
    total = sum(by_cloud.values(), facts.timeline.zeros())
    most = np.array([_most(share, int(count)) for count in total])
    for cloud, replicas in by_cloud.items():
        over = replicas > most
        if over.any():
            counts = f"{replicas[over][0]:.0f} of {total[over][0]:.0f} replicas are with {cloud}"
            message = f"{counts}, {most[over][0]} may be, {facts.timeline.where(over)}"
            yield Finding(f"{service}/{region}", message)


def _share(facts: Facts, service: Service) -> Fraction:
    policy = facts.case.workloads.policy.max_provider_share
    return Fraction(str(min(policy, service.availability.max_provider_share)))


def _most(share: Fraction, replicas: int) -> int:
    rounded_up = -(-share.numerator * replicas // share.denominator)
    return min(rounded_up, replicas - 1) if replicas > 1 else rounded_up
