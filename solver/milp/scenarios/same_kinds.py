"""The same few kinds of replica serve a demand, whatever scenario comes."""

import numpy as np

from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.scenarios.joint import Joint, choices_of


def same_kinds(joint: Joint) -> Rows:
    """Use in each scenario only kinds of the configurations that are chosen for all of them.

        used   kind_used[c]^s ≤ chosen[configuration of c]    ∀ scenarios s, c ∈ kinds
        most   Σ chosen[c] ≤ max_groups    ∀ demands, c for it

    Where machines give other rates the same configuration is another kind, so the machines that it
    sits on may answer to the scenario. Where pools may serve a demand, its prompts are one of their
    own: one configuration answers, and one at most works on prompts alone. As a pool's has a class,
    both pools stay in one place.
    """
    keys: list[Key] = []
    parts: list[Entries] = []
    place = {choice: number for number, choice in enumerate(joint.choices)}
    for number, scenario in enumerate(joint.scenarios):
        program = scenario.program
        for kind, choice in enumerate(choices_of(program.sets)):
            used = program.columns.kind_used.at(np.array([kind])) + scenario.start
            chosen = joint.chosen.at(np.array([place[choice]]))
            parts += [entries(len(keys), used, 1.0), entries(len(keys), chosen, -1.0)]
            keys.append(("used", number, kind))
    used_rows = len(keys)
    for demand in dict.fromkeys(choice[:3] for choice in joint.choices):
        own = [number for number, choice in enumerate(joint.choices) if choice[:3] == demand]
        parts.append(entries(len(keys), joint.chosen.at(np.array(own)), 1.0))
        keys.append(("most", *demand))
    most = joint.scenarios[0].program.sets.case.workloads.policy.max_groups
    upper = np.array([*[0.0] * used_rows, *[float(most)] * (len(keys) - used_rows)])
    return rows_of("same_kinds", keys, parts, upper=upper)
