"""Zones: a service has a replica in each of several of them, at all times."""

from collections.abc import Iterator

import numpy as np

from broker.verification.facts import TOLERANCE, Facts, Finding
from broker.verification.timeline import Array


def min_zones(facts: Facts) -> Iterator[Finding]:
    """Count for each region of a service's users the zones where a replica is in every slot.

    A zone is that of the machine's cloud, whoever sells it; a region of which any machine names no
    zone is one zone. Firm and spot replicas count.
    """
    for service in facts.case.workloads.services:
        asked = service.availability.min_zones
        for region, users in service.users.items():
            if asked == 1 or users <= 0:
                continue
            by_zone: dict[str, Array] = {}
            for group in facts.groups_of(service.name, region):
                zone = _zone(facts, group.assignment.machine)
                before = by_zone.get(zone, facts.timeline.zeros())
                by_zone[zone] = before + group.replicas
            kept = [zone for zone, replicas in by_zone.items() if np.all(replicas >= 1)]
            if len(kept) < asked:
                named = ", ".join(sorted(kept)) or "none"
                message = f"has a replica at all times in {named}; {asked} zones are right"
                yield Finding(f"{service.name}/{region}", message)


def spare_zone(facts: Facts) -> Iterator[Finding]:
    """Carry the load with what is left after the loss of any one zone, where that is asked for.

        Σ_k load_requests_per_s[k,t] / rate[k] ≤ Σ_g replicas[g,t], g in other zones than z  ∀ z, t

    With the least rates of any of the replicas. Firm and spot replicas count, spares too; not
    those without a rate for each size class, which are no option of any case.
    """
    for service in facts.case.workloads.services:
        for region, users in service.users.items():
            groups = [
                group
                for group in facts.groups_of(service.name, region)
                if len(group.assignment.candidate.rates) == len(service.sizes)
            ]
            if not service.availability.spare_zone or users <= 0 or not groups:
                continue
            rates = np.array(
                [[one.requests_per_s for one in of.assignment.candidate.rates] for of in groups]
            ).min(axis=0)
            with np.errstate(divide="ignore"):
                needed = facts.needed_requests_per_s(service, region) @ (1 / rates)
            total = sum((of.replicas for of in groups), facts.timeline.zeros())
            for zone in sorted({_zone(facts, of.assignment.machine) for of in groups}):
                own = [of for of in groups if _zone(facts, of.assignment.machine) == zone]
                left = total - sum((of.replicas for of in own), facts.timeline.zeros())
                over = needed > left * (1 + TOLERANCE) + TOLERANCE
                if over.any():
                    counts = f"without {zone} {left[over][0]:.0f} replicas are left"
                    message = f"{counts}, {np.ceil(needed[over][0]):.0f} carry the load"
                    when = facts.timeline.where(over)
                    yield Finding(f"{service.name}/{region}", f"{message}, {when}")


def _zone(facts: Facts, machine: str) -> str:
    own = facts.case.machines.get(machine)
    if own is None:
        return machine
    region = (own.cloud, own.place.region)
    alike = [one for one in facts.case.machines.values() if (one.cloud, one.place.region) == region]
    is_one = any(one.place.zone is None or one.place.zone == "" for one in alike)
    return "/".join(region if is_one else (*region, str(own.place.zone)))
