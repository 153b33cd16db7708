"""The cheapest plan of a tiny case over scenarios by trying everything; no code of ours is in it.

What is decided before (commitments, the run's place and hours, the layouts that serve) is tried in
every way; each scenario then costs the least that is left to it. The worst courses are taken one
after the other until their probability is reached.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from oracle import (
    _choices,
    _cost,
    _divisions,
    _gangs,
    _most_upfront_usd,
    _Slots,
    _upfront_usd,
)
from oracle_fleets import INFEASIBLE, SLACK, Gang, Tiny, kind_of
from oracle_savings import Promise, promises

from broker.domain.case import Case
from broker.domain.load import LoadCurve
from broker.domain.offer import Offer, PriceKind
from broker.domain.quantities import quantize_usd
from broker.domain.robust import Robust, Scenario

_MOST_MOVED = 7


def cheapest_over_scenarios(
    case: Case, robust: Robust, most_committed: int = 3, *, with_commitment: str = ""
) -> float:
    """Try every decision; infinity where none holds in every scenario.

    `with_commitment` names one of which a node is bought at least.
    """
    courses = [Tiny(as_forecast(case), most_committed)]
    courses += [Tiny(in_course(case, one), most_committed) for one in robust.scenarios]
    of = [_Course(tiny, is_expected=not number) for number, tiny in enumerate(courses)]
    best = INFEASIBLE
    offers = _committed(courses[0])
    for bought, gang, layouts in _decisions(courses[0]):
        nodes = {one.key: count for one, count in zip(offers, bought.nodes, strict=True)}
        if with_commitment and not nodes[with_commitment]:
            continue
        costs = []
        for course in of:
            costs.append(course.usd(bought, gang, layouts))
            if costs[-1] == INFEASIBLE:
                break
        else:
            best = min(best, measured(costs, robust))
    return best


def measured(costs: Sequence[float], robust: Robust) -> float:
    """Weigh the costs of the courses, the forecast's first."""
    own = [float(one.probability) for one in robust.scenarios]
    shares = [1 - sum(own), *own]
    mean = sum(cost * share for cost, share in zip(costs, shares, strict=True))
    if robust.measure == "mean":
        return mean
    left = tail = 1 - float(robust.alpha)
    worst = 0.0
    for cost, share in sorted(zip(costs, shares, strict=True), reverse=True):
        taken = min(share, left)
        worst += cost * taken / tail
        left -= taken
    weight = float(robust.weight)
    return (1 - weight) * mean + weight * worst


def as_forecast(case: Case) -> Case:
    policy = case.workloads.policy.model_copy(update={"robust": None})
    return replace(case, workloads=case.workloads.model_copy(update={"policy": policy}))


def in_course(case: Case, scenario: Scenario) -> Case:
    """Scale loads and prices by hand."""
    case = as_forecast(case)
    services = []
    for one in case.workloads.services:
        factor = scenario.load.get(one.name, scenario.load.get("all", 1.0))
        curve = one.traffic.requests_per_s
        assert isinstance(curve, LoadCurve)
        changed = curve.model_copy(
            update={"mean": curve.mean * factor, "peak": curve.peak * factor}
        )
        traffic = one.traffic.model_copy(update={"requests_per_s": changed})
        services.append(one.model_copy(update={"traffic": traffic}))
    workloads = case.workloads.model_copy(update={"services": tuple(services)})
    factors = {
        PriceKind.ON_DEMAND: scenario.prices.on_demand,
        PriceKind.SPOT: scenario.prices.spot,
    }
    offers = [
        one.model_copy(
            update={"usd_per_hour": quantize_usd(one.usd_per_hour * factors[one.price_kind])}
        )
        if one.price_kind in factors
        else one
        for one in case.offers
    ]
    return replace(case, workloads=workloads, offers=tuple(offers))


_Layouts = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class _Bought:
    """Nodes of each commitment, and dollars an hour of the one savings plan."""

    nodes: tuple[int, ...]
    promise: Promise


def _decisions(tiny: Tiny) -> Iterator[tuple[_Bought, Gang, _Layouts]]:
    """List what may be committed to, gangs, and the layouts that may serve each service."""
    offers = _committed(tiny)
    counts = itertools.product(range(tiny.most_committed + 1), repeat=len(offers))
    for nodes, promise in itertools.product(counts, list(promises(tiny))):
        bought = list(zip(offers, nodes, strict=True))
        if _upfront_usd(bought) + promise.upfront_usd > _most_upfront_usd(tiny) + SLACK:
            continue
        for gang, layouts in itertools.product(_gangs(tiny), _layouts(tiny)):
            yield _Bought(nodes, promise), gang, layouts


def _committed(tiny: Tiny) -> list[Offer]:
    return [
        one
        for one in tiny.case.offers
        if one.commitment is not None and one.price_kind is not PriceKind.SAVINGS_PLAN
    ]


def _layouts(tiny: Tiny) -> list[_Layouts]:
    services = {
        name: sorted({kind_of(one)[0] for one in tiny.case.serving if one.service == name})
        for name in {one.service for one in tiny.case.serving}
    }
    most = tiny.case.workloads.policy.max_groups
    ways = [
        [
            [(name, layout) for layout in some]
            for some in itertools.combinations(own, min(most, len(own)))
        ]
        for name, own in services.items()
    ]
    return [frozenset(itertools.chain.from_iterable(one)) for one in itertools.product(*ways)]


class _Course:
    """One scenario: what it costs at least under decisions, each priced once."""

    def __init__(self, tiny: Tiny, *, is_expected: bool) -> None:
        self.tiny = tiny
        self.is_expected = is_expected
        self.slots = list(_choices(tiny))
        self.known: dict[object, float] = {}

    def usd(self, decided: _Bought, gang: Gang, layouts: _Layouts) -> float:
        at = (gang[0].machine, gang[0].candidate.id, gang[1]) if gang else None
        kept = decided.promise.outliving() if self.is_expected else []
        steady = tuple((offer.key, nodes) for offer, nodes in kept)
        name = (decided.nodes, decided.promise.usd_per_hour, steady, at, layouts)
        if name not in self.known:
            self.known[name] = self._usd(decided, gang, layouts)
        return self.known[name]

    def _usd(self, decided: _Bought, gang: Gang, layouts: _Layouts) -> float:
        """Give the least cost; with a plan in force, of all ways to move so many nodes."""
        least = self._at_most(self.tiny, self.slots, (decided, gang, layouts))
        of, best = self.tiny.case, INFEASIBLE
        if of.in_force is None or least == INFEASIBLE:
            return least
        usd = float(of.workloads.policy.churn.usd_per_moved_node)
        for moved, tiny, slots in self.moved:
            if least + usd * moved >= best:
                break
            capped = self._at_most(tiny, slots, (decided, gang, layouts))
            best = min(best, usd * moved + capped)
        return best

    @cached_property
    def moved(self) -> list[tuple[int, Tiny, list[_Slots]]]:
        """List how many nodes may be moved to each line by the hour, the fewest in all first."""
        of = self.tiny.case
        had = {one.line: one.nodes for one in of.in_force or ()}
        hourly = [one for one in of.offers if one.commitment is None]
        ways = itertools.product(range(_MOST_MOVED + 1), repeat=len(hourly))
        found = []
        for way in sorted(ways, key=sum):
            caps = {
                (one.machine, one.price_kind): had.get(one.key, 0) + more
                for one, more in zip(hourly, way, strict=True)
            }
            tiny = replace(self.tiny, most_rented=caps)
            slots = list(_choices(tiny))
            found.append((sum(way), tiny, slots))
        return found

    def _at_most(
        self, tiny: Tiny, choices: list[_Slots], decisions: tuple[_Bought, Gang, _Layouts]
    ) -> float:
        decided, gang, layouts = decisions
        bought = list(zip(_committed(tiny), decided.nodes, strict=True))
        best = INFEASIBLE
        for slots in choices:
            groups = slots.course[0].items()
            if {(name, kind_of(one)[0]) for name, own in groups for one, _ in own} <= layouts:
                for apart in _divisions(tiny, bought, gang):
                    usd = _cost(
                        tiny,
                        bought,
                        promise=decided.promise,
                        gang=gang,
                        slots=slots,
                        apart=apart,
                        best=best,
                        is_expected=self.is_expected,
                    )
                    best = min(best, usd)
        budget = tiny.case.workloads.policy.budget_usd_per_month
        hours = tiny.case.workloads.horizon.hours
        limit = float(budget) * hours / 730 if budget else INFEASIBLE
        return best if best <= limit + 1e-6 else INFEASIBLE
