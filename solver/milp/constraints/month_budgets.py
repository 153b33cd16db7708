"""No part of the plan has more fall due in a month of the calendar than its budget."""

from collections.abc import Iterator
from datetime import timedelta

import numpy as np

from broker.domain.budget import Budget
from broker.domain.savings import COMMITMENT_STEP_USD, upfront_share
from solver.milp.listed import spent_by_work
from solver.milp.months import month_at, month_of_periods, rows_of_budget
from solver.milp.replica_data import brought_usd
from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Columns, Ints, replicas_at, soft_budgets


def month_budgets(sets: Sets, columns: Columns) -> Rows:
    """Keep what falls due in each month within its budget, beyond a soft one count what is over.

        Σ_{t in y} hours[t] · (Σ_m on_demand_usd_per_hour[m] · (on_demand_nodes[m,t]
                   − Σ_{r on m} covered_nodes[r,t]) + spot_usd_per_hour[m] · spot_nodes[m,t]
                   + Σ_{p ∈ active[m,t]} usd_per_hour[p] · committed_nodes[p]
                   + Σ_{s ∈ active[t]} 0.001 · (1 − upfront_share[s]) · plan_steps[s])
        + Σ_{p begins in y} upfront_usd[p] · committed_nodes[p]
        + Σ_{s begins in y} 0.001 · upfront_h[s] · plan_steps[s]
        + data[y] ≤ usd_per_calendar_month[n] + over_usd[n,y]    ∀ n by month, y ∈ months

    over machines of the budget's provider, if it names one. Commitments and promises begin with the
    horizon and capacity blocks with their window; blocks are due whole at once, and so is an
    upfront part, hours after the horizon included. data[y] is in budgets of the whole plan alone:
    keeping weights by the hour; bringing weights in the first month; a run's data set in the month
    of the first slot of its window, its result and storage in that of the last. For a team or
    workload, in place of all that, it is what its own work takes at list prices (`budgets`), and
    the data sets of its runs. A month has its whole budget, however little of it is in the horizon.
    Dollars on both sides; what is outside a smaller program is priced as for `budgets`.
    """
    months = month_of_periods(sets)
    keys, parts, upper = list[Key](), list[Entries](), list[float]()
    soft = {number: place for place, (number, _) in enumerate(soft_budgets(sets))}
    for number, budget in enumerate(sets.case.workloads.policy.budgets):
        if not budget.is_by_month:
            continue
        for month, column, usd in _spending(sets, columns, budget, months):
            if np.any(usd):
                parts.append(entries(len(keys) + month, column, usd))
        every = np.arange(rows_of_budget(sets, budget))
        if number in soft:
            over = columns.over_usd.at(soft[number], every)
            parts.append(entries(len(keys) + every, over, -1.0))
        keys.extend((number, int(month)) for month in every)
        upper.extend([float(budget.amount_usd)] * len(every))
    return rows_of("month_budgets", keys, parts, upper=np.array(upper))


_Due = Iterator[tuple[Ints | int, Ints, Floats | float]]
"""Months, columns, and the dollars of one unit of the column that fall due in the month."""


def _spending(sets: Sets, columns: Columns, budget: Budget, months: Ints) -> _Due:
    if budget.is_for_work:
        for period, column, usd in spent_by_work(sets, columns, budget):
            yield months[period], column, usd * sets.hours[period]
        yield from _data_sets(sets, columns, budget, months)
        return
    yield from _by_hour(sets, columns, budget, months)
    yield from _committed(sets, columns, budget, months)
    yield from _promised(sets, columns, budget, months)
    if budget.provider is None:
        yield from _weights(sets, columns, months)
        yield from _data_sets(sets, columns, budget, months)
        yield from _results(sets, columns, months)


def _by_hour(sets: Sets, columns: Columns, budget: Budget, months: Ints) -> _Due:
    every = np.arange(len(sets.periods))
    for number, machine in enumerate(sets.machines):
        for offer, nodes in (
            (machine.on_demand, columns.on_demand_nodes),
            (machine.spot, columns.spot_nodes),
        ):
            if offer is not None and budget.is_with(offer.provider):
                yield months, nodes.at(number, every), float(offer.usd_per_hour) * sets.hours
    for number, rate in enumerate(sets.plan_rates):
        rented = sets.machines[rate.machine].on_demand
        if rented is not None and budget.is_with(rented.provider):
            covered = columns.covered_nodes.at(number, every)
            yield months, covered, -float(rented.usd_per_hour) * sets.hours


def _committed(sets: Sets, columns: Columns, budget: Budget, months: Ints) -> _Due:
    horizon = sets.case.workloads.horizon
    for number, one in enumerate(sets.committed):
        if not budget.is_with(one.offer.provider):
            continue
        column = columns.committed_nodes.at(np.array([number]))
        begins_at = horizon.start if one.block is None else one.block.starts_at
        yield month_at(horizon, begins_at), column, one.upfront_usd_per_node
        if one.block is None:
            active = np.flatnonzero(one.active)
            usd = float(one.offer.usd_per_hour) * sets.hours[active]
            yield months[active], np.broadcast_to(column, len(active)), usd
            month, rest_h = _rest(sets, one.active, one.charged_h)
            yield month, column, float(one.offer.usd_per_hour) * rest_h


def _promised(sets: Sets, columns: Columns, budget: Budget, months: Ints) -> _Due:
    step = float(COMMITMENT_STEP_USD)
    offers = {rate.plan: rate.offer for rate in sets.plan_rates}
    for number, plan in enumerate(sets.plans):
        if budget.is_with(offers[number].provider):
            column = columns.plan_steps.at(np.array([number]))
            yield 0, column, step * plan.upfront_h
            active = np.flatnonzero(plan.active)
            usd = step * float(1 - upfront_share(offers[number]))
            yield months[active], np.broadcast_to(column, len(active)), usd * sets.hours[active]
            month, rest_h = _rest(sets, plan.active, plan.charged_h)
            yield month, column, usd * rest_h


def _rest(sets: Sets, active: tuple[bool, ...], charged_h: float) -> tuple[int, float]:
    """Give the month and the hours of a slot in which a term ends: no work is in it, yet it is due.

    There are none where the term ends with a slot, or after the horizon.
    """
    whole_h = float(sets.hours[np.array(active, dtype=bool)].sum())
    horizon = sets.case.workloads.horizon
    return month_at(horizon, horizon.start + timedelta(hours=whole_h)), charged_h - whole_h


def _weights(sets: Sets, columns: Columns, months: Ints) -> _Due:
    every = np.arange(len(sets.periods))
    for number, group in enumerate(sets.groups):
        rate = float(group.option.storage_usd_per_hour)
        if rate:
            period, column, up = replicas_at(sets, columns, number, every)
            yield months[period], column, rate * up * sets.hours[period]
        brought = brought_usd(sets, number)
        if brought.any():
            yield 0, columns.replicas.at(number, np.arange(len(brought))), brought
        elif columns.peak_replicas.size and group.option.egress_usd:
            peak = columns.peak_replicas.at(np.array([number]))
            yield 0, peak, float(group.option.egress_usd)


def _data_sets(sets: Sets, columns: Columns, budget: Budget, months: Ints) -> _Due:
    for number, option in enumerate(sets.run_options):
        run = sets.runs[option.run]
        if not budget.is_for_work or budget.covers(run.name, run.team):
            column = columns.option_used.at(np.array([number]))
            yield months[option.window[0]], column, float(option.option.egress_usd)


def _results(sets: Sets, columns: Columns, months: Ints) -> _Due:
    for number, option in enumerate(sets.run_options):
        usd = float(option.option.result_egress_usd + option.option.storage_usd)
        column = columns.option_used.at(np.array([number]))
        yield months[option.window[-1]], column, usd
