"""Join priced ways through the slots of a tiny case into the cheapest plan."""

import itertools
import math

from oracle_fleets import (
    INFEASIBLE,
    SLACK,
    Fleet,
    Kind,
    Tiny,
    Way,
    busy_slots,
    carries,
    kind_of,
    merged,
)

from broker.domain.case import ServingOption, breakeven_utilization
from broker.domain.offer import Offer, PriceKind
from broker.domain.traffic import load_requests_per_s
from broker.domain.workload import Service

Counts = tuple[int, ...]


def join(
    tiny: Tiny,
    frontiers: list[list[Way]],
    outliving: list[tuple[Offer, int]],
) -> float:
    """Add up the cheapest ways through the slots that together keep the break-even rule.

    Each machine has at most one commitment: what services keep on it in all busy slots of their
    kind must need all its nodes, beside the owned ones.
    """
    (service,) = tiny.case.workloads.services
    busy = _Busy(tiny, service, outliving)
    states: dict[tuple[Kept, Peaks], float] = {(frozenset(), ()): 0.0}
    for slot, ways in enumerate(frontiers):
        cheapest: dict[tuple[Kept, Peaks], float] = {}
        for usd, _, (fleet,) in ways:
            here = (busy.kept(slot, fleet), brought(fleet))
            cheapest[here] = min(usd, cheapest.get(here, INFEASIBLE))
        following: dict[tuple[Kept, Peaks], float] = {}
        for (here, usd), (so_far, cost) in itertools.product(cheapest.items(), states.items()):
            least = dict(so_far[0])
            for name, gpus in here[0]:
                least[name] = min(gpus, least.get(name, gpus))
            peaks = tuple(
                itertools.starmap(max, itertools.zip_longest(so_far[1], here[1], fillvalue=0.0))
            )
            state = (frozenset(least.items()), peaks)
            following[state] = min(following.get(state, INFEASIBLE), cost + usd)
        states = following
    return min(
        (
            usd + sum(peaks)
            for (kept, peaks), usd in states.items()
            if _is_filled(tiny, kept, outliving)
        ),
        default=INFEASIBLE,
    )


Kept = frozenset[tuple[tuple[str, Kind], float]]
"""The firm GPUs that each kind has on a machine in all of its busy slots so far."""


Peaks = tuple[float, ...]
"""What bringing weights to the largest fleet so far costs, option by option."""


def brought(fleet: Fleet) -> Peaks:
    """Price the weights of a fleet, brought for each replica."""
    return tuple(count * float(option.egress_usd) for option, count in fleet)


class _Busy:
    """The busy slots of each kind, by the break-even share of the commitment on its machine."""

    def __init__(self, tiny: Tiny, service: Service, outliving: list[tuple[Offer, int]]) -> None:
        self.tiny, self.service = tiny, service
        self.shares = {offer.machine: breakeven(tiny, offer) for offer, _ in outliving}
        self.slots: dict[tuple[str, Kind], list[int]] = {}

    def kept(self, slot: int, fleet: Fleet) -> Kept:
        """Give what a fleet has on machines with commitments, of kinds busy in the slot."""
        return frozenset(
            ((one.machine, kind_of(one)), count * float(one.candidate.gpus))
            for one, count in fleet
            if one.machine in self.shares and not one.on_spot and self._is_busy(slot, one)
        )

    def _is_busy(self, slot: int, option: ServingOption) -> bool:
        name = (option.machine, kind_of(option))
        if name not in self.slots:
            share = self.shares[option.machine]
            self.slots[name] = busy_slots(self.tiny, self.service, option, share)
        return slot in self.slots[name]


def _is_filled(tiny: Tiny, kept: Kept, outliving: list[tuple[Offer, int]]) -> bool:
    served: dict[str, float] = {}
    for (machine, _), gpus in kept:
        served[machine] = served.get(machine, 0.0) + gpus
    return all(full(tiny, served, {offer.machine: count for offer, count in outliving}))


def join_rising(
    tiny: Tiny, frontiers: list[list[Way]], outliving: list[tuple[Offer, int]]
) -> float:
    """Add up the cheapest ways of fleets of which each is part of every larger one."""
    nodes = {offer.machine: count for offer, count in outliving}
    states: dict[tuple[Counts, Counts], float] = {((), (0,) * len(nodes)): 0.0}
    egress: dict[Counts, float] = {}
    for slot in rising_slots(tiny, frontiers):
        following: dict[tuple[Counts, Counts], float] = {}
        for usd, served, fleets in frontiers[slot]:
            here = full(tiny, served, nodes)
            larger = tuple(count for fleet in fleets for _, count in fleet)
            egress[larger] = sum(sum(brought(fleet)) for fleet in fleets)
            for (smaller, filled), cost in states.items():
                if all(few <= many for few, many in zip(smaller, larger, strict=False)):
                    so_far = tuple(a + b for a, b in zip(filled, here, strict=True))
                    best = following.get((larger, so_far), INFEASIBLE)
                    following[larger, so_far] = min(best, cost + usd)
        states = following
    needed = [breakeven(tiny, offer) * tiny.slots for offer, _ in outliving]
    return min(
        (
            usd + egress[largest]
            for (largest, filled), usd in states.items()
            if all(have >= need - 1e-7 for have, need in zip(filled, needed, strict=True))
        ),
        default=INFEASIBLE,
    )


def rising_slots(tiny: Tiny, frontiers: list[list[Way]]) -> list[int]:
    """List the slots by the load of the services, which have the same one, the least first.

    Where replicas stay up for a time, it is by their number, which is that of all ways of a slot.
    """
    horizon = tiny.case.workloads.horizon
    services = tiny.case.workloads.services
    load, *others = (load_requests_per_s(one, horizon) for one in services)
    assert all(one == load for one in others)
    if not any(one.min_up_time for one in services):
        return sorted(range(tiny.slots), key=load.__getitem__)
    assert not others
    counts = [
        min((sum(count for _, count in fleets[0]) for _, _, fleets in ways), default=0)
        for ways in frontiers
    ]
    return sorted(range(tiny.slots), key=counts.__getitem__)


def full(tiny: Tiny, served: dict[str, float], nodes: dict[str, int]) -> tuple[bool, ...]:
    """Say of which commitments services need all nodes, beside the owned ones."""
    return tuple(
        math.ceil(served.get(machine, 0.0) / tiny.gpus(machine) - SLACK)
        >= count + sum(one.nodes for one in tiny.case.owned if one.machine == machine)
        for machine, count in nodes.items()
    )


def join_in_order(tiny: Tiny, frontiers: list[list[Way]]) -> float:
    """Add up the cheapest ways through the slots, of which each can be handed over to the next."""
    cheapest = {fleets: usd for usd, _, fleets in frontiers[0]}
    for slot in range(1, tiny.slots):
        following: dict[tuple[Fleet, ...], float] = {}
        for usd, _, fleets in frontiers[slot]:
            before = [
                cost for old, cost in cheapest.items() if _hands_over(tiny, slot, old, fleets)
            ]
            if before:
                following[fleets] = min(before) + usd
        cheapest = following
    return min(cheapest.values(), default=INFEASIBLE)


def _hands_over(tiny: Tiny, slot: int, old: tuple[Fleet, ...], new: tuple[Fleet, ...]) -> bool:
    """Say whether the replicas in both slots carry the lesser load; start-ups end in the slot."""
    for service, before, after in zip(tiny.case.workloads.services, old, new, strict=True):
        if not service.start_up:
            continue
        load = load_requests_per_s(service, tiny.case.workloads.horizon)
        classes = [min(load[slot - 1 : slot + 1]) * size.share for size in service.sizes]
        options = tuple(option for option, _ in after)
        staying = [min(one, two) for (_, one), (_, two) in zip(before, after, strict=True)]
        together = merged(options, staying, [kind_of(one) for one in options])
        staying_on = [(one, n) for one, n in together if n]
        kinds = tuple(one for one, _ in staying_on)
        if not any(classes):
            continue
        if not kinds or not carries(
            service, kinds, [n for _, n in staying_on], classes, all_on_spot=True
        ):
            return False
    return True


def breakeven(tiny: Tiny, offer: Offer) -> float:
    firm = [
        one
        for one in tiny.case.offers
        if one.machine == offer.machine and one.price_kind is PriceKind.ON_DEMAND
    ]
    trend = tiny.case.workloads.policy.price_trend_per_year
    return breakeven_utilization(offer, firm[0] if firm else None, trend)
