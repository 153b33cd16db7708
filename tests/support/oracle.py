"""The cheapest plan of a tiny case by trying everything; it shares no code with the program.

It reads a case alone: single user region, services with one or two size classes, at most two
groups a service at a time, at most one run. Costs are floats in dollars.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from oracle_budgets import Budgets, join_within
from oracle_churn import moved_usd
from oracle_courses import Course, InForce, courses, fleets_in_force
from oracle_fleets import (
    INFEASIBLE,
    SLACK,
    Fleet,
    Gang,
    Kind,
    Tiny,
    Way,
    kind_of,
    weights_usd_per_hour,
)
from oracle_joins import join, join_in_order, join_rising
from oracle_savings import Promise, promises, rebate_usd_per_hour

from broker.domain.offer import Offer, PriceKind
from broker.domain.policy import Sharing


def cheapest_usd(tiny: Tiny) -> float:
    """Try every commitment, every placement of the run and every choice of groups."""
    committed = [
        one
        for one in tiny.case.offers
        if one.commitment is not None and one.price_kind is not PriceKind.SAVINGS_PLAN
    ]
    counts = itertools.product(range(tiny.most_committed + 1), repeat=len(committed))
    best = INFEASIBLE
    bought = [list(zip(committed, nodes, strict=True)) for nodes in counts]
    rung = tiny.case.workloads.policy.commitments.max_new_usd_per_hour
    rung_usd = INFEASIBLE if rung is None else float(rung)
    allowed = [
        (one, promise)
        for one, promise in itertools.product(bought, promises(tiny))
        if _upfront_usd(one) + promise.upfront_usd <= _most_upfront_usd(tiny) + SLACK
        and _new_usd_per_hour(one) + promise.usd_per_hour <= rung_usd + SLACK
    ]
    gangs = list(_gangs(tiny))
    for slots in _choices(tiny):
        for (commitments, promise), gang in itertools.product(allowed, gangs):
            for apart in _divisions(tiny, commitments, gang):
                usd = _cost(
                    tiny,
                    commitments,
                    promise=promise,
                    gang=gang,
                    slots=slots,
                    apart=apart,
                    best=best,
                )
                best = min(best, usd)
    budget = tiny.case.workloads.policy.budget_usd_per_month
    limit = float(budget) * tiny.case.workloads.horizon.hours / 730 if budget else INFEASIBLE
    return best if best <= limit + 1e-6 else INFEASIBLE


def _divisions(
    tiny: Tiny, commitments: list[tuple[Offer, int]], gang: Gang
) -> Iterator[int | None]:
    """Give the ways to keep fixed nodes of the run's machine for the run; None shares them all."""
    if tiny.case.workloads.policy.sharing is Sharing.CONVERGED or gang is None:
        yield None
        return
    machine = gang[0].machine
    fixed = sum(nodes for offer, nodes in commitments if offer.machine == machine)
    fixed += sum(one.nodes for one in tiny.case.owned if one.machine == machine)
    yield from range(fixed + 1)


def _upfront_usd(commitments: list[tuple[Offer, int]]) -> float:
    return sum(
        nodes * float(offer.commitment.upfront_usd)
        for offer, nodes in commitments
        if offer.commitment
    )


def _new_usd_per_hour(commitments: list[tuple[Offer, int]]) -> float:
    return sum(
        nodes
        * (
            float(offer.usd_per_hour)
            + float(offer.commitment.upfront_usd) / (offer.commitment.term_months * 730)
        )
        for offer, nodes in commitments
        if offer.commitment
    )


def _most_upfront_usd(tiny: Tiny) -> float:
    limit = tiny.case.workloads.policy.commitments.max_upfront_usd
    return INFEASIBLE if limit is None else float(limit)


def _gangs(tiny: Tiny) -> Iterator[Gang]:
    runs = tiny.case.workloads.runs
    if not runs:
        yield None
        return
    (run,) = runs
    inside = [
        number
        for number, slot in enumerate(tiny.case.workloads.horizon.slots())
        if run.window.earliest <= slot.start_at and slot.end_at <= run.window.deadline
    ]
    for option in tiny.case.training:
        for size in range(1, len(inside) + 1):
            for up in itertools.combinations(inside, size):
                pieces = sum(1 for slot in up if slot - 1 not in up)
                if _takes_too_long(tiny, up) or (pieces > 1 and not run.restartable):
                    continue
                if option.candidate.on_spot and not run.restartable:
                    continue
                useful_s = size * tiny.slot_h * 3600 - pieces * option.candidate.startup_s
                if useful_s * option.candidate.tokens_per_s >= run.tokens * (1 - SLACK):
                    yield option, up


def _takes_too_long(tiny: Tiny, up: tuple[int, ...]) -> bool:
    (run,) = tiny.case.workloads.runs
    slots = up[-1] + 1 - up[0]
    return (
        run.max_duration is not None
        and slots * tiny.slot_h * 3600 > run.max_duration.total_seconds()
    )


@dataclass
class _Known:
    """What is known of slots, by what is in force in them: their ways, and the priced ones."""

    ways: dict[tuple[object, ...], list[tuple[Fleet, ...]]] = field(default_factory=dict)
    priced: dict[tuple[object, ...], list[Way]] = field(default_factory=dict)


def _choices(tiny: Tiny) -> Iterator["_Slots"]:
    """Try every choice of groups, slot by slot."""
    known = _Known()
    return (_Slots(tiny, course, known) for course in courses(tiny))


class _Slots:
    """The ways through each slot for one choice of groups, each priced once."""

    def __init__(self, tiny: Tiny, course: Course, known: _Known) -> None:
        self.tiny = tiny
        self.course = course
        self.known = known

    def priced(
        self,
        slot: int,
        commitments: list[tuple[Offer, int]],
        gang: Gang,
        *,
        promise: Promise,
        apart: int | None,
    ) -> list[Way]:
        """Price the ways beside a gang, which counts where it works and by nodes kept for it."""
        working = id(gang[0]) if gang and slot in gang[1] else None
        kept_on = gang[0].machine if gang else None
        counts = tuple(nodes for _, nodes in commitments)
        here = self.course[slot]
        groups = (slot, *((id(one), is_on) for own in here.values() for one, is_on in own))
        if groups not in self.known.ways:
            self.known.ways[groups] = _fleets(self.tiny, slot, here)
        name = (*groups, counts, promise.usd_per_hour, working, kept_on, apart)
        if name not in self.known.priced:
            self.known.priced[name] = _slot_costs(
                self.tiny,
                slot,
                commitments=commitments,
                promise=promise,
                gang=gang,
                ways=self.known.ways[groups],
                apart=apart,
            )
        return self.known.priced[name]


def _cost(
    tiny: Tiny,
    commitments: list[tuple[Offer, int]],
    *,
    promise: Promise,
    gang: Gang,
    slots: _Slots,
    apart: int | None,
    best: float,
    is_expected: bool = True,
) -> float:
    """Give the least cost beside commitments and a gang, if it is below the best so far.

    What outlives the horizon must pay for itself in the course that is expected.
    """
    total = 0.0
    if gang:
        run = gang[0]
        total += float(run.egress_usd) + float(run.result_egress_usd) + float(run.storage_usd)
    total += promise.usd_per_hour * tiny.case.workloads.horizon.hours
    for offer, nodes in commitments:
        assert offer.commitment is not None
        term_h = offer.commitment.term_months * 730
        active_h = min(term_h, tiny.case.workloads.horizon.hours)
        hourly = float(offer.usd_per_hour) + float(offer.commitment.upfront_usd) / term_h
        total += nodes * hourly * active_h + moved_usd(tiny.case, offer, nodes)
    if total >= best:
        return INFEASIBLE
    frontiers = [
        slots.priced(slot, commitments, gang, promise=promise, apart=apart)
        for slot in range(tiny.slots)
    ]
    least = sum(min((usd for usd, _, _ in ways), default=INFEASIBLE) for ways in frontiers)
    if total + least >= best:
        return INFEASIBLE
    horizon_h = tiny.case.workloads.horizon.hours
    outliving = [
        (offer, nodes)
        for offer, nodes in commitments
        if nodes and offer.commitment and offer.commitment.term_months * 730 > horizon_h
    ] + promise.outliving()
    outliving = outliving if is_expected else []
    if tiny.case.workloads.policy.budgets:
        budgets = Budgets(tiny, commitments, gang, apart)
        return join_within(tiny, frontiers, outliving, budgets=budgets, usd=total)
    if tiny.case.workloads.policy.has_one_kind:
        return total + join_rising(tiny, frontiers, outliving)
    if any(service.start_up for service in tiny.case.workloads.services):
        assert not outliving
        return total + join_in_order(tiny, frontiers)
    return total + join(tiny, frontiers, outliving)


def _fleets(tiny: Tiny, slot: int, groups: InForce) -> list[tuple[Fleet, ...]]:
    """List the fleets of all services in a slot.

    Where no order in time matters, one of those that take the same GPUs of each machine for each
    kind is enough.
    """
    services = tiny.case.workloads.services
    ways = [list(fleets_in_force(tiny, one, slot, groups[one.name])) for one in services]
    is_ordered = tiny.case.workloads.policy.has_one_kind or any(
        service.start_up for service in services
    )
    found: dict[object, tuple[Fleet, ...]] = {}
    for fleets in itertools.product(*ways):
        taken: dict[tuple[str, bool, Kind], float] = {}
        for option, count in itertools.chain.from_iterable(fleets):
            side = (option.machine, option.on_spot, kind_of(option))
            taken[side] = taken.get(side, 0.0) + count * float(option.candidate.gpus)
        name = tuple(tuple((id(o), count) for o, count in fleet) for fleet in fleets)
        found[name if is_ordered else frozenset(taken.items())] = fleets
    return list(found.values())


def _slot_costs(
    tiny: Tiny,
    slot: int,
    *,
    commitments: list[tuple[Offer, int]],
    promise: Promise,
    gang: Gang,
    ways: list[tuple[Fleet, ...]],
    apart: int | None,
) -> list[Way]:
    """Price every way through a slot."""
    found = []
    for fleets in ways:
        usd, served = _nodes_cost(
            tiny,
            slot,
            commitments=commitments,
            promise=promise,
            gang=gang,
            fleets=fleets,
            apart=apart,
        )
        if usd < INFEASIBLE:
            usd += weights_usd_per_hour(fleets)
            found.append((usd * tiny.slot_h, served, fleets))
    return found


def _nodes_cost(
    tiny: Tiny,
    slot: int,
    *,
    commitments: list[tuple[Offer, int]],
    promise: Promise,
    gang: Gang,
    fleets: tuple[Fleet, ...],
    apart: int | None,
) -> tuple[float, dict[str, float]]:
    """Price a slot by the hour, or refuse it; also give the firm GPUs that services take."""
    served: dict[str, float] = {}
    usd = 0.0
    for on_spot in (False, True):
        taken: dict[str, float] = {}
        gangs: dict[str, int] = {}
        for fleet in fleets:
            for option, count in fleet:
                if option.on_spot is on_spot:
                    gpus = count * float(option.candidate.gpus)
                    taken[option.machine] = taken.get(option.machine, 0) + gpus
        if gang and slot in gang[1] and gang[0].candidate.on_spot is on_spot:
            gangs[gang[0].machine] = gang[0].candidate.nodes
        if not on_spot:
            served = dict(taken)
        rented = {
            machine: _rented_nodes(
                tiny,
                machine,
                commitments,
                gpus=taken.get(machine, 0.0),
                gang_nodes=gangs.get(machine, 0),
                apart=None if on_spot or gang is None or machine != gang[0].machine else apart,
                on_spot=on_spot,
            )
            for machine in {*taken, *gangs}
        }
        usd += _price(tiny, rented, PriceKind.SPOT if on_spot else PriceKind.ON_DEMAND)
        if not on_spot:
            usd -= rebate_usd_per_hour(tiny, promise, rented)
    return usd, served


def _rented_nodes(
    tiny: Tiny,
    machine: str,
    commitments: list[tuple[Offer, int]],
    *,
    gpus: float,
    gang_nodes: int,
    apart: int | None,
    on_spot: bool,
) -> int:
    """Count the nodes to rent beside those that are committed or owned."""
    serving = math.ceil(gpus / tiny.gpus(machine) - SLACK)
    if on_spot:
        return serving + gang_nodes
    fixed = sum(count for offer, count in commitments if offer.machine == machine)
    fixed += sum(one.nodes for one in tiny.case.owned if one.machine == machine)
    if apart is None:
        return max(serving + gang_nodes - fixed, 0)
    return max(serving - (fixed - apart), 0) + max(gang_nodes - apart, 0)


def _price(tiny: Tiny, rented: dict[str, int], kind: PriceKind) -> float:
    """Price the rented nodes by the hour; quotas name one provider and one price kind."""
    usd = 0.0
    for machine, nodes in rented.items():
        price = tiny.price(machine, kind)
        if (nodes and price is None) or nodes > tiny.most_rented.get((machine, kind), nodes):
            return INFEASIBLE
        usd += nodes * (price or 0.0)
    for quota in tiny.case.workloads.quotas:
        under = [m for m in rented if tiny.case.machines[m].provider == quota.provider]
        if quota.price_kind is kind and sum(rented[m] * tiny.gpus(m) for m in under) > quota.gpus:
            return INFEASIBLE
    return usd
