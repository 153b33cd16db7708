"""No provider has more of the whole plan's work than its share."""

import numpy as np

from solver.milp.rows import Entries, Rows, entries, rows_of
from solver.milp.sets import Floats, Sets
from solver.milp.shares import plan_share as share_of
from solver.milp.variables import Columns, Ints, replicas_at


def plan_share(sets: Sets, columns: Columns) -> Rows:
    """Leave each provider no more than its share of the GPU-hours that all work takes.

        Σ_{g ∈ groups[v],t} gpus[g] · hours[t] · replicas[g,t]
            + Σ_{a ∈ options[v]} nodes[a] · G[m] · slots_needed[a] · slot_h · option_used[a]
            ≤ share · (the same over all g and a)    ∀ v ∈ providers

    Firm and spot work count alike; what stands idle, and slots that a run holds beyond the fewest
    that do its work, count for nothing, so that no one keeps nodes to meet a share. A provider is
    the cloud whose machine it is, whoever sells it. The rows join all workloads: the relaxed
    program that bounds a case does without them, which costs no more. GPU-hours on both sides.
    """
    share = float(share_of(sets.case.workloads))
    if share >= 1:
        return rows_of("plan_share", [], [])
    work = [
        *(
            (_cloud(sets, one.machine), *_replicas(sets, columns, at))
            for at, one in enumerate(sets.groups)
        ),
        *(
            (_cloud(sets, one.machine), *_gang(sets, columns, at))
            for at, one in enumerate(sets.run_options)
        ),
    ]
    providers = sorted({provider for provider, _, _ in work})
    parts: list[Entries] = []
    for row, provider in enumerate(providers):
        for own, column, gpu_hours in work:
            part = 1 - share if own == provider else -share
            parts.append(entries(row, column, part * gpu_hours))
    return rows_of("plan_share", [(provider,) for provider in providers], parts, upper=0.0)


def _replicas(sets: Sets, columns: Columns, number: int) -> tuple[Ints, Floats]:
    """Give the columns of a group, once each, and the GPU-hours that one of each takes."""
    position, column, up = replicas_at(sets, columns, number, np.arange(len(sets.periods)))
    once, place = np.unique(column, return_inverse=True)
    gpu_hours: Floats = np.zeros(len(once))
    np.add.at(gpu_hours, place, sets.groups[number].gpus * sets.hours[position] * up)
    return once, gpu_hours


def _gang(sets: Sets, columns: Columns, number: int) -> tuple[Ints, Floats]:
    option = sets.run_options[number]
    gpus = option.nodes * sets.machines[option.machine].gpus
    gpu_hours = gpus * option.slots_needed * _slot_h(sets)
    return columns.option_used.at(np.array([number])), np.array([gpu_hours])


def _slot_h(sets: Sets) -> float:
    return sets.periods[0].slot_h


def _cloud(sets: Sets, machine: int) -> str:
    return sets.case.machines[sets.machines[machine].key].cloud
