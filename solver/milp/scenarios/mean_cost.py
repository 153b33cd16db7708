"""What a plan costs on the mean of all scenarios."""

import numpy as np

from solver.milp.objective.terms import TermCost
from solver.milp.scenarios.joint import Joint


def mean_cost(joint: Joint) -> TermCost:
    """Charge each scenario's terms by its probability, and what all share once by that.

        (1 − weight) · Σ_s probability[s] · Σ terms^s

    with weight 0 for the measure `mean`. A commitment costs the same in every scenario, and the
    probabilities add up to 1, so it counts once.
    """
    column, usd = [], []
    for scenario in joint.scenarios:
        cost = scenario.program.cost * scenario.probability * (1 - joint.tail_weight)
        charged = np.flatnonzero(cost)
        column.append(charged + scenario.start)
        usd.append(cost[charged])
    return TermCost("mean_cost", np.concatenate(column), np.concatenate(usd))
