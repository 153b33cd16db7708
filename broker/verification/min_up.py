"""Least times up: a replica that has come up stays."""

from collections.abc import Iterator

import numpy as np

from broker.domain.workload import Service
from broker.verification.facts import Facts, Finding
from broker.verification.timeline import Array, Mask


def min_up_time(facts: Facts) -> Iterator[Finding]:
    """Keep each replica up for the service's least time once it has come up, or to the end.

    Replicas of one group go in the order opposite to that in which they came: where their count
    falls from n, there were n or more of them in all slots of that time before. What is up in the
    first slot has come up in it.
    """
    for service in facts.case.workloads.services:
        least = least_slots(facts, service)
        for region in service.users if least > 1 else ():
            for group in facts.groups_of(service.name, region):
                short = _falls_too_soon(group.replicas, least)
                if short.any():
                    one = group.assignment
                    count = group.replicas[int(np.argmax(short)) - 1]
                    yield Finding(
                        f"{one.service}/{one.user_region} on {one.machine} ({one.candidate.id})",
                        f"not all of {count:.0f} replicas have been up for {service.min_up_time} "
                        f"when fewer are left {facts.timeline.where(short)}",
                    )


def least_slots(facts: Facts, service: Service) -> int:
    """Count the slots that a replica stays up at least."""
    return max(1, -(-service.min_up_time // facts.timeline.slot))


def most_near(counts: Array, slots: int) -> Array:
    """Give the highest count less than so many slots away from each slot, before or after it."""
    padded = np.pad(counts, slots - 1, constant_values=0)
    near: Array = np.lib.stride_tricks.sliding_window_view(padded, 2 * slots - 1).max(axis=1)
    return near


def _falls_too_soon(replicas: Array, least: int) -> Mask:
    found = np.zeros(len(replicas), dtype=bool)
    for slot in np.flatnonzero(np.diff(replicas) < 0) + 1:
        before = replicas[max(0, slot - least) : slot]
        found[slot] = slot < least or before.min() < replicas[slot - 1]
    return found
