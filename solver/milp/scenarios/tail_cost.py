"""What the worst courses cost on their mean: the conditional value at risk."""

import numpy as np

from solver.milp.objective.terms import TermCost
from solver.milp.scenarios.joint import Joint


def tail_cost(joint: Joint) -> TermCost:
    """Charge the mean cost of the worst courses, those of a probability of 1 − alpha together.

        weight · (value_at_risk + Σ_s probability[s] / (1 − alpha) · beyond_usd[s])

    At its least over value_at_risk that is the mean (Rockafellar and Uryasev, 2000). Only for the
    measure `cvar`.
    """
    if not joint.beyond_usd.size:
        return TermCost("tail_cost", np.zeros(0, dtype=np.int64), np.zeros(0))
    beyond = np.array([one.probability for one in joint.scenarios])
    beyond = joint.tail_weight * beyond / (1 - float(joint.robust.alpha))
    columns = (joint.value_at_risk.at(np.array([0])), joint.beyond_usd.at(np.arange(len(beyond))))
    return TermCost(
        "tail_cost", np.concatenate(columns), np.concatenate([[joint.tail_weight], beyond])
    )
