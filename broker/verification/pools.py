"""Pools: where a service allows them, both in one place, joined by a link that its nodes have."""

import math
from collections.abc import Iterator

from broker.domain.offer import Offer
from broker.domain.plan import ServingAssignment
from broker.domain.pool import Pool, PoolClass, Role
from broker.verification.facts import TOLERANCE, Facts, Finding

_GBIT_PER_GB = 8


def pools(facts: Facts) -> Iterator[Finding]:
    """Put replicas that do one thing alone only where asked, and where they say that they are.

    Their place, fabric and software are those of their machine, and their GPUs' part of its fabric
    carries as much as the link that is planned with. They are firm.
    """
    allowed = {one.name for one in facts.case.workloads.services if one.disaggregated}
    for one in facts.plan.serving:
        pool, machine = one.candidate.pool, facts.case.machines.get(one.machine)
        if pool is not None and machine is not None:
            reason = _wrong(one, pool, machine, is_allowed=one.service in allowed)
            if reason:
                yield Finding(f"{one.service}/{one.user_region}", f"{one.machine}: {reason}")


def pools_together(facts: Facts) -> Iterator[Finding]:
    """Serve the users of a region by replicas that do both, or by one class of both pools.

    A class is a place, a fabric, software, a model, a number format and a link.
    """
    for service in facts.case.workloads.services:
        for region in service.users:
            candidates = [one.assignment.candidate for one in facts.groups_of(service.name, region)]
            classes = {one.pool_class for one in candidates}
            done = {role for role in Role if any(one.does(role) for one in candidates)}
            name = f"{service.name}/{region}"
            if len(classes) > 1:
                told = "; ".join(sorted(map(_told, classes)))
                yield Finding(name, f"prompts and answers are served by what differs: {told}")
            if done and len(done) < len(Role):
                (role,) = done
                yield Finding(name, f"has a pool for {role} alone, and none for the rest")


def _told(pool_class: PoolClass | None) -> str:
    return "both at once" if pool_class is None else "/".join(map(str, pool_class))


def _wrong(one: ServingAssignment, pool: Pool, machine: Offer, *, is_allowed: bool) -> str:
    shape, place = machine.hardware.shape, machine.place
    sold = machine.operator if machine.operator != machine.provider else ""
    here = "/".join(filter(None, (machine.provider, sold, place.region, place.zone)))
    share = float(one.candidate.gpus / shape.gpu_count)
    link = (shape.fabric_gbit_per_s or 0.0) / _GBIT_PER_GB * share
    if not is_allowed:
        return f"its replicas only {pool.role}; the service does not allow disaggregated"
    if one.on_spot or len(one.candidate.rates) != 1:
        return "replicas of pools are firm and have one size class"
    if (pool.place, pool.fabric, pool.stack) != (here, shape.fabric, machine.hardware.stack):
        found = f"{here} on {shape.fabric}, {machine.hardware.stack}"
        return (
            f"its pool is in {pool.place} on {pool.fabric}, {pool.stack}; the machine is in {found}"
        )
    if math.isnan(link) or pool.link_gb_per_s > link * (1 + TOLERANCE):
        return f"a replica has {link:g} GB/s of its node's fabric, not {pool.link_gb_per_s:g}"
    return ""
