"""Commitments: their span, their break-even utilization, and those that outlive the horizon."""

import math
from collections.abc import Iterator
from datetime import datetime, timedelta

import numpy as np

from broker.domain.case import breakeven_utilization, committed_hours
from broker.verification.facts import TOLERANCE, Bought, Facts, Finding

_BREAKEVEN_SLACK = 1e-9


def commitment_span(facts: Facts) -> Iterator[Finding]:
    """Keep committed nodes, one constant count, from the horizon's start to its or the term's end.

    A term that ends inside a slot counts up to the start of that slot.
    """
    timeline = facts.timeline
    for one in facts.bought:
        if not one.is_committed:
            continue
        whole = (_term_end(facts, one) - timeline.start_at) // timeline.slot
        end_at = timeline.start_at + min(timeline.count, whole) * timeline.slot
        spans = [(step.from_at, step.to_at) for step in one.purchase.steps]
        if spans != [(timeline.start_at, end_at)]:
            right = f"{timeline.start_at:%Y-%m-%d %H:%M} to {end_at:%Y-%m-%d %H:%M}"
            found = ", ".join(f"{a:%Y-%m-%d %H:%M} to {b:%Y-%m-%d %H:%M}" for a, b in spans)
            yield Finding(one.purchase.id, f"is kept {found}; the one step {right} is right")


def breakeven(facts: Facts) -> Iterator[Finding]:
    """State for each commitment, and for nothing else, the utilization at which it breaks even."""
    for one in facts.bought:
        right = _breakeven(facts, one) if one.is_committed else None
        found = one.purchase.breakeven_utilization
        if right is None or found is None:
            is_right = found is right
        else:
            is_right = math.isclose(found, right, rel_tol=0, abs_tol=_BREAKEVEN_SLACK)
        if not is_right:
            yield Finding(one.purchase.id, f"breakeven_utilization is {found}; {right} is right")


def outliving_commitments(facts: Facts) -> Iterator[Finding]:
    """Let each node that is committed beyond the horizon pay for itself on services alone.

        Σ_t h_t · [⌈serving_gpus_t / G⌉ − owned_t ≥ n_p] ≥ β_p · Σ_t h_t    ∀ commitments p

    `n_p` counts the outliving nodes of the machine up to and with those of p, the highest
    break-even β first: so the last node of p is needed for its break-even share of the time. A
    node that firm replicas use in part is needed whole; owned nodes are used first.
    """
    outliving: dict[str, list[Bought]] = {}
    for one in facts.bought:
        if one.is_committed and _term_end(facts, one) > facts.timeline.end_at:
            outliving.setdefault(one.offer.machine, []).append(one)
    for machine, commitments in outliving.items():
        gpus = max(1, facts.gpus_per_node(machine))
        needed = np.ceil(facts.serving_gpus(machine, on_spot=False) / gpus)
        needed -= facts.owned_nodes(machine)
        nodes = 0.0
        for one in sorted(commitments, key=lambda one: -_breakeven(facts, one)):
            nodes += float(one.nodes.max(initial=0))
            share, due = float(np.mean(needed >= nodes)), _breakeven(facts, one)
            if not share >= due * (1 - TOLERANCE):
                found = f"services need {nodes:.0f} such nodes for {share:.4f} of the time"
                yield Finding(one.purchase.id, f"{found}; they break even at {due:.4f}")


def _breakeven(facts: Facts, one: Bought) -> float:
    twin = facts.on_demand.get(one.offer.machine)
    trend = facts.case.workloads.policy.price_trend_per_year
    return breakeven_utilization(one.offer, twin, trend)


def _term_end(facts: Facts, one: Bought) -> datetime:
    hours = int(committed_hours(one.offer))
    return facts.timeline.start_at + timedelta(hours=hours)
