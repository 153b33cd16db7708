"""No part of the plan costs more than its budget, in all or in any hour."""

from collections.abc import Iterator

import numpy as np

from broker.domain.budget import Budget
from broker.domain.quantities import HOURS_PER_MONTH
from broker.domain.savings import COMMITMENT_STEP_USD
from solver.milp.listed import Spent, spent_by_work
from solver.milp.months import rows_of_budget
from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Floats, Sets
from solver.milp.spending import SPENDING
from solver.milp.variables import Columns, Ints, soft_budgets

_ROUNDING = 1e-9


def budgets(sets: Sets, columns: Columns) -> Rows:
    """Keep what each budget is for within it, and beyond a soft one count what is over.

        each hour  Σ_{m ∈ machines[n]} (on_demand_usd_per_hour[m] · (on_demand_nodes[m,t]
                   − Σ_{r on m} covered_nodes[r,t]) + spot_usd_per_hour[m] · spot_nodes[m,t]
                   + Σ_{p ∈ active[m,t]} usd_per_hour[p] · committed_nodes[p])
                   + Σ_{s ∈ active[t]} 0.001 · plan_steps[s]
                   ≤ usd_per_hour[n] + over_usd[n,t] / hours[t]    ∀ n, t ∈ periods
        in all     Σ of the same · hours[t], over the periods ≤ usd[n] + over_usd[n]    ∀ n

    with usd_per_hour[p] its upfront part included, and the hours of a block after the horizon
    charged, too; of a term that ends inside a slot, its part of that. A budget for the whole plan,
    where not for each hour, takes all terms. For a team or workload it is its work at list prices:

        Σ_{g ∈ groups[n]} list[m,g] · gpus[g] / G[m] · replicas[g,t]
        + Σ_{a ∈ options[n]} list[m,a] · nodes[a] · gang_up[a,t]

    and in all egress_usd[a] · option_used[a] beside it: a data set's way to its run, not results on
    their way back, weights, or what is kept. over_usd[n] only for soft budgets; those by month of
    the calendar are month_budgets. Dollars an hour, or dollars, on both sides.

    Machines, groups and options outside a smaller program only add to these rows, which bind from
    above: priced without the rows' duals they are priced too low, never too high. Groups and
    options get theirs all the same (work_prices), as some penalties come from inside.
    """
    keys, parts, upper = list[Key](), list[Entries](), list[float]()
    soft = {number: place for place, (number, _) in enumerate(soft_budgets(sets))}
    for number, budget in _given(sets):
        periods = np.arange(rows_of_budget(sets, budget))
        for period, column, usd in _spending(sets, columns, budget):
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


def _given(sets: Sets) -> Iterator[tuple[int, Budget]]:
    budgets = enumerate(sets.case.workloads.policy.budgets)
    return ((number, one) for number, one in budgets if not one.is_by_month)


def limit_usd(sets: Sets, budget: Budget) -> float:
    """Give the dollars of a budget: an hour's, or those of the horizon."""
    if budget.usd_per_month is None:
        return float(budget.amount_usd)
    return float(budget.usd_per_month) * sets.case.workloads.horizon.hours / float(HOURS_PER_MONTH)


def _hours(sets: Sets, budget: Budget) -> Floats:
    return sets.hours if budget.is_hourly else np.ones(1)


def _spending(sets: Sets, columns: Columns, budget: Budget) -> Spent:
    if budget.is_for_work:
        yield from spent_by_work(sets, columns, budget)
    elif budget.is_hourly or budget.provider is not None:
        yield from _by_node(sets, columns, budget)


def _by_node(sets: Sets, columns: Columns, budget: Budget) -> Spent:
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
            paid_h = one.active_h if one.block else one.charged_h
            held, part = _held(sets, one.active, paid_h)
            column = np.full(len(held), columns.committed_nodes.at(number))
            yield held, column, float(one.offer.effective_usd_per_hour) * part
    yield from _promised(sets, columns, budget)


def _promised(sets: Sets, columns: Columns, budget: Budget) -> Spent:
    """Give what savings plans promise, and take off what they cover, as that is paid by them."""
    everywhere = np.arange(len(sets.periods))
    offers = {rate.plan: rate.offer for rate in sets.plan_rates}
    for number, plan in enumerate(sets.plans):
        if budget.is_with(offers[number].provider):
            held, part = _held(sets, plan.active, plan.charged_h)
            column = np.full(len(held), columns.plan_steps.at(number))
            yield held, column, float(COMMITMENT_STEP_USD) * part
    for number, rate in enumerate(sets.plan_rates):
        rented = sets.machines[rate.machine].on_demand
        if rented is not None and budget.is_with(rented.provider):
            usd = np.full(len(everywhere), -float(rented.usd_per_hour))
            yield everywhere, columns.covered_nodes.at(number, everywhere), usd


def _held(sets: Sets, active: tuple[bool, ...], paid_h: float) -> tuple[Ints, Floats]:
    """List the periods in which something is paid for, and the part of them.

    That is less than 1 where a term ends inside a slot, which is a period by itself.
    """
    whole = np.flatnonzero(active)
    rest_h = paid_h - float(sets.hours[whole].sum())
    if rest_h <= _ROUNDING:
        return whole, np.ones(len(whole))
    slots = sum(len(sets.periods[period].slots) for period in whole)
    ends_in = next(at for at, period in enumerate(sets.periods) if slots in period.slots)
    parts = np.append(np.ones(len(whole)), rest_h / sets.hours[ends_in])
    return np.append(whole, ends_in), parts


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
        later = committed.usd_per_node - inside if committed.block else 0.0
        if later and budget.is_with(committed.offer.provider):
            yield entries(row, columns.committed_nodes.at(np.array([number])), later)
