"""Few kinds of replica serve one demand, and always the same ones."""

import numpy as np

from solver.milp.rows import Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def kind_limit(sets: Sets, columns: Columns) -> Rows:
    """Serve each demand by at least one kind of replica and at most as many as the policy allows.

        1 ≤ Σ_{c ∈ kinds[d]} kind_used[c] ≤ max_groups    ∀ d ∈ demands

    This is the stable fleet: kinds are kept for the horizon and scaled by period. Where pools may
    serve a demand, its prompts are one of their own, which needs no kind: see pools_together. Where
    the policy allows burst kinds, 0 stands for 1, as those may serve alone: see burst_limit.
    """
    keys = [(number,) for number in range(len(sets.demands))]
    demand = np.array([kind.demand for kind in sets.kinds], dtype=np.int64)
    used = columns.kind_used.at(np.arange(len(sets.kinds)))
    limit = float(sets.case.workloads.policy.max_groups)
    needs_none = bool(sets.burst_windows)
    least = np.array([0.0 if needs_none or one.is_prompts else 1.0 for one in sets.demands])
    return rows_of("kind_limit", keys, [entries(demand, used, 1.0)], lower=least, upper=limit)
