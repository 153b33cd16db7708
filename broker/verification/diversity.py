"""Diversity: no provider has more of a service's replicas, or of all work, than its share."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from broker.domain.workload import Service
from broker.verification.facts import TOLERANCE, Facts, Finding, Gang
from broker.verification.timeline import Array

_ROUNDING = 1e-9
"""A slot that is filled by a little more than this is one more."""


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


def plan_share(facts: Facts) -> Iterator[Finding]:
    """Give no provider more than its share of the GPU-hours of all work.

        gpu_hours[v] ≤ share · Σ_v gpu_hours[v]

    over replicas and gangs, firm and on spot; v is the cloud whose machine it is. A run has the
    fewest whole slots that do its work after one start, however many it holds.
    """
    share = Fraction(str(facts.case.workloads.policy.max_share_per_provider))
    if share >= 1:
        return
    gpu_slots: dict[str, float] = {}
    for group in facts.groups:
        cloud = _cloud(facts, group.assignment.machine)
        gpu_slots[cloud] = gpu_slots.get(cloud, 0.0) + float(group.gpus.sum())
    for gang in facts.gangs:
        cloud = _cloud(facts, gang.assignment.machine)
        gpu_slots[cloud] = gpu_slots.get(cloud, 0.0) + _needed_gpu_slots(facts, gang)
    total = sum(gpu_slots.values())
    for cloud, used in gpu_slots.items():
        if used > float(share) * total * (1 + TOLERANCE):
            message = f"has {used / total:.2%} of the GPU-hours; {float(share):.2%} may be with one"
            yield Finding(cloud, message)


def _needed_gpu_slots(facts: Facts, gang: Gang) -> float:
    candidate = gang.assignment.candidate
    runs = {run.name: run.tokens for run in facts.case.workloads.runs}
    tokens = runs.get(gang.assignment.run, 0.0)
    needed_s = tokens / candidate.tokens_per_s + candidate.startup_s
    slots = math.ceil(needed_s / facts.timeline.slot.total_seconds() * (1 - _ROUNDING))
    return max(1, slots) * candidate.nodes * float(candidate.shape.gpu_count)


def _cloud(facts: Facts, machine: str) -> str:
    offer = facts.case.machines.get(machine)
    return offer.cloud if offer else machine


def _shared(facts: Facts, share: Fraction, service: str, region: str) -> Iterator[Finding]:
    by_cloud: dict[str, Array] = {}
    for group in facts.groups_of(service, region):
        cloud = _cloud(facts, group.assignment.machine)
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
