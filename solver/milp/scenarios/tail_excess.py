"""What a scenario costs beyond the value at risk."""

import numpy as np

from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.scenarios.joint import Joint


def tail_excess(joint: Joint) -> Rows:
    """Count what each scenario costs beyond what all but the worst courses cost.

        beyond_usd[s] ≥ Σ terms^s − value_at_risk    ∀ scenarios s

    Only for the measure `cvar`. Dollars on both sides.
    """
    keys: list[Key] = []
    parts: list[Entries] = []
    for number, scenario in enumerate(joint.scenarios if joint.beyond_usd.size else ()):
        cost = scenario.program.cost
        charged = np.flatnonzero(cost)
        parts.append(entries(number, charged + scenario.start, -cost[charged]))
        parts.append(entries(number, joint.beyond_usd.at(np.array([number])), 1.0))
        parts.append(entries(number, joint.value_at_risk.at(np.array([0])), 1.0))
        keys.append((number,))
    return rows_of("tail_excess", keys, parts, lower=0.0)
