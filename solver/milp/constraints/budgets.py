"""No part of the plan costs more than its budget, in all or in any hour."""

from collections.abc import Iterator, Mapping

import numpy as np

from broker.domain.budget import Budget
from broker.domain.list_price import list_usd_per_hour
from broker.domain.quantities import HOURS_PER_MONTH
from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Floats, Sets
from solver.milp.spending import SPENDING
from solver.milp.variables import Columns, Ints, replicas_at, soft_budgets

_Listed = Mapping[tuple[str, bool], float]


def budgets(sets: Sets, columns: Columns) -> Rows:
    """Keep what each budget is for within it, and beyond a soft one count what is over.

        each hour  Σ_{m ∈ machines[n]} (on_demand_usd_per_hour[m] · on_demand_nodes[m,t]
                   + spot_usd_per_hour[m] · spot_nodes[m,t]
                   + Σ_{p ∈ active[m,t]} usd_per_hour[p] · committed_nodes[p])
                   ≤ usd_per_hour[n] + over_usd[n,t] / hours[t]    ∀ n, t ∈ periods
        in all     Σ of the same · hours[t], over the periods ≤ usd[n] + over_usd[n]    ∀ n

    with usd_per_hour[p] its upfront part included, and the hours of a block after the horizon
    charged, too. A budget for the whole plan takes all terms, egress and storage among them, where
    it is not for each hour. For a team or workload it is what its own work takes, at list prices:

        Σ_{g ∈ groups[n]} list[m,g] · gpus[g] / G[m] · replicas[g,t]
        + Σ_{a ∈ options[n]} list[m,a] · nodes[a] · gang_up[a,t]

    and in all egress_usd[a] · option_used[a] beside it: the way of a data set to its run, but
    neither results on their way back, nor weights, nor what is kept. over_usd[n] only for soft
    budgets. Dollars an hour, or dollars, on both sides.

    Machines, groups and options outside a smaller program only add to these rows, which bind from
    above: priced without the rows' duals they are priced too low, never too high. Groups and
    options get theirs all the same (work_prices), as some penalties come from inside.
    """
    listed = list_prices(sets)
    keys, parts, upper = list[Key](), list[Entries](), list[float]()
    soft = {number: place for place, (number, _) in enumerate(soft_budgets(sets))}
    for number, budget in enumerate(sets.case.workloads.policy.budgets):
        periods = np.arange(len(sets.periods) if budget.is_hourly else 1)
        for period, column, usd in _spending(sets, columns, budget, listed):
            rows = period if budget.is_hourly else np.zeros_like(period)
            hours = 1.0 if budget.is_hourly else sets.hours[period]
            parts.append(entries(len(keys) + rows, column, usd * hours))
        parts.extend(_once(sets, columns, budget, len(keys)))
        if number in soft:
            over = columns.over_usd.at(soft[number], periods)
            parts.append(entries(len(keys) + periods, over, -1 / _hours(sets, budget)))
        keys.extend((number, int(period)) for period in periods)
        upper.extend([limit_usd(sets, budget)] * len(periods))
    return rows_of("budgets", keys, parts, upper=np.array(upper))


def list_prices(sets: Sets) -> _Listed:
    """Give the list price of a GPU-hour by machine, and whether on spot."""
    gpus = {machine.key: machine.gpus for machine in sets.machines}
    return {
        (machine, on_spot): float(usd) / gpus[machine]
        for (machine, on_spot), usd in list_usd_per_hour(sets.case.offers).items()
        if machine in gpus
    }


def limit_usd(sets: Sets, budget: Budget) -> float:
    """Give the dollars of a budget: an hour's, or those of the horizon."""
    if budget.usd_per_month is None:
        return float(budget.amount_usd)
    return float(budget.usd_per_month) * sets.case.workloads.horizon.hours / float(HOURS_PER_MONTH)


def _hours(sets: Sets, budget: Budget) -> Floats:
    return sets.hours if budget.is_hourly else np.ones(1)


_Spent = Iterator[tuple[Ints, Ints, Floats]]
"""Periods, columns, and the dollars that one unit of the column is in an hour of the period."""


def _spending(sets: Sets, columns: Columns, budget: Budget, listed: _Listed) -> _Spent:
    if budget.is_for_work:
        yield from _by_work(sets, columns, budget, listed)
    elif budget.is_hourly or budget.provider is not None:
        yield from _by_node(sets, columns, budget)


def _by_node(sets: Sets, columns: Columns, budget: Budget) -> _Spent:
    everywhere = np.arange(len(sets.periods))
    for number, machine in enumerate(sets.machines):
        for offer, nodes in (
            (machine.on_demand, columns.on_demand_nodes),
            (machine.spot, columns.spot_nodes),
        ):
            if offer is not None and budget.is_with(offer.provider):
                usd = np.full(len(everywhere), float(offer.usd_per_hour))
                yield everywhere, nodes.at(number, everywhere), usd
    for number, one in enumerate(sets.committed):
        if budget.is_with(one.offer.provider):
            active = np.flatnonzero(one.active)
            column = np.full(len(active), columns.committed_nodes.at(number))
            usd = np.full(len(active), float(one.offer.effective_usd_per_hour))
            yield active, column, usd


def _by_work(sets: Sets, columns: Columns, budget: Budget, listed: _Listed) -> _Spent:
    everywhere = np.arange(len(sets.periods))
    for number, group in enumerate(sets.groups):
        service = sets.demands[group.demand].service
        if budget.covers(service.name, service.team):
            usd = listed.get((group.option.machine, group.on_spot), 0.0) * group.gpus
            position, column, up = replicas_at(sets, columns, number, everywhere)
            yield position, column, usd * up
    for number, option in enumerate(sets.run_options):
        run = sets.runs[option.run]
        if budget.covers(run.name, run.team):
            machine, on_spot = option.option.machine, option.option.candidate.on_spot
            gpus = option.nodes * sets.machines[option.machine].gpus
            window = np.array(option.window, dtype=np.int64)
            usd = listed.get((machine, on_spot), 0.0) * gpus
            yield window, columns.gang_up.at(number, window), np.full(len(window), usd)


def _once(sets: Sets, columns: Columns, budget: Budget, row: int) -> Iterator[Entries]:
    """Give what is paid once: in no hour's budget, and in a provider's only blocks' later hours."""
    if budget.is_hourly:
        return
    if budget.is_for_work:
        yield from _egress(sets, columns, budget, row)
    elif budget.provider is None:
        for term in SPENDING:
            one = term(sets, columns)
            yield entries(row, one.column, one.usd)
    else:
        yield from _after_the_horizon(sets, columns, budget, row)


def _egress(sets: Sets, columns: Columns, budget: Budget, row: int) -> Iterator[Entries]:
    for number, option in enumerate(sets.run_options):
        run = sets.runs[option.run]
        if budget.covers(run.name, run.team):
            egress = columns.option_used.at(np.array([number]))
            yield entries(row, egress, float(option.option.egress_usd))


def _after_the_horizon(sets: Sets, columns: Columns, budget: Budget, row: int) -> Iterator[Entries]:
    for number, committed in enumerate(sets.committed):
        inside = float(committed.offer.effective_usd_per_hour) * committed.active_h
        later = committed.usd_per_node - inside
        if later and budget.is_with(committed.offer.provider):
            yield entries(row, columns.committed_nodes.at(np.array([number])), later)
