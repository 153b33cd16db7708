"""What is decided before a scenario comes is the same in all of them."""

import numpy as np

from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.scenarios.joint import Joint, decisions_of


def same_decisions(joint: Joint) -> Rows:
    """Commit to the same, and put each run on the same nodes at the same time.

        committed_nodes[p]^s = committed_nodes[p]^0    ∀ commitments p
        plan_steps[v]^s = plan_steps[v]^0              ∀ savings plans v
        option_used[a]^s = option_used[a]^0            ∀ run options a
        gang_up[a,t]^s = gang_up[a,t]^0                ∀ a, t ∈ window[a]
        ∀ scenarios s but the forecast, which is 0

    What one of the two programs does not have is 0 in the other.
    """
    keys: list[Key] = []
    parts: list[Entries] = []
    first = decisions_of(joint.scenarios[0].program)
    for number, scenario in enumerate(joint.scenarios[1:], start=1):
        own = decisions_of(scenario.program)
        for name in dict.fromkeys([*first, *own]):
            for columns, start, sign in ((first, 0, 1.0), (own, scenario.start, -1.0)):
                if name in columns:
                    column = np.array([columns[name] + start])
                    parts.append(entries(len(keys), column, sign))
            keys.append((number, *name))
    return rows_of("same_decisions", keys, parts, lower=0.0, upper=0.0)
