"""What budgets of the work itself add to the price of replicas and gangs, by a program's duals.

Budgets of teams and workloads charge their work at list prices, whatever nodes are paid. Where such
a budget binds, each GPU-hour of that work is dearer by its part of the budget.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from solver.milp.constraints.budgets import list_prices
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


def work_prices(sets: Sets, duals: Floats) -> WorkPrices | None:
    """Read the prices off the duals of the rows of budgets; None where no work has a budget.

    The rows are those of the policy, in the same periods, whatever a program is restricted to.
    """
    policy, periods = sets.case.workloads.policy, len(sets.periods)
    if not any(one.is_for_work for one in policy.budgets):
        return None
    demands = np.zeros((len(sets.demands), periods))
    runs, egress = np.zeros((len(sets.runs), periods)), np.zeros(len(sets.runs))
    row = 0
    for budget in policy.budgets:
        size = periods if budget.is_hourly else 1
        usd = -duals[row : row + size]
        row += size
        if not budget.is_for_work:
            continue
        by_period = usd / sets.hours if budget.is_hourly else np.full(periods, usd[0])
        for number, demand in enumerate(sets.demands):
            if budget.covers(demand.service.name, demand.service.team):
                demands[number] += by_period
        for number, run in enumerate(sets.runs):
            if budget.covers(run.name, run.team):
                runs[number] += by_period
                egress[number] += 0.0 if budget.is_hourly else usd[0]
    return WorkPrices(demands, runs, egress, list_prices(sets))
