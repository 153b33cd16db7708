"""From a solution to assignments: which replicas and gangs are up when, and who they answer."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from broker.domain.horizon import Slot
from broker.domain.plan import RunStep, ServingAssignment, ServingStep, TrainingAssignment
from solver.milp.program import Program
from solver.milp.sets import Floats, Group, RunOption, Sets
from solver.milp.variables import Ints, most_classes, routed_sides


@dataclass(frozen=True, slots=True)
class Work:
    """Whole numbers of a solution: replicas[g,t], gang_up[a,t], and requests/s routed[g,k,t]."""

    replicas: Ints
    gang_up: Ints
    routed_requests_per_s: Floats


def read_work(program: Program, values: Floats) -> Work:
    """Round what is whole, and route every request of the load exactly once."""
    columns, sets = program.columns, program.sets
    replicas = _block(values, columns.replicas.start, columns.replicas.upper)
    gang_up = _block(values, columns.gang_up.start, columns.gang_up.upper)
    routed = _block(
        values, columns.routed_requests_per_s.start, columns.routed_requests_per_s.upper
    )
    whole = np.zeros((len(sets.groups), len(sets.periods)), dtype=np.int64)
    for number, group in enumerate(sets.groups):
        kind = sets.kinds[group.kind]
        whole[number] = np.rint(np.rint(replicas[number, : kind.blocks]) @ kind.up())
    return Work(whole, np.rint(gang_up).astype(np.int64), _routes(sets, whole, routed))


def serving_assignments(sets: Sets, work: Work) -> tuple[ServingAssignment, ...]:
    """Write the groups that have replicas as assignments."""
    return tuple(
        ServingAssignment(
            service=group.option.service,
            user_region=group.option.user_region,
            machine=group.option.machine,
            on_spot=group.option.on_spot,
            candidate=group.option.candidate,
            steps=tuple(_serving_steps(sets, work, number, group)),
        )
        for number, group in enumerate(sets.groups)
        if work.replicas[number].any()
    )


def training_assignments(sets: Sets, work: Work) -> tuple[TrainingAssignment, ...]:
    """Write the gangs that are up as assignments, with the tokens that they finish."""
    return tuple(
        _training_assignment(sets, option, work.gang_up[number])
        for number, option in enumerate(sets.run_options)
        if work.gang_up[number].any()
    )


def by_slot(sets: Sets) -> list[tuple[Slot, int]]:
    """Pair each slot with its period, in the order of time."""
    period_of = {
        slot: number for number, period in enumerate(sets.periods) for slot in period.slots
    }
    slots = sets.case.workloads.horizon.slots()
    return [(slot, period_of[slot.index]) for slot in slots]


def _block(values: Floats, start: int, upper: Floats) -> Floats:
    return values[start : start + upper.size].reshape(upper.shape)


def _routes(sets: Sets, replicas: Ints, routed: Floats) -> Floats:
    """Split what goes to a kind's firm or spot replicas evenly among them, and scale to the load.

    Where no routes were solved for, they follow the rate that is there.
    """
    routes = np.zeros((len(sets.groups), most_classes(sets), len(sets.periods)))
    if sets.has_one_kind:
        return _one_kind_routes(sets, replicas, routes)
    place = {side: number for number, side in enumerate(routed_sides(sets))}
    for number, group in enumerate(sets.groups):
        side = place.get((group.kind, group.on_spot))
        if side is not None:
            routes[number] = np.maximum(routed[side], 0.0) * _part(sets, replicas, number)
            continue
        there = _together(sets, replicas, number) - sets.demands[group.demand].spares(group.gpus)
        part = _part(sets, replicas, number)
        routes[number, 0, :] = np.maximum(there, 0) * part * group.rates[0]
    for number, demand in enumerate(sets.demands):
        members = [at for at, group in enumerate(sets.groups) if group.demand == number]
        classes = len(demand.load_requests_per_s)
        total = routes[members, :classes, :].sum(axis=0)
        load = demand.load_requests_per_s
        factor = np.divide(load, total, out=np.zeros_like(load), where=total > 0)
        routes[members, :classes, :] *= factor[None, :, :]
    return routes


def _one_kind_routes(sets: Sets, replicas: Ints, routes: Floats) -> Floats:
    """Send every size class alike: to the firm replicas what they carry, the rest to spot."""
    for number, group in enumerate(sets.groups):
        demand = sets.demands[group.demand]
        load = demand.load_requests_per_s
        firm = sum(
            (
                replicas[at]
                for at, other in enumerate(sets.groups)
                if other.kind == group.kind and not other.on_spot
            ),
            start=np.zeros(len(sets.periods), dtype=np.int64),
        )
        needed = (1 / np.array(group.rates)) @ load
        beyond = np.maximum(firm - demand.spares(group.gpus), 0)
        firm_share = np.minimum(
            1.0, np.divide(beyond, needed, out=np.ones_like(needed), where=needed > 0)
        )
        share = 1 - firm_share if group.on_spot else firm_share
        routes[number, : len(load), :] = share * _part(sets, replicas, number) * load
    return routes


def _together(sets: Sets, replicas: Ints, number: int) -> Ints:
    """Count the replicas of a group's kind that are firm, or on spot, as the group is."""
    one = sets.groups[number]
    return np.asarray(
        sum(
            replicas[at]
            for at, other in enumerate(sets.groups)
            if (other.kind, other.on_spot) == (one.kind, one.on_spot)
        )
    )


def _part(sets: Sets, replicas: Ints, number: int) -> Floats:
    """Give a group's part of the replicas of its kind that are firm, or on spot, as it is."""
    there = _together(sets, replicas, number)
    part = np.divide(replicas[number], there, out=np.zeros(len(there)), where=there > 0)
    return np.asarray(part, dtype=np.float64)


def _serving_steps(sets: Sets, work: Work, number: int, group: Group) -> Iterator[ServingStep]:
    classes = len(group.rates)

    def state(entry: tuple[Slot, int]) -> tuple[int, tuple[float, ...]]:
        routed = work.routed_requests_per_s[number, :classes, entry[1]]
        return int(work.replicas[number, entry[1]]), tuple(round(float(one), 9) for one in routed)

    for (replicas, requests), same in groupby(by_slot(sets), key=state):
        slots = [slot for slot, _ in same]
        if replicas:
            yield ServingStep(
                from_at=slots[0].start_at,
                to_at=slots[-1].end_at,
                replicas=replicas,
                requests_per_s=requests,
            )


def _training_assignment(sets: Sets, option: RunOption, gang_up: Ints) -> TrainingAssignment:
    candidate = option.option.candidate
    steps = []
    for is_up, same in groupby(by_slot(sets), key=lambda entry: bool(gang_up[entry[1]])):
        slots = [slot for slot, _ in same]
        if is_up:
            steps.append(RunStep(from_at=slots[0].start_at, to_at=slots[-1].end_at))
    seconds = [(step.to_at - step.from_at).total_seconds() for step in steps]
    useful_s = sum(max(0.0, length - candidate.startup_s) for length in seconds)
    return TrainingAssignment(
        run=option.option.run,
        machine=option.option.machine,
        on_spot=candidate.on_spot,
        candidate=candidate,
        steps=tuple(steps),
        tokens=useful_s * candidate.tokens_per_s,
    )
