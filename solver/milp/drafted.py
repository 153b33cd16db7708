"""A draft of the search as a solution of the program, where it keeps all of its rules."""

from collections.abc import Mapping

import numpy as np

from solver.milp.draft import Found
from solver.milp.program import Program
from solver.milp.sets import Floats
from solver.milp.variables import Ints

_SLACK = 1e-6


def values_of(program: Program, found: Found) -> Floats:
    """Give the value of each column in a draft."""
    sets, columns = program.sets, program.columns
    values = np.zeros(columns.size)
    for demand, groups in found.draft.groups.items():
        values[columns.kind_used.at(found.draft.kinds[demand])] = 1.0
        values[columns.replicas.at(np.array(groups), np.arange(len(groups)))] = 1.0
    for option, up in found.draft.runs.values():
        periods = np.array(up, dtype=np.int64)
        values[columns.option_used.at(option)] = 1.0
        values[columns.gang_up.at(option, periods)] = 1.0
        is_first = ~np.isin(periods, _following(sets.run_options[option].window, periods))
        values[columns.gang_start.at(option, periods[is_first])] = 1.0
        one = sets.run_options[option]
        if sets.runs[one.run].max_duration is not None:
            window = np.array(one.window, dtype=np.int64)
            values[columns.run_begun.at(one.run, window[window >= periods.min()])] = 1.0
    everywhere = np.arange(len(sets.periods))
    committed: dict[int, int] = {}
    for machine, nodes in found.nodes.items():
        values[columns.on_demand_nodes.at(machine, everywhere)] = nodes.on_demand
        values[columns.spot_nodes.at(machine, everywhere)] = nodes.spot
        committed |= nodes.committed
    _commit(program, values, committed)
    _exceed(program, values)
    _use_zones(program, values)
    _move(program, values)
    return values


def holds(program: Program, values: Floats) -> bool:
    """Say whether values keep every row and bound of a program."""
    for block in program.columns.blocks():
        part = values[block.start : block.start + block.size]
        if (part < block.lower.ravel() - _SLACK).any() or (
            part > block.upper.ravel() + _SLACK
        ).any():
            return False
    for rows in program.families:
        one = rows.entries
        sums = np.bincount(one.row, one.coefficient * values[one.column], len(rows.keys))
        slack = _SLACK * np.maximum(1.0, np.abs(sums))
        if (sums < rows.lower - slack).any() or (sums > rows.upper + slack).any():
            return False
    return True


def _commit(program: Program, values: Floats, committed: Mapping[int, int]) -> None:
    columns = program.columns
    for number, nodes in committed.items():
        values[columns.committed_nodes.at(number)] = nodes
    for number, level in enumerate(program.sets.levels):
        if any(committed.get(member, 0) for member in level.members):
            values[columns.level_used.at(number)] = 1.0


def _exceed(program: Program, values: Floats) -> None:
    """Count what is over each soft budget."""
    over = program.columns.over_usd
    for rows in program.families:
        if rows.family not in ("budgets", "month_budgets"):
            continue
        one = rows.entries
        spent = np.bincount(one.row, one.coefficient * values[one.column], len(rows.keys))
        is_over = (one.column >= over.start) & (one.column < over.start + over.size)
        needed = (spent - rows.upper)[one.row[is_over]] / -one.coefficient[is_over]
        values[one.column[is_over]] = np.maximum(needed, 0.0)


def _move(program: Program, values: Floats) -> None:
    """Count what is moved of each line."""
    moved = program.columns.moved_nodes
    (rows,) = (one for one in program.families if one.family == "moved_nodes")
    one = rows.entries
    beyond = rows.lower - np.bincount(one.row, one.coefficient * values[one.column], len(rows.keys))
    lines = np.array([int(str(key[0])) for key in rows.keys], dtype=np.int64)
    most = np.zeros(moved.size)
    np.maximum.at(most, lines, beyond)
    values[moved.start : moved.start + moved.size] = most


def _use_zones(program: Program, values: Floats) -> None:
    """Say in which zones each demand has a replica at all times."""
    used = program.columns.zone_used
    (rows,) = (one for one in program.families if one.family == "min_zones")
    one = rows.entries
    sums = np.bincount(one.row, one.coefficient * values[one.column], len(rows.keys))
    for row, column in zip(one.row.tolist(), one.column.tolist(), strict=True):
        if used.start <= column < used.start + used.size and rows.upper[row] == 0:
            values[column] = min(1.0, -sums[row])


def _following(window: tuple[int, ...], periods: Ints) -> Ints:
    """Give the periods of the window right after those that are up."""
    place = {period: at for at, period in enumerate(window)}
    after = (place[int(period)] + 1 for period in periods)
    return np.array([window[at] for at in after if at < len(window)], dtype=np.int64)
