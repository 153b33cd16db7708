"""Commitments: their span, their break-even utilization, and those that outlive the horizon."""

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np

from broker.domain.case import breakeven_utilization, committed_hours
from broker.domain.offer import Offer
from broker.verification.facts import TOLERANCE, Bought, Facts, Finding

_BREAKEVEN_SLACK = 1e-9


def commitment_span(facts: Facts) -> Iterator[Finding]:
    """Keep committed nodes, one constant count, from the horizon's start to its or the term's end.

    Where the term ends inside a slot they are paid for until then, and no work is on them in it.
    """
    timeline = facts.timeline
    for one in facts.bought:
        if not one.is_committed or one.is_block:
            continue
        end_at = min(_term_end(facts, one), timeline.end_at)
        spans = [(step.from_at, step.to_at) for step in one.purchase.steps]
        if spans != [(timeline.start_at, end_at)]:
            right = f"{timeline.start_at:%Y-%m-%d %H:%M} to {end_at:%Y-%m-%d %H:%M}"
            found = ", ".join(f"{a:%Y-%m-%d %H:%M} to {b:%Y-%m-%d %H:%M}" for a, b in spans)
            yield Finding(one.purchase.id, f"is kept {found}; the one step {right} is right")


def breakeven(facts: Facts) -> Iterator[Finding]:
    """State for each commitment, and for nothing else, the utilization at which it breaks even.

    That of a savings plan is of what it covers: `savings_figures` asks for it.
    """
    for one in facts.bought:
        if one.purchase.savings is not None:
            continue
        right = _breakeven(facts, one.offer) if one.is_committed else None
        found = one.purchase.breakeven_utilization
        if right is None or found is None:
            is_right = found is right
        else:
            is_right = math.isclose(found, right, rel_tol=0, abs_tol=_BREAKEVEN_SLACK)
        if not is_right:
            yield Finding(one.purchase.id, f"breakeven_utilization is {found}; {right} is right")


def outliving_commitments(facts: Facts) -> Iterator[Finding]:
    """Let each node that is committed beyond the horizon pay for itself on services alone.

        n_p ≤ ⌈Σ_g gpus_g · kept_g(β_p) / G⌉ − owned    ∀ commitments p, g firm on its machine

    `n_p` counts the outliving nodes of the machine up to and with those of p, the highest
    break-even β first; kept_g(β) are the replicas that a group has for at least the share β of the
    time. A node that firm replicas use in part is needed whole; owned nodes are used first. The
    steady nodes of savings plans count as if they were committed to their machine; they are due
    for `min_commitment_utilization` of the time at least.
    """
    outliving: dict[str, list[_Outliving]] = {}
    for one in _outliving(facts):
        outliving.setdefault(one.offer.machine, []).append(one)
    for machine, commitments in outliving.items():
        per_node = max(1, facts.gpus_per_node(machine))
        owned = float(facts.owned_nodes(machine).max(initial=0))
        nodes = 0.0
        for one in sorted(commitments, key=lambda one: -one.due):
            nodes, due = nodes + one.nodes, one.due
            gpus = _kept_gpus(facts, machine, due * (1 - TOLERANCE))
            needed = math.ceil(gpus / per_node - TOLERANCE)
            if not nodes <= max(needed - owned, 0):
                found = f"services keep {gpus:g} GPUs of such nodes up for {due:.4f} of the time"
                message = f"{found}, where {nodes:.0f} committed nodes break even"
                yield Finding(one.id, f"{message}, {owned:.0f} owned ones used first")


class _Outliving(NamedTuple):
    """Nodes of a machine that are promised beyond the horizon, for `due` of the time."""

    id: str
    offer: Offer
    nodes: float
    due: float


def _outliving(facts: Facts) -> Iterator[_Outliving]:
    rates = {offer.key: offer for offer in facts.case.offers}
    least = facts.case.workloads.policy.coverage.min_commitment_utilization
    for one in facts.bought:
        name, ends_later = one.purchase.id, _term_end(facts, one) > facts.timeline.end_at
        if one.is_committed and not one.is_block and ends_later:
            nodes = float(one.nodes.max(initial=0))
            yield _Outliving(name, one.offer, nodes, _breakeven(facts, one.offer))
        for steady in one.purchase.savings.steady if one.purchase.savings else ():
            rate = rates.get(steady.offer)
            if rate is not None:
                due = max(least, _breakeven(facts, rate))
                yield _Outliving(name, rate, float(steady.nodes), due)


def _kept_gpus(facts: Facts, machine: str, share: float) -> float:
    """Count the GPUs of the firm replicas that each group has for a share of the time."""
    total = 0.0
    for group in facts.groups:
        if group.assignment.machine == machine and not group.assignment.on_spot:
            most = np.sort(group.gpus)[::-1]
            slots = max(1, math.ceil(share * len(most)))
            total += float(most[slots - 1])
    return total


def _breakeven(facts: Facts, offer: Offer) -> float:
    twin = facts.on_demand.get(offer.machine)
    trend = facts.case.workloads.policy.price_trend_per_year
    return breakeven_utilization(offer, twin, trend)


def _term_end(facts: Facts, one: Bought) -> datetime:
    hours = int(committed_hours(one.offer))
    return facts.timeline.start_at + timedelta(hours=hours)
