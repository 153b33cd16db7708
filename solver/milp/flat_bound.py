"""A bound before any program is solved: all at the cheapest way to have each GPU."""

import numpy as np

from solver.milp.market import Market
from solver.milp.relax import Relaxed
from solver.milp.sets import Floats
from solver.milp.variables import Ints


def flat_bound(market: Market) -> Relaxed:
    """Bound all at the cheapest way to have each GPU, which no way to have it costs less than."""
    sets, at_flat = market.sets, market.at_flat_prices()
    ways = market.pairs.ways(at_flat.kind_usd)
    runs = np.array([option.run for option in sets.run_options], dtype=np.int64)
    kinds_usd, kinds_more = _beyond_least(market.pairs.owner, ways.usd)
    runs_usd, runs_more = _beyond_least(runs, at_flat.option_usd)
    nothing = np.zeros(0)
    return Relaxed(
        bound_usd=kinds_usd + runs_usd,
        kind_value=np.zeros(len(sets.kinds)),
        kind_penalty_usd=kinds_more,
        option_value=np.zeros(len(runs)),
        option_penalty_usd=runs_more,
        row_usd=nothing,
        reduced_usd=nothing,
        values=nothing,
        group_penalty_usd=at_flat.beside_usd,
        alone_penalty_usd=runs_more,
    )


def _beyond_least(owner: Ints, usd: Floats) -> tuple[float, Floats]:
    """Add up the least of each owner's, and say what each one costs beyond that."""
    if not len(owner):
        return 0.0, np.zeros(0)
    least = np.full(int(owner.max()) + 1, np.inf)
    np.minimum.at(least, owner, usd)
    least[~np.isfinite(least)] = 0.0
    return float(least[np.unique(owner)].sum()), usd - least[owner]
