"""A savings plan pays for no more an hour than is promised."""

import numpy as np

from broker.domain.savings import COMMITMENT_STEP_USD
from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def savings_promise(sets: Sets, columns: Columns) -> Rows:
    """Keep what a savings plan covers, at its own rates, within what is promised an hour.

        Σ_{r ∈ plan_rates[s]} usd_per_hour[r] · covered_nodes[r,t] ≤ 0.001 · plan_steps[s]
        ∀ savings plans s, t ∈ periods of its term

    What is not used of an hour's promise is lost. Dollars an hour on both sides.
    """
    keys: list[Key] = []
    parts: list[Entries] = []
    for number, plan in enumerate(sets.plans):
        active = np.flatnonzero(np.array(plan.active, dtype=bool))
        row = np.arange(len(active)) + len(keys)
        parts.extend(
            entries(row, columns.covered_nodes.at(at, active), rate.usd_per_hour)
            for at, rate in enumerate(sets.plan_rates)
            if rate.plan == number
        )
        parts.append(entries(row, columns.plan_steps.at(number), -float(COMMITMENT_STEP_USD)))
        keys.extend((number, int(period)) for period in active)
    return rows_of("savings_promise", keys, parts, upper=0.0)
