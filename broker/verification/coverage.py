"""Coverage: how much work is committed, how full commitments are, and whether spot is worth it."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from broker.domain.offer import PriceKind
from broker.domain.policy import Sharing
from broker.verification.facts import COMMITTED, SPOT, TOLERANCE, Facts, Finding
from broker.verification.timeline import Array

_RENTED = frozenset({PriceKind.ON_DEMAND})


def spot_discount(facts: Facts) -> Iterator[Finding]:
    """Run on spot only where it is cheaper than on demand by the policy's part, losses included.

    spot_usd_per_hour ≤ (1 − discount) · useful_share · on_demand_usd_per_hour
    """
    discount = Fraction(str(facts.case.workloads.policy.coverage.spot_discount))
    if not discount:
        return
    spot = {
        one.machine: Fraction(one.usd_per_hour)
        for one in facts.case.offers
        if one.price_kind is PriceKind.SPOT
    }
    work = [(one.service, one.machine, 1.0) for one in facts.plan.serving if one.on_spot]
    work += [
        (one.run, one.machine, one.candidate.useful_share)
        for one in facts.plan.training
        if one.on_spot
    ]
    for name, machine, useful in work:
        twin, usd = facts.on_demand.get(machine), spot.get(machine)
        if twin is None or usd is None:
            yield Finding(name, f"is on spot on {machine}, without an on-demand price to be below")
            continue
        most = (1 - discount) * Fraction(str(useful)) * Fraction(twin.usd_per_hour)
        if usd > most:
            found = f"is on spot on {machine} at {float(usd):g} USD/h"
            yield Finding(name, f"{found}; at most {float(most):g} is worth it")


def committed_share(facts: Facts) -> Iterator[Finding]:
    """Rent no more firm node-hours outside all commitments than the policy's part leaves.

        Σ (on-demand node-hours − covered ones) ≤ (1 − share) · Σ node-hours that firm work fills

    A node that work takes in part counts as that part on the right, and whole on the left.
    """
    share = facts.case.workloads.policy.coverage.min_committed_share
    if not share:
        return
    slot_h = facts.timeline.slot.total_seconds() / 3600
    rented = sum(
        float(one.purchase.node_hours - one.purchase.covered_node_hours)
        for one in facts.bought
        if one.purchase.price_kind in _RENTED
    )
    filled = sum(float(_filled(facts, one).sum()) for one in facts.case.machines) * slot_h
    most = (1 - share) * filled
    if rented > most * (1 + TOLERANCE) + TOLERANCE:
        message = f"{rented:g} node-hours are rented outside commitments; {most:g} may be"
        yield Finding("plan", f"{message}, of {filled:g} that firm work fills")


def commitment_utilization(facts: Facts) -> Iterator[Finding]:
    """Fill committed nodes, machine by machine, and what savings plans promise, as is asked for.

        Σ_t min(filled_t, committed_t) ≥ share · Σ_t committed_t

    filled_t are the nodes that firm work fills, parts of a node as parts; it fills committed nodes
    first.
    """
    share = facts.case.workloads.policy.coverage.min_commitment_utilization
    if not share:
        return
    for machine in sorted({one.offer.machine for one in facts.bought if one.is_committed}):
        held = sum(
            (
                one.nodes
                for one in facts.bought
                if one.is_committed and one.offer.machine == machine
            ),
            facts.timeline.zeros(),
        )
        used = float(np.minimum(_filled(facts, machine), held).sum())
        if used < share * float(held.sum()) * (1 - TOLERANCE):
            found = f"work fills {used / float(held.sum()):.4f} of the committed nodes"
            yield Finding(machine, f"{found}; at least {share:g} is asked for")
    for one in facts.bought:
        plan = one.purchase.savings
        if plan is not None and plan.utilization < share * (1 - TOLERANCE):
            found = f"covered nodes use {plan.utilization:.4f} of what is promised"
            yield Finding(one.purchase.id, f"{found}; at least {share:g} is asked for")


def unused_nodes(facts: Facts) -> Iterator[Finding]:
    """Buy no node that no work needs: by the hour in no slot, committed not all of the time.

        rented_t ≤ max(0, needed_t − owned_t − committed_t)
        owned_t + committed_t − needed_t < 1 in some slot of each commitment

    Under `sharing: split` each side needs nodes of its own: there, only rented_t ≤ needed_t holds.
    Of a plan over scenarios, what any of them needs is needed: `scenario_decisions` looks at that.
    """
    is_split = facts.case.workloads.policy.sharing is Sharing.SPLIT
    for machine in sorted({one.offer.machine for one in facts.bought}):
        needed = _needed(facts, machine, on_spot=False)
        fixed = facts.owned_nodes(machine) + facts.nodes(machine, COMMITTED)
        beside = needed if is_split else np.maximum(needed - fixed, 0)
        for kinds, most, name in (
            (_RENTED, beside, "rented"),
            (SPOT, _needed(facts, machine, on_spot=True), "on spot"),
        ):
            bought = facts.nodes(machine, kinds)
            over = bought > most
            if over.any():
                counts = f"{bought[over][0]:.0f} nodes {name}, work needs {most[over][0]:.0f}"
                yield Finding(machine, f"{counts} {facts.timeline.where(over)}")
    if facts.plan.scenarios is None:
        for name, least in spare_commitments(facts).items():
            if least >= 1:
                yield Finding(name, f"{least:.0f} committed nodes are never needed")


def spare_commitments(facts: Facts) -> dict[str, float]:
    """Give the nodes beyond what work needs in every slot of a commitment, by purchase."""
    found: dict[str, float] = {}
    if facts.case.workloads.policy.sharing is Sharing.SPLIT:
        return found
    for one in facts.bought:
        held = one.nodes > 0
        if one.is_committed and held.any():
            machine = one.offer.machine
            fixed = facts.owned_nodes(machine) + facts.nodes(machine, COMMITTED)
            needed = _needed(facts, machine, on_spot=False)
            found[one.purchase.id] = float((fixed - needed)[held].min())
    return found


def _filled(facts: Facts, machine: str) -> Array:
    """Count the firm nodes that work fills in each slot, parts of a node as parts."""
    gpus = max(1, facts.gpus_per_node(machine))
    nodes = facts.serving_gpus(machine, on_spot=False) / gpus
    return np.asarray(nodes + facts.run_nodes(machine, on_spot=False))


def _needed(facts: Facts, machine: str, *, on_spot: bool) -> Array:
    """Count the whole nodes that work needs in each slot."""
    gpus = max(1, facts.gpus_per_node(machine))
    serving = np.ceil(facts.serving_gpus(machine, on_spot=on_spot) / gpus)
    return np.asarray(serving + facts.run_nodes(machine, on_spot=on_spot))
