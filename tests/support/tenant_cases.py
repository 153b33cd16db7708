"""Random cases with an isolated workload, and what they cost when each part is planned alone."""

import random
from dataclasses import replace

from changed_cases import with_workloads
from oracle import Tiny, cheapest_usd
from random_cases import random_case
from tiny_cases import offer, serving

from broker.domain.case import Case, OwnedNodes
from broker.domain.plan import Plan

_MANY = 100.0


def tenant_case(seed: int) -> Case:
    """Draw a case with a service and a run, of which one or both share no node.

    Owned nodes may be kept for one of the two; no cap joins the parts.
    """
    number = seed
    while not (drawn := random_case(number)).workloads.training:
        number += 1000
    draw = random.Random(f"tenants {seed}")  # noqa: S311 - instances, not secrets
    isolated = draw.choice([["chat"], ["tune"], ["chat", "tune"]])
    changes: dict[str, object] = {
        "policy.isolated": isolated,
        "policy.budget_usd_per_month": None,
        "policy.commitments.max_upfront_usd": None,
        "quotas": [],
    }
    kept_for = draw.choice([*isolated, None])
    owned = tuple(replace(one, isolated_for=kept_for) for one in drawn.owned)
    return replace(with_workloads(drawn, changes), owned=owned)


def cheapest_apart_usd(of: Case) -> float:
    """Plan the service and the run each alone: nothing else joins them where nodes are many."""
    parts = [Tiny(_alone(of, name), most_committed=4) for name in ("chat", "tune")]
    return sum(cheapest_usd(one) for one in parts)


def with_few_nodes(of: Case, seed: int) -> Case:
    """Let there be few nodes of each offer, or few GPUs of each machine, whoever they are for."""
    draw = random.Random(f"few {seed}")  # noqa: S311 - instances, not secrets
    kind = draw.choice(["max_nodes", "stock_nodes"])
    few = {kind: draw.choice([3, 4, 6])}
    offers = (
        one.model_copy(update={"limits": one.limits.model_copy(update=few)}) for one in of.offers
    )
    return replace(of, offers=tuple(offers))


def shares_a_node(plan: Plan) -> bool:
    """Say whether both are on one machine at one time in the same market."""
    return any(
        (group.machine, group.on_spot) == (gang.machine, gang.on_spot)
        for group in plan.serving
        for gang in plan.training
    )


def _alone(of: Case, name: str) -> Case:
    """Keep one of the two, with its owned nodes; the service is left to free nodes of its own."""
    is_isolated = name in of.workloads.policy.isolated
    owned = (one for one in of.owned if one.isolated_for == (name if is_isolated else None))
    kept = replace(
        with_workloads(of, {"policy.isolated": []}),
        owned=tuple(replace(one, isolated_for=None) for one in owned),
    )
    if name == "chat":
        return replace(with_workloads(kept, {"training": []}), training=())
    free = offer("1", name="free")
    rates = [_MANY for _ in of.workloads.services[0].sizes]
    return replace(
        kept,
        machines={**kept.machines, free.machine: free},
        serving=(serving(free, rates),),
        owned=(*kept.owned, OwnedNodes(free.machine, 3, None)),
    )
