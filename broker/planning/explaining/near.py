"""Plans that are nearly as good: the best ones that each do without a line of every cheaper one.

A search tree over sets of offers that are not bought, the cheapest plan first (hitting sets): a
plan's children do without one more of its lines. So a plan that is not listed and is cheaper than
a listed one buys all that some cheaper listed one buys.
"""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from broker.domain.explanation import NearPlan
from broker.domain.offer import PriceKind
from broker.domain.plan import Purchase, Status
from broker.planning.explaining.cases import without_offers
from broker.planning.explaining.compared import other_plan
from broker.planning.explaining.ground import Ground
from broker.planning.explaining.preferring import preferences
from solver.milp.optimum import Optimum

_Banned = frozenset[str]
_Signature = frozenset[tuple[str, Decimal]]
_WORKERS = 2
_LEAST_SHARE = 0.3
"""The part of the time that a solve may take, however many there are: a few that end with a plan
are worth more than many that all end too soon."""


@dataclass(slots=True)
class _Tree:
    """The open plans by their cost, and what was seen already."""

    heap: list[tuple[Decimal, list[str], Optimum]] = field(default_factory=list)
    banned: set[_Banned] = field(default_factory=set)
    plans: set[_Signature] = field(default_factory=set)
    is_whole: bool = True


def near_plans(ground: Ground, most: int) -> tuple[tuple[NearPlan, ...], bool]:
    """Find so many plans, the cheapest first; and say whether none was left out for time."""
    tree = _Tree(plans={_signature(ground.plan.purchases)})
    listed: list[NearPlan] = []
    _grow(ground, tree, frozenset(), ground.plan.purchases, left=most)
    while len(listed) < most and tree.heap:
        ground.progress(f"{len(listed)} of {most} near plans found")
        _, banned, optimum = heapq.heappop(tree.heap)
        signature = _signature(optimum.purchases)
        if signature not in tree.plans:
            tree.plans.add(signature)
            listed.append(_near(ground, optimum))
        if len(listed) < most and not ground.left_s:
            tree.is_whole = False  # what was found is told all the same
        elif len(listed) < most:
            _grow(ground, tree, frozenset(banned), optimum.purchases, left=most - len(listed))
    return tuple(listed), tree.is_whole and (len(listed) == most or not tree.heap)


def _grow(
    ground: Ground, tree: _Tree, banned: _Banned, purchases: Iterable[Purchase], *, left: int
) -> None:
    """Plan without each of the lines, cheap ones first, beside what is banned already."""
    cheap_first = sorted(purchases, key=lambda one: (one.usd, one.offer))
    bought = [one.offer for one in cheap_first if one.price_kind is not PriceKind.OWNED]
    sets = [one for one in (banned | {key} for key in bought) if one not in tree.banned]
    tree.banned.update(sets)
    limits = ground.limits(share=max(_LEAST_SHARE, _WORKERS / max(1, len(sets) * left)))
    pending = [ground.pool.optimize(without_offers(ground.case, one), limits) for one in sets]
    results = ground.all_of(pending)
    for keys, optimum in zip(sets, results, strict=True):
        if optimum is None or optimum.ran_out_of_time:
            tree.is_whole = False
        if optimum is not None and optimum.status is not Status.INFEASIBLE:
            heapq.heappush(tree.heap, (optimum.objective_usd, sorted(keys), optimum))


def _signature(purchases: Iterable[Purchase]) -> _Signature:
    return frozenset((one.id, one.node_hours) for one in purchases)


def _near(ground: Ground, optimum: Optimum) -> NearPlan:
    return NearPlan(
        plan=other_plan(ground.plan, optimum, least_usd=ground.plan.bound_usd),
        reasons=preferences(ground.plan, optimum, ground.case),
    )
