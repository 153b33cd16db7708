"""Read the sets of the program off a case."""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from broker.domain.candidate import TrainingCandidate
from broker.domain.case import (
    Case,
    OwnedNodes,
    ServingOption,
    breakeven_utilization,
    committed_hours,
)
from broker.domain.horizon import Slot
from broker.domain.offer import Offer, PriceKind
from broker.domain.workload import TrainingRun
from solver.milp.demands import ROUNDING, Demand, demands_by_slot, whole
from solver.milp.handovers import handovers
from solver.milp.room import most_gpus
from solver.milp.sets import (
    Committed,
    Group,
    Kind,
    Level,
    Machine,
    Period,
    RunOption,
    Sets,
    Stock,
)

COMMITTED_KINDS = (PriceKind.RESERVED, PriceKind.CONTRACT)


def build_sets(case: Case) -> Sets:
    """Read the sets off a case; options of machines that the case lacks are an error."""
    slots = case.workloads.horizon.slots()
    demands = demands_by_slot(case)
    periods = _periods(case, slots, demands)
    firsts = [period.slots[0] for period in periods]
    demands = tuple(
        Demand(one.service, one.user_region, one.load_requests_per_s[:, firsts]) for one in demands
    )
    used = [one.machine for one in case.serving] + [one.machine for one in case.training]
    keys = sorted({*used, *(one.machine for one in case.owned)})
    position = {key: number for number, key in enumerate(keys)}
    firm = _by_machine(case, PriceKind.ON_DEMAND)
    spot = _by_machine(case, PriceKind.SPOT)
    machines = tuple(
        Machine(
            key=key,
            gpus=int(case.machines[key].hardware.shape.gpu_count),
            on_demand=firm.get(key),
            spot=spot.get(key),
            owned=tuple(_owned_at(case.owned, key, slots[first]) for first in firsts),
        )
        for key in keys
    )
    committed = _committed(case, machines, [slots[first] for first in firsts], periods)
    kinds, groups = _kinds_and_groups(case, demands, position)
    return Sets(
        case=case,
        periods=periods,
        demands=demands,
        machines=machines,
        committed=committed,
        levels=tuple(_levels(machines, committed, kinds, groups)),
        stocks=_stocks(case, position),
        kinds=kinds,
        groups=groups,
        runs=case.workloads.training,
        run_options=_run_options(case, position, periods, slots),
        handovers=handovers(case.workloads, periods, demands, groups),
    )


def _periods(case: Case, slots: Sequence[Slot], demands: Sequence[Demand]) -> tuple[Period, ...]:
    def datum(slot: Slot) -> tuple[object, ...]:
        in_window = any(
            run.window.earliest < slot.end_at and slot.start_at < run.window.deadline
            for run in case.workloads.training
        )
        return (
            slot.index if in_window else -1,
            slot.hours,
            tuple(_owned_at(case.owned, one.machine, slot) for one in case.owned),
            tuple(_is_active(offer, case, slot) for offer in case.offers if offer.commitment),
            tuple(float(one.load_requests_per_s[:, slot.index].sum()) for one in demands),
        )

    by_datum = sorted(slots, key=lambda slot: (repr(datum(slot)), slot.index))
    alike = [tuple(slot.index for slot in same) for _, same in groupby(by_datum, key=datum)]
    return tuple(Period(slots=same, slot_h=slots[same[0]].hours) for same in sorted(alike))


def _by_machine(case: Case, kind: PriceKind) -> dict[str, Offer]:
    return {offer.machine: offer for offer in case.offers if offer.price_kind is kind}


def _owned_at(owned: Sequence[OwnedNodes], machine: str, slot: Slot) -> int:
    return sum(
        one.nodes
        for one in owned
        if one.machine == machine and (one.until is None or slot.end_at <= one.until)
    )


def _is_active(offer: Offer, case: Case, slot: Slot) -> bool:
    from_start = (slot.end_at - case.workloads.horizon.start).total_seconds() / 3600
    return from_start <= float(committed_hours(offer))


def _committed(
    case: Case, machines: Sequence[Machine], firsts: Sequence[Slot], periods: Sequence[Period]
) -> tuple[Committed, ...]:
    position = {machine.key: number for number, machine in enumerate(machines)}
    trend = case.workloads.policy.price_trend_per_year
    found = []
    for offer in sorted(case.offers, key=lambda offer: offer.key):
        if offer.price_kind not in COMMITTED_KINDS or offer.machine not in position:
            continue
        machine = position[offer.machine]
        active = tuple(_is_active(offer, case, slot) for slot in firsts)
        hours = sum(one.hours for one, is_on in zip(periods, active, strict=True) if is_on)
        on_demand = machines[machine].on_demand
        found.append(
            Committed(
                offer=offer,
                machine=machine,
                active=active,
                active_h=hours,
                outlives=float(committed_hours(offer)) > case.workloads.horizon.hours,
                breakeven_utilization=breakeven_utilization(offer, on_demand, trend),
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
    case: Case, demands: Sequence[Demand], position: dict[str, int]
) -> tuple[tuple[Kind, ...], tuple[Group, ...]]:
    of = {(one.service.name, one.user_region): number for number, one in enumerate(demands)}
    needs_all = case.workloads.policy.max_groups == 1
    kinds: dict[tuple[int, int, str], Kind] = {}
    groups = []
    room = _Room(case)
    for option in sorted(case.serving, key=_serving_order):
        number = of.get((option.service, option.user_region))
        rates = tuple(rate.requests_per_s for rate in option.candidate.rates)
        if number is None or (needs_all and min(rates) <= 0):
            continue
        machine = position[option.machine]
        name = (number, machine, option.candidate.id)
        kind = kinds.get(name) or Kind(number, machine, *_alone(demands[number], rates))
        if needs_all and not room.holds(option, kind):
            continue
        kinds.setdefault(name, kind)
        groups.append(
            Group(
                kind=list(kinds).index(name),
                demand=number,
                machine=machine,
                option=option,
                gpus=option.candidate.layout.gpus,
                rates=rates,
            )
        )
    return tuple(kinds.values()), tuple(groups)


class _Room:
    """Says whether a kind that must carry its demand alone can, by what there is of its machine."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.known: dict[tuple[str, bool], float] = {}

    def holds(self, option: ServingOption, kind: Kind) -> bool:
        gpus = option.candidate.layout.gpus
        firm, spot = (
            self._gpus(option.machine, on_spot=False),
            self._gpus(option.machine, on_spot=True),
        )
        return (
            gpus * max(kind.firm_alone) <= firm and gpus * max(kind.replicas_alone) <= firm + spot
        )

    def _gpus(self, machine: str, *, on_spot: bool) -> float:
        if (machine, on_spot) not in self.known:
            self.known[machine, on_spot] = most_gpus(self.case, machine, on_spot=on_spot)
        return self.known[machine, on_spot]


def _serving_order(option: ServingOption) -> tuple[str, str, str, str, bool]:
    names = (option.service, option.user_region, option.machine)
    return (*names, option.candidate.id, option.on_spot)


def _alone(demand: Demand, rates: Sequence[float]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Count, a period, the replicas that carry all that this kind can carry, and the firm ones."""
    per_rate = np.array([1 / rate if rate > 0 else 0.0 for rate in rates])
    needed = per_rate @ demand.load_requests_per_s
    firm_share = 1 - demand.service.spot.max_share
    floor = demand.service.min_replicas
    every = whole(needed) + demand.spare
    firm = whole(firm_share * needed) + demand.spare
    return (
        tuple(max(int(count), floor) for count in every),
        tuple(int(count) for count in firm),
    )


def _levels(
    machines: Sequence[Machine],
    committed: Sequence[Committed],
    kinds: Sequence[Kind],
    groups: Sequence[Group],
) -> Iterator[Level]:
    for number, machine in enumerate(machines):
        by_breakeven: dict[float, list[int]] = {}
        for at, one in enumerate(committed):
            if one.machine == number and one.outlives:
                by_breakeven.setdefault(one.breakeven_utilization, []).append(at)
        most = _most_served_nodes(machine, kinds, [one for one in groups if one.machine == number])
        stack: list[int] = []
        for breakeven in sorted(by_breakeven, reverse=True):
            stack.extend(by_breakeven[breakeven])
            yield Level(number, tuple(stack), breakeven, most)


def _most_served_nodes(machine: Machine, kinds: Sequence[Kind], groups: Sequence[Group]) -> int:
    """Bound the nodes that services fill at once: each demand's largest group, all together."""
    largest: dict[int, int] = {}
    for group in groups:
        if not group.on_spot:
            gpus = max(kinds[group.kind].replicas_alone) * group.gpus
            largest[group.demand] = max(largest.get(group.demand, 0), gpus)
    return math.ceil(sum(largest.values()) / machine.gpus)


def fewest_slots(run: TrainingRun, candidate: TrainingCandidate, slot_h: float) -> int:
    """Count the slots that finish a run after a single start."""
    needed_s = run.tokens / candidate.tokens_per_s + candidate.startup_s
    return max(1, math.ceil(needed_s / (slot_h * 3600) * (1 - ROUNDING)))


def _run_options(
    case: Case, position: dict[str, int], periods: Sequence[Period], slots: Sequence[Slot]
) -> tuple[RunOption, ...]:
    runs = {run.name: number for number, run in enumerate(case.workloads.training)}
    found = []
    for option in sorted(case.training, key=lambda one: (one.run, one.machine, one.candidate.id)):
        run = case.workloads.training[runs[option.run]]
        window = tuple(
            number
            for number, period in enumerate(periods)
            if run.window.earliest <= slots[period.slots[0]].start_at
            and slots[period.slots[0]].end_at <= run.window.deadline
        )
        needed = fewest_slots(run, option.candidate, slots[0].hours)
        if needed <= len(window):
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
