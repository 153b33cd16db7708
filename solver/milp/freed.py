"""A few machines of a plan freed: what is on them is chosen anew, all else stays as it is.

Replicas that are on these machines may be on any of them. A demand with all of its replicas there
may have another kind, and a run that is there may be on any of them, in any layout, at any time.
What is bought of these machines is free, too. That is a program of a few thousand columns, however
many the whole has.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solver.milp.churn import churn_lines
from solver.milp.part_model import PartModel, part_model
from solver.milp.parts import (
    Arrays,
    Part,
    bounds_of_columns,
    bounds_of_rows,
    hourly_columns,
    implied_rows,
)
from solver.milp.program import Program
from solver.milp.rows import added_up, places, positions
from solver.milp.sets import Floats
from solver.milp.variables import Block, Ints, stayers, watched_machines

_Flags = npt.NDArray[np.bool_]
_USED = 0.5
_SLACK = 1e-6
_SLACK_AT_END = 2e-6
"""Added up anew, a row that was just kept may be a rounding error beyond."""
_EVERYWHERE = -1
_NOWHERE = -2
_AT_A_TIME = 1_000_000


@dataclass(frozen=True, slots=True)
class Freed:
    """What is free of a plan: its columns and rows there, their entries, and the model of it.

    `before` are the values in the plan, and `usd` what those cost.
    """

    columns: Ints
    rows: Ints
    arrays: Arrays
    model: PartModel
    before: Floats

    @property
    def usd(self) -> float:
        """Give what the columns cost in the plan."""
        return float(self.arrays.usd @ self.before)


class PlanInHand:
    """A plan of a program with one kind a demand, and the sum of each row, as it is changed."""

    def __init__(self, program: Program, values: Floats) -> None:
        """Read a plan that keeps all rows."""
        self.program = program
        self._lower, self._upper, self._is_whole = bounds_of_columns(program)
        self._is_hourly = hourly_columns(program)
        self._is_cut = implied_rows(program)
        self._machine_of = _machine_of(program)
        self.values = np.where(self._is_whole, np.round(values), values)
        self._starts = np.cumsum([0, *(len(one.keys) for one in program.families)])
        self._least, self._most = bounds_of_rows(program)
        self._sums = self._summed()
        self._read_sets()

    @property
    def usd(self) -> float:
        """Give what the plan costs."""
        return float(self.program.cost @ self.values)

    def machines_of_demand(self, demand: int) -> set[int]:
        """List the machines that replicas of a demand are on."""
        is_own = self._has_replicas().any(axis=1) & (self._demand_of_group == demand)
        return set(self._machine_of_group[is_own].tolist())

    def machines_of_run(self, run: int) -> set[int]:
        """List the machine that a run is on."""
        is_own = self._is_done() & (self._run_of_option == run)
        return set(self._machine_of_option[is_own].tolist())

    def machines(self) -> set[int]:
        """List the machines that anything is on."""
        served = self._machine_of_group[self._has_replicas().any(axis=1)]
        return {*served.tolist(), *self._machine_of_option[self._is_done()].tolist()}

    def count(self, machines: Collection[int]) -> int:
        """Count the columns that are free where some machines are."""
        return int(self._is_free(machines).sum())

    def freed(self, machines: Collection[int]) -> Freed:
        """Free some machines."""
        columns = np.flatnonzero(self._is_free(machines))
        is_free = np.zeros(len(self.values), dtype=bool)
        is_free[columns] = True
        row, column, value = self._entries(is_free)
        rows, row_at = np.unique(row, return_inverse=True)
        before = self.values[columns]
        column_at = np.searchsorted(columns, column)
        rest = self._sums[rows] - np.bincount(row_at, value * before[column_at], len(rows))
        position, value = added_up(positions(row_at, column_at), value)
        row_at, column_at = places(position)
        arrays = Arrays(
            row_at,
            column_at,
            value,
            self._least[rows] - rest,
            self._most[rows] - rest,
            self._is_cut[rows],
            self._lower[columns],
            self._upper[columns],
            self._is_whole[columns],
            self.program.cost[columns],
            self._is_hourly[columns],
        )
        whole = Part(np.arange(len(columns)), np.arange(len(rows)), arrays.upper)
        return Freed(columns, rows, arrays, part_model(arrays, whole), before)

    def take(self, freed: Freed, found: Floats) -> bool:
        """Take in what is cheaper, unless the plan has changed there so that it does not fit."""
        arrays, values = freed.arrays, freed.model.values(found)
        values = np.where(arrays.is_whole, np.round(values), values)
        is_moved = self.values[freed.columns] != freed.before
        if is_moved.any() or float(arrays.usd @ values) >= freed.usd:
            return False
        change = arrays.value * (values - freed.before)[arrays.column]
        sums = self._sums[freed.rows] + np.bincount(arrays.row, change, len(freed.rows))
        if not self._keeps(freed.rows, sums, _SLACK):
            return False
        self.values = self.values.copy()
        self.values[freed.columns] = values
        self._sums[freed.rows] = sums
        return True

    def holds(self) -> bool:
        """Say whether the plan keeps every row, added up anew."""
        return self._keeps(np.arange(len(self._sums)), self._summed(), _SLACK_AT_END)

    def _keeps(self, rows: Ints, sums: Floats, part: float) -> bool:
        slack = part * np.maximum(1.0, np.abs(sums))
        is_low = sums < self._least[rows] - slack
        return not (is_low | (sums > self._most[rows] + slack)).any()

    def _read_sets(self) -> None:
        sets = self.program.sets
        self._machine_of_group = _ints(one.machine for one in sets.groups)
        self._kind_of_group = _ints(one.kind for one in sets.groups)
        self._demand_of_group = _ints(one.demand for one in sets.groups)
        self._demand_of_kind = _ints(one.demand for one in sets.kinds)
        self._machine_of_option = _ints(one.machine for one in sets.run_options)
        self._run_of_option = _ints(one.run for one in sets.run_options)

    def _summed(self) -> Floats:
        sums = np.zeros(int(self._starts[-1]))
        for start, rows in zip(self._starts, self.program.families, strict=False):
            own = rows.entries
            for at in range(0, len(own.row), _AT_A_TIME):
                part = slice(at, at + _AT_A_TIME)
                terms = own.coefficient[part] * self.values[own.column[part]]
                sums[start : start + len(rows.keys)] += np.bincount(
                    own.row[part], terms, len(rows.keys)
                )
        return sums

    def _entries(self, is_free: _Flags) -> tuple[Ints, Ints, Floats]:
        """Give the entries of free columns."""
        found = list(self._entries_by_family(is_free))
        row, column, value = (np.concatenate([one[at] for one in found]) for at in range(3))
        return row, column, value

    def _entries_by_family(self, is_free: _Flags) -> Iterator[tuple[Ints, Ints, Floats]]:
        for start, rows in zip(self._starts, self.program.families, strict=False):
            own = rows.entries
            at = np.flatnonzero(is_free[own.column])
            yield own.row[at] + start, own.column[at], own.coefficient[at]

    def _has_replicas(self) -> _Flags:
        return np.asarray(self.program.columns.replicas.of(self.values) > _USED)

    def _is_done(self) -> _Flags:
        return np.asarray(self.program.columns.option_used.of(self.values) > _USED)

    def _is_free(self, machines: Collection[int]) -> _Flags:
        """Say which columns are free where some machines are."""
        columns = self.program.columns
        is_in = np.zeros(len(self.program.sets.machines), dtype=bool)
        is_in[list(machines)] = True
        at = self._machine_of
        is_free = np.where(at >= 0, is_in[np.maximum(at, 0)], at == _EVERYWHERE)
        self._keep_replicas(is_free, is_in)
        is_there = np.zeros(len(self.program.sets.runs), dtype=bool)
        is_there[self._run_of_option[self._is_done() & is_in[self._machine_of_option]]] = True
        for block in (columns.gang_up, columns.gang_start, columns.option_used):
            own = _part(is_free, block)
            own.reshape(block.upper.shape)[~is_there[self._run_of_option]] = False
        begun = columns.run_begun
        if begun.size:
            _part(is_free, begun).reshape(begun.upper.shape)[is_there] = True
        return is_free & (self._upper > self._lower)

    def _keep_replicas(self, is_free: _Flags, is_in: _Flags) -> None:
        """Keep blocks that are elsewhere, and the kinds of demands that have any elsewhere."""
        columns, has = self.program.columns, self._has_replicas()
        group, block = np.nonzero(has)
        demand, is_there = self._demand_of_group[group], is_in[self._machine_of_group[group]]
        demands = len(self.program.sets.demands)
        is_block_in = np.zeros((demands, has.shape[1]), dtype=bool)
        is_block_in[demand, block] = is_there
        is_whole_in = np.ones(demands, dtype=bool)
        is_whole_in[demand[~is_there]] = False
        is_used = columns.kind_used.of(self.values) > _USED
        may_have = is_used[self._kind_of_group][:, None] & is_block_in[self._demand_of_group]
        may_have |= is_whole_in[self._demand_of_group][:, None]
        _part(is_free, columns.replicas).reshape(has.shape)[~may_have] = False
        may_be = is_used.copy()
        may_be[self._kind_of_group[is_in[self._machine_of_group]]] = True
        _part(is_free, columns.kind_used)[:] = may_be & is_whole_in[self._demand_of_kind]


def _machine_of(program: Program) -> Ints:
    """Give the machine of each column; of some, that they are free everywhere, or not by this."""
    sets, columns = program.sets, program.columns
    groups = _ints(one.machine for one in sets.groups)
    options = _ints(one.machine for one in sets.run_options)
    rates = _ints(one.machine for one in sets.plan_rates)
    every = np.arange(len(sets.machines))
    stay = _ints(sets.groups[group].machine for group, _ in stayers(sets))
    of_block = (
        (columns.replicas, groups),
        (columns.peak_replicas, groups),
        (columns.handover_requests_per_s, stay),
        *((one, every) for one in (columns.on_demand_nodes, columns.spot_nodes)),
        *((one, every) for one in (columns.serving_nodes, columns.run_nodes)),
        (columns.committed_nodes, _ints(one.machine for one in sets.committed)),
        (columns.level_used, _ints(one.machine for one in sets.levels)),
        *((one, options) for one in (columns.gang_up, columns.gang_start, columns.option_used)),
        *((one, rates) for one in (columns.covered_nodes, columns.steady_nodes)),
        (columns.idle_nodes, _ints(watched_machines(sets))),
    )
    machine_of = np.full(columns.size, _NOWHERE)
    for block, machines in of_block:
        if block.size:
            _part(machine_of, block)[:] = np.repeat(machines, block.size // len(machines))
    for block in (columns.over_usd, columns.zone_used, columns.plan_steps):
        _part(machine_of, block)[:] = _EVERYWHERE
    lines = (_EVERYWHERE if one.committed else one.machine for one in churn_lines(sets))
    _part(machine_of, columns.moved_nodes)[:] = _ints(lines)
    return machine_of


def _part(of: npt.NDArray[np.generic], block: Block) -> npt.NDArray[np.generic]:
    return of[block.start : block.start + block.size]


def _ints(of: Iterable[int]) -> Ints:
    return np.fromiter(of, dtype=np.int64)
