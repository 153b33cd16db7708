"""What several plans of one program use, taken together: a small program with many good plans."""

from collections.abc import Sequence

import numpy as np

from solver.milp.program import Program
from solver.milp.restrict import restricted
from solver.milp.sets import Floats, Sets

_IS_USED = 0.5


def merged(program: Program, plans: Sequence[Floats]) -> Sets:
    """Keep the kinds and run options that any of some plans uses, on the machines that any uses.

    Of a single plan, the kinds are kept on all their machines.
    """
    sets, columns = program.sets, program.columns
    used = np.max(np.stack(plans), axis=0) > _IS_USED
    kinds = columns.kind_used.of(used)
    options = np.flatnonzero(columns.option_used.of(used)).tolist()
    groups = np.flatnonzero(columns.replicas.of(used).any(axis=1)).tolist()
    machines = {sets.groups[one].machine for one in groups}
    machines |= {sets.run_options[one].machine for one in options}
    if len(plans) == 1:
        machines = set(range(len(sets.machines)))
    kept = [
        number
        for number, one in enumerate(sets.groups)
        if kinds[one.kind] and one.machine in machines
    ]
    return restricted(sets, kept, options)
