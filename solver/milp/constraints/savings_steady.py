"""A savings plan that outlives the horizon is for what services keep up, machine by machine."""

import numpy as np

from broker.domain.quantities import MICRO_USD
from broker.domain.savings import COMMITMENT_STEP_USD
from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def savings_steady(sets: Sets, columns: Columns) -> Rows:
    """Promise beyond the horizon only what nodes that services keep up take of it.

        0.001 · plan_steps[s] < Σ_{r ∈ plan_rates[s]} usd_per_hour[r] · steady_nodes[r] + 0.001
        ∀ savings plans s that outlive the horizon, all where commitments must be used

    steady_nodes[r] are whole nodes of a machine that services keep up for the share of the time at
    which the rate breaks even, or for `min_commitment_utilization` of it, whichever is more:
    `steady_level` counts them like nodes committed to that machine.
    The promise may be rounded up to the next step that is sold: 0.001 more, but 0 where that could
    leave less of it used than `min_commitment_utilization`. Dollars an hour on both sides.
    """
    keys: list[Key] = []
    parts: list[Entries] = []
    upper: list[float] = []
    for number, plan in enumerate(sets.plans):
        if not plan.needs_steady:
            continue
        row, step = len(keys), float(COMMITMENT_STEP_USD)
        parts.append(entries(row, columns.plan_steps.at(np.array([number])), step))
        parts.extend(
            entries(row, columns.steady_nodes.at(np.array([at])), -rate.usd_per_hour)
            for at, rate in enumerate(sets.plan_rates)
            if rate.plan == number
        )
        keys.append((number,))
        upper.append(_rounded_up(sets, number))
    return rows_of("savings_steady", keys, parts, upper=np.array(upper))


def _rounded_up(sets: Sets, plan: int) -> float:
    """Give what may be promised beyond what steady nodes take, one at least."""
    least = sets.case.workloads.policy.coverage.min_commitment_utilization
    step = float(COMMITMENT_STEP_USD)
    is_used = all(
        one.steady_share * one.usd_per_hour >= least * (one.usd_per_hour + step)
        for one in sets.plan_rates
        if one.plan == plan
    )
    return float(COMMITMENT_STEP_USD - MICRO_USD) if is_used else 0.0
