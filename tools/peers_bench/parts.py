"""A fleet as the parts of a plan: read and priced as any solution of the program is."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
from peers_bench.fleet import Fleet

from broker.domain.horizon import Slot
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import NodeStep, Purchase
from broker.domain.policy import Sharing
from broker.domain.quantities import quantize_usd
from solver.milp.extract_nodes import cost_lines
from solver.milp.extract_work import by_slot
from solver.milp.optimum import Optimum, optimum_of
from solver.milp.program import Program, build_program
from solver.milp.restrict import restricted
from solver.milp.sets import Floats, Sets
from solver.milp.solve import Limits, Outcome, Solution
from solver.milp.variables import routed_sides

_SECOND = timedelta(seconds=1)
_NO_GAP = Limits(gap_fraction=0.0, time_limit_s=1.0)


def parts_of(sets: Sets, fleet: Fleet) -> Optimum:
    """Write a fleet as a plan's parts; nothing is proven about it."""
    groups = sorted(fleet.replicas)
    options = sorted(option for option, _ in fleet.runs.values())
    small = restricted(sets, groups, options)
    program = build_program(small)
    values = _values(sets, program, fleet, (groups, options))
    optimum = optimum_of(program, Solution(Outcome.FEASIBLE, values, 0.0), _NO_GAP)
    if not fleet.keeps_peak:
        return optimum
    return _with_the_peak_kept(optimum, sets)


def _values(
    sets: Sets, program: Program, fleet: Fleet, kept: tuple[list[int], list[int]]
) -> Floats:
    """Give the value of each column that a plan is read from."""
    columns, small = program.columns, program.sets
    values = np.zeros(columns.size)
    groups, options = kept
    for number, group in enumerate(groups):
        row = fleet.replicas[group]
        values[columns.replicas.at(number, np.arange(len(row)))] = row
        values[columns.kind_used.at(small.groups[number].kind)] = 1.0
    for option, up in fleet.runs.values():
        number = options.index(option)
        periods = np.array(up, dtype=np.int64)
        values[columns.gang_up.at(number, periods)] = 1.0
        values[columns.option_used.at(number)] = 1.0
    _set_apart(program, values)
    names = {one.id: number for number, one in enumerate(small.committed)}
    for number, nodes in fleet.committed.items():
        values[columns.committed_nodes.at(names[sets.committed[number].id])] = nodes
    shares = {
        small.groups[at].kind: fleet.shares[sets.groups[one].kind] for at, one in enumerate(groups)
    }
    _route(program, shares, [fleet.replicas[one] for one in groups], values)
    return values


def _set_apart(program: Program, values: Floats) -> None:
    """Keep owned nodes for the gangs that are on them, where the policy keeps runs apart."""
    small, columns = program.sets, program.columns
    if small.case.workloads.policy.sharing is not Sharing.SPLIT:
        return
    up = columns.gang_up.of(values)
    for number, machine in enumerate(small.machines):
        gangs = np.zeros(len(small.periods))
        for at, option in enumerate(small.run_options):
            if option.machine == number and not option.option.candidate.on_spot:
                gangs += option.nodes * up[at]
        kept = min(gangs.max(initial=0.0), min(machine.owned, default=0))
        values[columns.run_nodes.at(number)] = kept


def _route(
    program: Program,
    shares: Mapping[int, Sequence[float]],
    replicas: Sequence[Floats],
    values: Floats,
) -> None:
    """Send each kind its part of the load: to firm replicas what they carry, the rest to spot.

    Where one kind serves each demand there is nothing to route.
    """
    small = program.sets
    for number, (at, on_spot) in enumerate(routed_sides(small)):
        kind = small.kinds[at]
        demand = small.demands[kind.demand]
        load = np.array(shares[at])[:, None] * demand.load_requests_per_s
        per_rate = [1 / rate if rate > 0 else 0.0 for rate in kind.rates]
        needed = np.array(per_rate) @ load
        firm = np.zeros(len(needed))
        for row, one in zip(replicas, small.groups, strict=True):
            if one.kind == at and not one.on_spot:
                firm += row
        carried = np.divide(
            np.maximum(firm - demand.spares(kind.gpus), 0.0),
            needed,
            out=np.ones_like(needed),
            where=needed > 0,
        )
        part = 1 - np.minimum(carried, 1.0) if on_spot else np.minimum(carried, 1.0)
        for size, row in enumerate(part * load):
            column = program.columns.routed_requests_per_s.at(number, size, np.arange(len(row)))
            values[column] = row


def _with_the_peak_kept(optimum: Optimum, sets: Sets) -> Optimum:
    """Rent all the time, beside owned nodes, what services need at their peak."""
    offers = {one.key: one for one in sets.case.offers}
    peaks = _serving_peaks(optimum, sets)
    machines = {one.key: one for one in sets.machines}
    slots = by_slot(sets)
    bought, changed = list[Purchase](), list[Purchase]()
    for one in optimum.purchases:
        offer = offers.get(one.offer)
        if one.price_kind is PriceKind.ON_DEMAND and offer is not None:
            owned = machines[offer.machine].owned
            kept = [(slot, peaks.get(offer.machine, 0) - owned[at]) for slot, at in slots]
            changed.append(_kept(one, offer, kept))
            bought.append(changed[-1])
        else:
            bought.append(one)
    ids = {one.id for one in changed}
    lines = tuple(line for line in optimum.cost_lines if line.subject not in ids)
    lines += cost_lines(changed, offers | dict(sets.case.listed))
    total = sum((line.usd for line in lines), Decimal(0))
    return replace(optimum, purchases=tuple(bought), cost_lines=lines, total_usd=total)


def _serving_peaks(optimum: Optimum, sets: Sets) -> dict[str, int]:
    """Count the nodes of each machine that firm replicas fill at the peak."""
    gpus: dict[str, Counter[datetime]] = defaultdict(Counter)
    slots = sets.case.workloads.horizon.slots()
    for one in optimum.serving:
        for step in one.steps if not one.on_spot else ():
            for slot in slots:
                if step.from_at <= slot.start_at < step.to_at:
                    taken = step.replicas * one.candidate.layout.gpus
                    gpus[one.machine][slot.start_at] += taken
    per_node = {one.key: one.gpus for one in sets.machines}
    return {name: -(-max(taken.values()) // per_node[name]) for name, taken in gpus.items()}


def _kept(purchase: Purchase, offer: Offer, kept: Sequence[tuple[Slot, int]]) -> Purchase:
    """Rent at least so many nodes in each slot."""
    steps: list[NodeStep] = []
    for slot, least in kept:
        rented = (s.nodes for s in purchase.steps if s.from_at <= slot.start_at < s.to_at)
        nodes = max(next(rented, 0), least)
        if steps and (steps[-1].nodes, steps[-1].to_at) == (nodes, slot.start_at):
            steps[-1] = steps[-1].model_copy(update={"to_at": slot.end_at})
        elif nodes:
            steps.append(NodeStep(from_at=slot.start_at, to_at=slot.end_at, nodes=nodes))
    seconds = sum(one.nodes * ((one.to_at - one.from_at) // _SECOND) for one in steps)
    hours = Decimal(seconds) / 3600
    usd = quantize_usd(offer.usd_per_hour * hours)
    return purchase.model_copy(update={"steps": tuple(steps), "node_hours": hours, "usd": usd})
