"""Capacity: the GPUs that replicas and gangs take are bought, slot by slot."""

from collections.abc import Iterator

import numpy as np

from broker.domain.offer import PriceKind
from broker.domain.policy import Sharing
from broker.verification.facts import FIRM, SPOT, Facts, Finding
from broker.verification.isolation import wrong_tenants
from broker.verification.timeline import Array

_ON_DEMAND = frozenset({PriceKind.ON_DEMAND})


def capacity(facts: Facts) -> Iterator[Finding]:
    """Give each replica its GPUs and each gang its whole nodes, firm from firm, spot from spot.

    Σ replicas · gpus + Σ run_nodes · G ≤ G · nodes    ∀ machines, slots, {firm, spot}
    """
    for machine in _machines(facts):
        gpus = facts.gpus_per_node(machine)
        for on_spot, kinds in ((False, FIRM), (True, SPOT)):
            used = facts.serving_gpus(machine, on_spot=on_spot)
            used += gpus * facts.run_nodes(machine, on_spot=on_spot)
            held = gpus * facts.nodes(machine, kinds)
            over = used > held
            if over.any():
                counts = f"{used[over][0]:.0f} GPUs are used, {held[over][0]:.0f} are there"
                kind = "spot" if on_spot else "firm"
                yield Finding(machine, f"{kind} nodes: {counts} {facts.timeline.where(over)}")


def packing(facts: Facts) -> Iterator[Finding]:
    """Let the GPUs of a replica divide those of a node, so that nodes fill without gaps."""
    for group in facts.plan.serving:
        gpus, size = facts.gpus_per_node(group.machine), group.candidate.gpus
        if not gpus or gpus % size:
            message = f"a replica takes {size} GPUs, which do not divide a node's {gpus}"
            yield Finding(f"{group.service}/{group.user_region}", f"{group.machine}: {message}")


def isolation(facts: Facts) -> Iterator[Finding]:
    """Keep nodes for isolated workloads alone, each purchase of theirs once.

    That no one else is on them is what `capacity` says of their machines.
    """
    for subject, message in wrong_tenants(facts.plan, facts.case):
        yield Finding(subject, message)


def split(facts: Facts) -> Iterator[Finding]:
    """Under `sharing: split`, let no committed or owned node both serve and train.

    There must be a division of these nodes, each on one side for as long as it is held, so that
    in every slot either side has enough with its own part and rented nodes:

        serving_nodes_t − rented_t ≤ serving_part_t ≤ held_t − (run_nodes_t − rented_t)

    The part changes only when a holding ends or begins, by at most its nodes.
    """
    if facts.case.workloads.policy.sharing is not Sharing.SPLIT:
        return
    for machine in _machines(facts):
        gpus = max(1, facts.gpus_per_node(machine))
        serving = np.ceil(facts.serving_gpus(machine, on_spot=False) / gpus)
        runs = facts.run_nodes(machine, on_spot=False)
        holdings = [
            one.nodes for one in facts.bought if one.offer.machine == machine and one.is_committed
        ]
        holdings.append(facts.owned_nodes(machine))
        held = sum(holdings, facts.timeline.zeros())
        rented = facts.nodes(machine, _ON_DEMAND)
        low, high = np.maximum(serving - rented, 0), np.minimum(held, held + rented - runs)
        slot = _first_without_a_part(low, high, holdings)
        if slot is not None:
            is_here = np.arange(len(held)) == slot
            found = f"serving takes {serving[slot]:.0f} nodes, training {runs[slot]:.0f}"
            have = f"{held[slot]:.0f} committed or owned and {rented[slot]:.0f} rented"
            when = facts.timeline.where(is_here)
            yield Finding(machine, f"{found} {when}; {have} cannot be kept apart")


def _machines(facts: Facts) -> list[str]:
    used = [group.assignment.machine for group in facts.groups]
    return sorted({*used, *(gang.assignment.machine for gang in facts.gangs)})


def _first_without_a_part(low: Array, high: Array, holdings: list[Array]) -> int | None:
    """Follow the range of parts that are possible so far; give the slot that leaves none."""
    least, most = 0.0, float("inf")
    changes = np.array([np.diff(one, prepend=one[0]) for one in holdings])
    ended, begun = -np.minimum(changes, 0).sum(axis=0), np.maximum(changes, 0).sum(axis=0)
    for slot in range(len(low)):
        least = max(low[slot], least - ended[slot])
        most = min(high[slot], most + begun[slot])
        if least > most:
            return slot
    return None
