"""What budgets of the work itself add to the price of replicas and gangs, by a program's duals.

Budgets of teams and workloads charge their work at list prices, whatever nodes are paid. Where such
a budget binds, each GPU-hour of that work is dearer by its part of the budget.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from broker.domain.budget import Budget
from solver.milp.listed import list_prices
from solver.milp.months import month_of_periods, rows_of_budget
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Ints


@dataclass(frozen=True, slots=True)
class WorkPrices:
    """Dollars of each dollar at list prices, by demand or run and period, and of egress by run."""

    demands: Floats
    runs: Floats
    egress: Floats
    listed: Mapping[tuple[str, bool], float]

    def group_usd(self, sets: Sets, groups: Ints, up: Floats) -> Floats:
        """Price each block on each group, group by block."""
        usd = np.zeros((len(groups), up.shape[0]))
        for place, number in enumerate(groups.tolist()):
            group = sets.groups[number]
            a_gpu_hour = self.listed.get((group.option.machine, group.on_spot), 0.0)
            by_period = self.demands[group.demand] * sets.hours * a_gpu_hour
            usd[place] = group.gpus * (up @ by_period)
        return usd

    def option_usd(self, sets: Sets, number: int) -> tuple[Floats, float]:
        """Price a run option: the gang in each period of its window, and the option once."""
        option = sets.run_options[number]
        side = (option.option.machine, option.option.candidate.on_spot)
        gpus = option.nodes * sets.machines[option.machine].gpus
        window = list(option.window)
        by_period = self.runs[option.run, window] * sets.hours[window]
        once = float(self.egress[option.run]) * float(option.option.egress_usd)
        return gpus * self.listed.get(side, 0.0) * by_period, once


def work_prices(sets: Sets, duals: Floats, by_month: Floats) -> WorkPrices | None:
    """Read the prices off the duals of the rows of budgets; None where no work has a budget.

    The rows are those of the policy, in the same periods, whatever a program is restricted to.
    `duals` are those of `budgets`, `by_month` those of `month_budgets`.
    """
    policy, periods = sets.case.workloads.policy, len(sets.periods)
    if not any(one.is_for_work for one in policy.budgets):
        return None
    prices = WorkPrices(
        np.zeros((len(sets.demands), periods)),
        np.zeros((len(sets.runs), periods)),
        np.zeros(len(sets.runs)),
        list_prices(sets),
    )
    left = {False: -duals, True: -by_month}
    for budget in policy.budgets:
        size, is_by_month = rows_of_budget(sets, budget), budget.is_by_month
        usd, left[is_by_month] = left[is_by_month][:size], left[is_by_month][size:]
        if budget.is_for_work:
            _add(prices, sets, budget, _by_period(sets, budget, usd))
    return prices


def _add(prices: WorkPrices, sets: Sets, budget: Budget, by_period: Floats) -> None:
    first = {one.run: one.window[0] for one in sets.run_options}
    for number, demand in enumerate(sets.demands):
        if budget.covers(demand.service.name, demand.service.team):
            prices.demands[number] += by_period
    for number, run in enumerate(sets.runs):
        if budget.covers(run.name, run.team):
            prices.runs[number] += by_period
            if not budget.is_hourly and number in first:
                prices.egress[number] += by_period[first[number]]


def _by_period(sets: Sets, budget: Budget, usd: Floats) -> Floats:
    """Give what a dollar of each period costs more, by what one of each row does."""
    if budget.is_hourly:
        return usd / sets.hours
    return usd[month_of_periods(sets)] if budget.is_by_month else np.full(len(sets.hours), usd[0])
