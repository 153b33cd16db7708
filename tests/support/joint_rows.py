"""Rows of a joint program as text."""

import numpy as np

from solver.milp.dump import column_names
from solver.milp.rows import Rows
from solver.milp.scenarios.joint import Joint


def joint_lines(joint: Joint, rows: Rows) -> list[str]:
    """Write rows as text; columns of the forecast are f., of the scenario s."""
    names = [
        f"{mark}.{name}"
        for mark, one in zip("fs", joint.scenarios, strict=True)
        for name in column_names(one.program)
    ]
    names += [f"chosen[{number}]" for number in range(joint.chosen.size)]
    names += ["at_risk", *(f"beyond[{number}]" for number in range(joint.beyond_usd.size))]
    lines = []
    for number, key in enumerate(rows.keys):
        places = np.flatnonzero(rows.entries.row == number)
        terms = " ".join(
            f"{rows.entries.coefficient[at]:+.6g} {names[rows.entries.column[at]]}" for at in places
        )
        low, high = rows.lower[number], rows.upper[number]
        name = ",".join(str(part) for part in key[:2])
        lines += [f"{rows.family}[{name}] from {low:g} to {high:g}", f"    {terms}"]
    return lines
