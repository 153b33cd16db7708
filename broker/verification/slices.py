"""MIG slices: cut where that can be and is allowed, and laid out on real GPUs."""

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np

from broker.domain.gpu import SLICE_PARTS
from broker.domain.plan import ServingAssignment
from broker.verification.facts import FIRM, SPOT, Facts, Finding
from broker.verification.timeline import Array

_WHOLE = Fraction(1)
_STARTS = {
    Fraction(1, 4): (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)),
    Fraction(1, 2): (Fraction(0), Fraction(1, 2)),
}
"""Where on a GPU a slice may begin, by what it takes of its memory slices."""


def slices(facts: Facts) -> Iterator[Finding]:
    """Put replicas on slices only where asked, on machines whose GPUs the buyer has whole.

    A slice is 1/4 or 1/2 of a GPU of its machine, and carries one replica on one device.
    """
    allowed = {one.name for one in facts.case.workloads.services if one.mig}
    for one in facts.plan.serving:
        if one.candidate.gpu_slice is not None:
            reason = _wrong(facts, one, is_allowed=one.service in allowed)
            if reason:
                yield Finding(f"{one.service}/{one.user_region}", f"{one.machine}: {reason}")


def cuts(facts: Facts) -> Iterator[Finding]:
    """Lay out the replicas of each slot on the GPUs of its nodes, the largest first.

    Gangs have whole nodes. Of the other nodes, replicas take whole GPUs of one node, and slices
    begin where their profiles may: a quarter at every second of eight memory slices, a half at the
    first or the fifth.
    """
    for machine in sorted(_cut_machines(facts)):
        gpus = facts.gpus_per_node(machine)
        for on_spot, kinds in ((False, FIRM), (True, SPOT)):
            held = facts.nodes(machine, kinds) - facts.run_nodes(machine, on_spot=on_spot)
            sizes, counts = _replicas(facts, machine, on_spot=on_spot)
            known: dict[tuple[float, ...], int] = {}
            left_over = facts.timeline.zeros()
            for slot, nodes in enumerate(held):
                state = (float(nodes), *counts[:, slot].tolist())
                if state not in known:
                    asked = Counter[Fraction]()
                    for size, count in zip(sizes, counts[:, slot], strict=True):
                        asked[size] += int(count)
                    known[state] = _left_over(asked, nodes=max(0, int(nodes)), gpus=gpus)
                left_over[slot] = known[state]
            over = left_over > 0
            if over.any():
                message = (
                    f"{left_over[over][0]:.0f} replicas find no place on the GPUs that are cut"
                )
                yield Finding(machine, f"{message} {facts.timeline.where(over)}")


def _wrong(facts: Facts, one: ServingAssignment, *, is_allowed: bool) -> str:
    cut, own = one.candidate.gpu_slice, facts.case.machines.get(one.machine)
    if cut is None or own is None:
        return ""
    shape = own.hardware.shape
    if not is_allowed:
        return "its replicas are on slices; the service does not allow mig"
    if not own.hardware.can_be_cut:
        return f"its GPUs are had as {own.hardware.virtualization}; nobody can cut those"
    if cut.gpu_share not in SLICE_PARTS or one.candidate.layout.gpus != 1:
        return f"a replica takes {one.candidate.gpus} of a GPU; one slice of 1/4 or 1/2 is right"
    if one.candidate.gpu != f"{shape.gpu}-{cut.profile}":
        return f"{one.candidate.gpu} is no {cut.profile} slice of {shape.gpu}"
    return ""


def _cut_machines(facts: Facts) -> set[str]:
    return {one.machine for one in facts.plan.serving if one.candidate.gpu_slice is not None}


def _replicas(facts: Facts, machine: str, *, on_spot: bool) -> tuple[list[Fraction], Array]:
    """Give what a replica of each group takes, and the replicas by group and slot."""
    here = [
        group
        for group in facts.groups
        if group.assignment.machine == machine and group.assignment.on_spot == on_spot
    ]
    sizes = [Fraction(group.assignment.candidate.gpus) for group in here]
    counts = [group.replicas for group in here]
    return sizes, np.array(counts).reshape(len(here), facts.timeline.count)


def _left_over(asked: Mapping[Fraction, int], *, nodes: int, gpus: int) -> int:
    """Count the replicas that find no place, laid out from the largest to the smallest.

    Of an absurd count only as many are laid out as could fit, or nodes looked at as they could use.
    """
    most = {size: min(count, int(nodes * gpus / size)) for size, count in asked.items()}
    left = sum(asked.values()) - sum(most.values())
    asked, free = most, [gpus] * min(nodes, sum(most.values()))
    for size in sorted((one for one in asked if one >= _WHOLE), reverse=True):
        for _ in range(asked[size]):
            node = next((at for at, room in enumerate(free) if room >= size), None)
            if node is None:
                left += 1
            else:
                free[node] -= int(size)
    taken: list[set[Fraction]] = [set() for _ in range(sum(free))]
    for size in sorted((one for one in asked if one < _WHOLE), reverse=True):
        left += sum(not _lay(taken, size) for _ in range(asked[size]))
    return left


def _lay(taken: list[set[Fraction]], size: Fraction) -> bool:
    """Lay a slice on the first GPU with room where it may begin; say whether there is one."""
    quarters = [Fraction(at, 4) for at in range(int(size * 4))]
    for own in taken:
        for start in _STARTS.get(size, ()):
            span = {start + one for one in quarters}
            if own.isdisjoint(span):
                own.update(span)
                return True
    return False
