"""A solution of one program as a hint for another over the same periods."""

from collections.abc import Iterator

import numpy as np

from solver.milp.churn import churn_lines
from solver.milp.program import Program
from solver.milp.sets import Floats, Sets
from solver.milp.variables import routed_sides, soft_budgets, stayers, watched_machines
from solver.milp.zones import zone_pairs

_Name = tuple[object, ...]


def hint_from(solved: Program, values: Floats, program: Program) -> Floats:
    """Give values by the columns of `program`: those it shares with `solved`, 0 for the rest.

    Columns that only help to route requests, or to count what is idle, are left open (NaN), as the
    solver completes them.
    """
    known = dict(zip(_names(solved), values, strict=True))
    hint = np.array([known.get(name, 0.0) for name in _names(program)])
    columns = program.columns
    open_blocks = (columns.routed_requests_per_s, columns.handover_requests_per_s)
    for block in (*open_blocks, columns.idle_nodes):
        hint[block.start : block.start + block.size] = np.nan
    return hint


def _names(program: Program) -> Iterator[_Name]:
    """Name every column by what it stands for, whatever its position."""
    members = _members(program.sets)
    for block in program.columns.blocks():
        heads = members[block.name]
        for key in np.ndindex(*block.upper.shape):
            yield (block.name, heads[key[0]], *key[1:])


def _members(sets: Sets) -> dict[str, list[object]]:
    machines: list[object] = [machine.key for machine in sets.machines]
    demands = [(one.service.name, one.user_region) for one in sets.demands]
    kinds: list[object] = [
        (*demands[one.demand], one.configuration, one.rates) for one in sets.kinds
    ]
    groups: list[object] = [
        (kinds[one.kind], one.option.machine, one.on_spot) for one in sets.groups
    ]
    committed: list[object] = [(one.id, one.block and one.block.for_runs) for one in sets.committed]
    levels: list[object] = [
        (sets.machines[one.machine].key, one.breakeven_utilization) for one in sets.levels
    ]
    rates: list[object] = [one.offer.key for one in sets.plan_rates]
    options: list[object] = [
        (one.option.run, one.option.machine, one.option.candidate.id) for one in sets.run_options
    ]
    return {
        **dict.fromkeys(("replicas", "kept_replicas", "peak_replicas"), groups),
        **dict.fromkeys(("serving_nodes", "run_nodes", "on_demand_nodes", "spot_nodes"), machines),
        **dict.fromkeys(("gang_up", "gang_start", "option_used"), options),
        **dict.fromkeys(("covered_nodes", "steady_nodes"), rates),
        **dict.fromkeys(("kind_used", "burst_used"), kinds),
        "routed_requests_per_s": [(kinds[kind], on_spot) for kind, on_spot in routed_sides(sets)],
        "committed_nodes": committed,
        "level_used": levels,
        "run_begun": [run.name for run in sets.runs],
        "handover_requests_per_s": [
            (groups[group], sets.handovers[handover].periods) for group, handover in stayers(sets)
        ],
        "zone_used": [(demands[demand], zone) for demand, zone in zone_pairs(sets)],
        "over_usd": [number for number, _ in soft_budgets(sets)],
        "plan_steps": [one.id for one in sets.plans],
        "moved_nodes": [one.id for one in churn_lines(sets)],
        "idle_nodes": [machines[one] for one in watched_machines(sets)],
    }
