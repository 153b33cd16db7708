"""How much of a kind's blocks is firm where spot costs less, and how much must be."""

import numpy as np

from solver.milp.sets import Floats, Kind

_SLACK = 1e-6


def firm_shares(kind: Kind, hours: Floats, firm_usd: Floats, spot_usd: Floats) -> Floats:
    """Give the part of each block that is firm: what must be, where it costs least beside spot."""
    up = kind.up()
    share = np.where(firm_usd <= spot_usd, 1.0, 0.0)
    weight = up @ hours
    missing = float(np.array(kind.firm_alone) @ hours - share @ weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        dearer = np.where(weight > 0, (firm_usd - spot_usd) / weight, np.inf)
    for block in np.argsort(dearer, kind="stable"):
        if missing <= _SLACK:
            break
        if share[block] < 1 and weight[block] > 0:
            share[block] = min(1.0, missing / weight[block])
            missing -= share[block] * weight[block]
    return np.asarray(share)
