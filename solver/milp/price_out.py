"""The relaxed program over every kind of replica, solved over the few that matter.

Under one kind a demand, the duals of a small relaxed program price every other kind: a node of a
machine outside it is worth, in each period, the cheapest way to have it, so that none of its own
columns pays (dual feasible). A kind whose replicas then cost more than its demand's dual is in no
better relaxed plan; one that costs less is taken in, and the program is solved again. At any time

    bound = relaxed cost + Σ_d min(0, least penalty of a kind of d outside)

holds for all kinds, as each demand has exactly one.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from solver.milp.build import build_sets
from solver.milp.program import Program, build_program
from solver.milp.relax import Relaxed, solve_relaxed
from solver.milp.sets import Floats, Kind, Sets

_Name = tuple[str, str, str, str]
Monotonic = Callable[[], float]

_FIRST_KINDS = 6
_MORE_KINDS = 4
_NEGLIGIBLE_USD = 1e-6
_MOST_ROUNDS = 30


def relaxed_over_all(
    sets: Sets, ends_at: float, clock: Monotonic = time.monotonic
) -> Relaxed | None:
    """Solve the relaxed program of a case with one kind a demand; None where it has no solution.

    `ends_at` is when to stop: the bound then holds, but is not the best.
    """
    prices = _Prices(sets)
    flat_usd = np.array([prices.flat_usd(kind, number) for number, kind in enumerate(sets.kinds)])
    inside = _cheapest(sets, flat_usd)
    best: Relaxed | None = None
    for _ in range(_MOST_ROUNDS):
        found = _solved(sets, inside, prices, ends_at - clock())
        if found is None:
            return None if len(inside) == len(sets.kinds) else best
        if best is None or found.relaxed.bound_usd >= best.bound_usd:
            best = found.relaxed
        paying = found.paying(sets)
        if not paying or clock() > ends_at:
            return best
        inside |= paying
    return best


class _Prices:
    """What a GPU of a machine costs at least in each period, however it is bought."""

    def __init__(self, sets: Sets) -> None:
        self.hours = sets.hours
        self.sides: dict[int, set[bool]] = defaultdict(set)
        self.gpus: dict[int, int] = {}
        for group in sets.groups:
            self.sides[group.kind].add(group.on_spot)
            self.gpus[group.kind] = group.gpus
        rates: dict[int, list[float]] = defaultdict(list)
        for one in sets.committed:
            rates[one.machine].append(one.usd_per_node / max(one.active_h, 1e-9))
        self.firm, self.spot = [], []
        for number, machine in enumerate(sets.machines):
            offers = [*rates[number]]
            offers += [float(machine.on_demand.usd_per_hour)] if machine.on_demand else []
            offers += [0.0] if any(machine.owned) else []
            self.firm.append(min(offers, default=np.inf) / machine.gpus)
            spot = float(machine.spot.usd_per_hour) if machine.spot else np.inf
            self.spot.append(spot / machine.gpus)

    def usd(self, kind: Kind, number: int, firm: Floats | float, spot: Floats | float) -> float:
        """Cost a kind at prices a GPU and period: its firm part firm, the rest as is cheaper."""
        firm = firm if False in self.sides[number] else np.inf
        spot = spot if True in self.sides[number] else np.inf
        every = np.array(kind.replicas_alone, dtype=float)
        forced = np.array(kind.firm_alone, dtype=float)
        cheaper = np.minimum(firm, spot) * np.ones_like(every)
        firm = firm * np.ones_like(every)
        rest = np.where(every > forced, (every - forced) * cheaper, 0.0)
        bound = np.where(forced > 0, forced * firm, 0.0)
        return self.gpus[number] * float((rest + bound).sum())

    def flat_usd(self, kind: Kind, number: int) -> float:
        """Cost a kind at the least price of its machine."""
        firm, spot = self.firm[kind.machine], self.spot[kind.machine]
        return self.usd(kind, number, firm * self.hours, spot * self.hours)


@dataclass(frozen=True, slots=True)
class _Found:
    """The relaxed figures of all kinds, and the demands' kinds that would lower the cost."""

    relaxed: Relaxed
    lower_usd: Mapping[int, float]

    def paying(self, sets: Sets) -> set[int]:
        """Choose, a demand, a few kinds outside that would lower the relaxed cost."""
        by_demand: dict[int, list[int]] = defaultdict(list)
        for number in sorted(self.lower_usd, key=lambda one: (self.lower_usd[one], one)):
            by_demand[sets.kinds[number].demand].append(number)
        return {number for some in by_demand.values() for number in some[:_MORE_KINDS]}


def _cheapest(sets: Sets, flat_usd: Floats) -> set[int]:
    count: dict[int, int] = defaultdict(int)
    chosen = set()
    for number in np.argsort(flat_usd, kind="stable").tolist():
        demand = sets.kinds[number].demand
        count[demand] += 1
        if count[demand] <= _FIRST_KINDS:
            chosen.add(number)
    return chosen


def _solved(sets: Sets, inside: set[int], prices: _Prices, left_s: float) -> _Found | None:
    """Solve the relaxed program of the kinds inside, and price those outside with its duals."""
    names = _kind_names(sets)
    small = _restricted(sets, inside)
    program = build_program(small)
    solved = solve_relaxed(program, left_s)
    if solved is None:
        return None
    position = {name: number for number, name in enumerate(_kind_names(small))}
    firm, spot = _node_prices(sets, prices, program, solved)
    demand_usd = _rows_of(program, "kind_limit", solved)
    value = np.zeros(len(sets.kinds))
    penalty = np.zeros(len(sets.kinds))
    for number, kind in enumerate(sets.kinds):
        at = position.get(names[number])
        if at is not None:
            value[number], penalty[number] = solved.kind_value[at], solved.kind_penalty_usd[at]
        else:
            usd = prices.usd(kind, number, firm[kind.machine], spot[kind.machine])
            penalty[number] = usd - demand_usd[kind.demand]
    lower = {number: float(usd) for number, usd in enumerate(penalty) if usd < -_NEGLIGIBLE_USD}
    least = np.zeros(len(sets.demands))
    for number, usd in lower.items():
        demand = sets.kinds[number].demand
        least[demand] = min(least[demand], usd)
    penalty -= least[[kind.demand for kind in sets.kinds]]
    relaxed = replace(
        solved,
        bound_usd=solved.bound_usd + float(least.sum()),
        kind_value=value,
        kind_penalty_usd=np.maximum(penalty, 0.0),
    )
    return _Found(relaxed, lower)


def _restricted(sets: Sets, inside: set[int]) -> Sets:
    """Read the sets of the case with the kinds inside alone; what a level can hold stays."""
    case = replace(
        sets.case,
        serving=tuple(group.option for group in sets.groups if group.kind in inside),
    )
    small = build_sets(case)
    most = {(sets.machines[one.machine].key, one.breakeven_utilization): one for one in sets.levels}
    levels = tuple(
        replace(
            one,
            most_nodes=most[small.machines[one.machine].key, one.breakeven_utilization].most_nodes,
        )
        for one in small.levels
    )
    return replace(small, levels=levels)


def _node_prices(
    sets: Sets, prices: _Prices, program: Program, solved: Relaxed
) -> tuple[list[Floats], list[Floats]]:
    """Price a GPU of every machine in each period: by the duals inside, flat outside."""
    small, periods = program.sets, len(program.sets.periods)
    shape = (len(small.machines), periods)
    firm_usd = -_rows_of(program, "firm_capacity", solved).reshape(shape)
    spot_usd = -_rows_of(program, "spot_capacity", solved).reshape(shape)
    filled = _rows_of(program, "steady_level", solved).reshape(len(small.levels), periods)
    for number, level in enumerate(small.levels):
        firm_usd[level.machine] += filled[number]
    served = _rows_of(program, "split_pools", solved)
    if len(served):
        firm_usd -= served[: shape[0] * periods].reshape(shape)
    position = {machine.key: number for number, machine in enumerate(small.machines)}
    firm, spot = [], []
    for number, machine in enumerate(sets.machines):
        at = position.get(machine.key)
        firm.append(
            prices.hours * prices.firm[number] if at is None else firm_usd[at] / machine.gpus
        )
        spot.append(
            prices.hours * prices.spot[number] if at is None else spot_usd[at] / machine.gpus
        )
    return firm, spot


def _rows_of(program: Program, family: str, solved: Relaxed) -> Floats:
    """Give the duals of one family's rows."""
    start = 0
    for rows in program.families:
        if rows.family == family:
            return solved.row_usd[start : start + len(rows.keys)]
        start += len(rows.keys)
    return np.zeros(0)


def _kind_names(sets: Sets) -> list[_Name]:
    names: dict[int, _Name] = {}
    for group in sets.groups:
        one = group.option
        names[group.kind] = (one.service, one.user_region, one.machine, one.candidate.id)
    return [names[number] for number in range(len(sets.kinds))]
