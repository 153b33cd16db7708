"""Read the sets of the program off a case."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from broker.domain.candidate import GangCandidate
from broker.domain.case import (
    Case,
    ServingOption,
    breakeven_utilization,
    committed_hours,
)
from broker.domain.horizon import Slot
from broker.domain.offer import Offer, PriceKind
from broker.domain.workload import Run
from solver.milp.blocks import BlockWindow, block_windows
from solver.milp.demands import ROUNDING, Demand, demands_by_slot
from solver.milp.fleet_blocks import MOST_BLOCKS, cut_fleet
from solver.milp.fleets import (
    Fleet,
    alike_options,
    in_periods,
    rates_of,
    replicas_alone,
    steady_fleets,
)
from solver.milp.handovers import handovers
from solver.milp.levels import levels_of, outliving_by_machine
from solver.milp.periods import Alike, is_active, is_held, owned_at, periods_of
from solver.milp.room import Room
from solver.milp.savings import savings_plans
from solver.milp.sets import (
    Committed,
    Configuration,
    Group,
    Kind,
    Machine,
    Period,
    RunOption,
    Sets,
    Stock,
    most_slots,
)
from solver.milp.shares import most_with_one, plan_share, provider_share
from solver.milp.tenants import prepared

COMMITTED_KINDS = (PriceKind.RESERVED, PriceKind.CONTRACT)
_Steady = Mapping[Fleet, tuple[int, ...]]
"""What is up in each period of fleets that stay up for a time."""


def build_sets(case: Case) -> Sets:
    """Read the sets off a case, at paid prices; options of machines that it lacks are an error."""
    case = prepared(case)
    slots = case.workloads.horizon.slots()
    demands = demands_by_slot(case)
    windows = {offer.key: block_windows(case, offer) for offer in case.offers}
    fleets = steady_fleets(case, demands)
    like = Alike(demands, [one for own in windows.values() for one in own], list(fleets.values()))
    periods = periods_of(case, slots, like)
    firsts = [period.slots[0] for period in periods]
    demands = _in_periods(demands, firsts)
    machines = _machines(case, [slots[first] for first in firsts])
    position = {machine.key: number for number, machine in enumerate(machines)}
    committed = _committed(case, machines, [slots[first] for first in firsts], periods)
    spans = [(slots[first], one.hours) for first, one in zip(firsts, periods, strict=True)]
    committed += _booked(case, machines, spans, windows)
    rented = {
        one.key: (number, one.on_demand)
        for number, one in enumerate(machines)
        if one.on_demand is not None
    }
    plans, plan_rates = savings_plans(case, rented, spans)
    outliving = outliving_by_machine(committed, plans, plan_rates)
    kinds, groups = _kinds_and_groups(case, demands, position, in_periods(fleets, firsts))
    return Sets(
        case=case,
        periods=periods,
        demands=demands,
        machines=machines,
        committed=committed,
        levels=tuple(levels_of(machines, outliving, kinds, groups)),
        stocks=_stocks(case, position),
        kinds=kinds,
        groups=groups,
        runs=case.workloads.runs,
        run_options=_run_options(case, position, periods, slots),
        handovers=handovers(case.workloads, periods, demands, groups),
        plans=plans,
        plan_rates=plan_rates,
    )


def _in_periods(demands: Sequence[Demand], firsts: Sequence[int]) -> tuple[Demand, ...]:
    return tuple(
        replace(one, load_requests_per_s=one.load_requests_per_s[:, firsts]) for one in demands
    )


def _machines(case: Case, firsts: Sequence[Slot]) -> tuple[Machine, ...]:
    used = [one.machine for one in case.serving] + [one.machine for one in case.training]
    keys = sorted({*used, *(one.machine for one in case.owned)})
    firm = _by_machine(case, PriceKind.ON_DEMAND)
    spot = _by_machine(case, PriceKind.SPOT)
    none = (0,) * len(firsts)
    owned = {one.machine for one in case.owned}
    return tuple(
        Machine(
            key=key,
            gpus=int(case.machines[key].hardware.shape.gpu_count),
            on_demand=firm.get(key),
            spot=spot.get(key),
            owned=(
                tuple(owned_at(case.owned, key, first) for first in firsts)
                if key in owned
                else none
            ),
        )
        for key in keys
    )


def _by_machine(case: Case, kind: PriceKind) -> dict[str, Offer]:
    return {offer.machine: offer for offer in case.offers if offer.price_kind is kind}


def _committed(
    case: Case, machines: Sequence[Machine], firsts: Sequence[Slot], periods: Sequence[Period]
) -> tuple[Committed, ...]:
    position = {machine.key: number for number, machine in enumerate(machines)}
    trend = case.workloads.policy.price_trend_per_year
    found = []
    terms_h = {committed_hours(offer) for offer in case.offers}
    active_for = {
        term_h: tuple(is_active(term_h, case, slot) for slot in firsts) for term_h in terms_h
    }
    hours_of = {
        term_h: sum(one.hours for one, is_on in zip(periods, active, strict=True) if is_on)
        for term_h, active in active_for.items()
    }
    for offer in sorted(case.offers, key=lambda offer: offer.key):
        if offer.price_kind not in COMMITTED_KINDS or offer.machine not in position:
            continue
        machine = position[offer.machine]
        term_h = committed_hours(offer)
        on_demand = machines[machine].on_demand
        found.append(
            Committed(
                offer=offer,
                machine=machine,
                active=active_for[term_h],
                held=tuple(is_held(term_h, case, slot) for slot in firsts),
                active_h=hours_of[term_h],
                charged_h=min(float(term_h), case.workloads.horizon.hours),
                outlives=float(term_h) > case.workloads.horizon.hours,
                breakeven_utilization=breakeven_utilization(offer, on_demand, trend),
            )
        )
    return tuple(found)


def _booked(
    case: Case,
    machines: Sequence[Machine],
    spans: Sequence[tuple[Slot, float]],
    windows: Mapping[str, Sequence[BlockWindow]],
) -> tuple[Committed, ...]:
    position = {machine.key: number for number, machine in enumerate(machines)}
    trend = case.workloads.policy.price_trend_per_year
    found = []
    for offer in sorted(case.offers, key=lambda offer: offer.key):
        for window in windows[offer.key]:
            machine = position[offer.machine]
            on_demand = machines[machine].on_demand
            found.append(
                Committed(
                    offer=offer,
                    machine=machine,
                    active=tuple(window.covers(first) for first, _ in spans),
                    held=tuple(window.touches(first) for first, _ in spans),
                    active_h=sum(hours for first, hours in spans if window.covers(first)),
                    charged_h=window.length_h,
                    outlives=False,
                    breakeven_utilization=breakeven_utilization(offer, on_demand, trend),
                    block=window,
                )
            )
    return tuple(found)


def _stocks(case: Case, position: dict[str, int]) -> tuple[Stock, ...]:
    gpus: dict[str, int] = {}
    for offer in case.offers:
        if offer.stock is not None and offer.machine in position:
            pool, count = offer.stock
            gpus[pool] = min(count, gpus.get(pool, count))
    return tuple(Stock(pool, gpus[pool]) for pool in sorted(gpus))


def _kinds_and_groups(
    case: Case, demands: Sequence[Demand], position: dict[str, int], steady: _Steady
) -> tuple[tuple[Kind, ...], tuple[Group, ...]]:
    """Gather alike options into kinds, one for each distinct set of rates that some of them give.

    A kind takes every machine that gives its rates or better; its replicas then count as alike.
    """
    needs_all = case.workloads.policy.has_one_kind
    kinds: list[Kind] = []
    groups: list[Group] = []
    room = _Room(case)
    for (demand, configuration), alike in alike_options(case, demands).items():
        for rates in sorted({rates_of(one) for one in alike}):
            members = [one for one in alike if _is_at_least(rates_of(one), rates)]
            kind = _kind(demands, (demand, configuration, rates), steady)
            if needs_all:
                share = provider_share(case.workloads, demands[demand].service)
                is_spread = (
                    min(share, plan_share(case.workloads)) < 1
                    or demands[demand].service.availability.min_zones > 1
                )
                if min(rates) <= 0 or not room.holds(members, kind, share):
                    continue
                sizes = room.block_sizes(members, kind, is_spread=is_spread)
                kind = replace(kind, block_sizes=sizes)
            groups.extend(
                Group(
                    kind=len(kinds),
                    demand=demand,
                    machine=position[one.machine],
                    option=one,
                    gpus=kind.gpus,
                    rates=rates,
                )
                for one in members
            )
            kinds.append(kind)
    return tuple(kinds), tuple(groups)


def _kind(
    demands: Sequence[Demand], name: tuple[int, Configuration, tuple[float, ...]], steady: _Steady
) -> Kind:
    demand, configuration, rates = name
    alone = replicas_alone(demands[demand], rates, configuration.gpus)
    up = steady.get((demand, configuration.gpus, rates), alone[0])
    return Kind(demand, configuration, rates, up, alone[1], (), carrying=alone[2])


def _is_at_least(rates: Sequence[float], others: Sequence[float]) -> bool:
    return all(one >= other for one, other in zip(rates, others, strict=True))


class _Room:
    """Says whether a kind that must carry its demand alone can, by what there is of machines."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.room = Room(case)

    def holds(self, members: Sequence[ServingOption], kind: Kind, share: Fraction) -> bool:
        clouds = len({self.case.machines[one.machine].cloud for one in members})
        if any(clouds * most_with_one(share, count) < count for count in kind.replicas_alone):
            return False
        sides = sorted({(one.machine, one.on_spot) for one in members})
        most = self.room.most_gpus
        firm = sum(most(name, on_spot=False) for name, on_spot in sides if not on_spot)
        spot = sum(most(name, on_spot=True) for name, on_spot in sides if on_spot)
        return (
            kind.gpus * max(kind.firm_alone) <= firm
            and kind.gpus * max(kind.replicas_alone) <= firm + spot
        )

    def block_sizes(
        self, members: Sequence[ServingOption], kind: Kind, *, is_spread: bool
    ) -> tuple[int, ...]:
        """Cut the largest fleet into blocks.

        There are more of them where the machines could not hold them all otherwise, and single
        replicas alone where they must be spread over providers or zones.
        """
        most = max(kind.replicas_alone)
        if is_spread:
            return (1,) * most
        nodes = [int(self.case.machines[one.machine].hardware.shape.gpu_count) for one in members]
        per_node = int(max(nodes) // kind.gpus)
        blocks = MOST_BLOCKS
        sizes = cut_fleet(most, per_node, blocks)
        while sizes[0] > 1 and not self._holds_blocks(members, kind, sizes):
            blocks *= 2
            sizes = cut_fleet(most, per_node, blocks)
        return sizes

    def _holds_blocks(
        self, members: Sequence[ServingOption], kind: Kind, sizes: Sequence[int]
    ) -> bool:
        """Say whether the blocks, the largest first, find room in one machine after the other."""
        sides = sorted({(one.machine, one.on_spot) for one in members})
        room = [self.room.most_gpus(machine, on_spot=on_spot) for machine, on_spot in sides]
        for size, count in Counter(sizes).items():
            gpus, left = kind.gpus * size, count
            for at, has in enumerate(room):
                if math.isinf(has):
                    return True
                held = min(left, int(has // gpus))
                room[at] -= held * gpus
                left -= held
            if left:
                return False
        return True


def fewest_slots(run: Run, candidate: GangCandidate, slot_h: float) -> int:
    """Count the slots that finish a run after a single start."""
    needed_s = run.tokens / candidate.tokens_per_s + candidate.startup_s
    return max(1, math.ceil(needed_s / (slot_h * 3600) * (1 - ROUNDING)))


def _run_options(
    case: Case, position: dict[str, int], periods: Sequence[Period], slots: Sequence[Slot]
) -> tuple[RunOption, ...]:
    every = case.workloads.runs
    runs = {run.name: number for number, run in enumerate(every)}
    windows = [
        tuple(
            number
            for number, period in enumerate(periods)
            if run.window.earliest <= slots[period.slots[0]].start_at
            and slots[period.slots[0]].end_at <= run.window.deadline
        )
        for run in every
    ]
    found = []
    for option in sorted(case.training, key=lambda one: (one.run, one.machine, one.candidate.id)):
        run, window = every[runs[option.run]], windows[runs[option.run]]
        needed = fewest_slots(run, option.candidate, slots[0].hours)
        if needed <= min(len(window), most_slots(run, case.workloads.horizon)):
            found.append(
                RunOption(
                    run=runs[option.run],
                    machine=position[option.machine],
                    option=option,
                    window=window,
                    slots_needed=needed,
                )
            )
    return tuple(found)
