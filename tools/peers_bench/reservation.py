"""Static reservation: 70 % of the peak is reserved, the rest is rented by the hour.

Each service takes the machine on which that costs least, at the lowest price of a commitment that
the policy allows (all on demand where there is none); each run the option that costs least in all,
rented. How many nodes are reserved does not look at how long they are busy.
"""

import math
from functools import partial

import numpy as np
from peers_bench.committing import cheapest_commitment
from peers_bench.market import Market
from peers_bench.ways import Part, Way, Wish

from solver.milp.sets import Floats

RESERVED_SHARE = 0.7


def reservation(market: Market) -> Wish:
    """Reserve a part of the peak, rent the rest."""
    demands = tuple(_ranked(market, kinds) for kinds in market.kinds.values())
    runs = market.cheapest_runs()
    own = sum(_alone_usd(market, ways[0][0].groups[0]) for ways in demands if ways)
    return Wish(
        own + market.runs_usd(runs),
        demands,
        runs,
        reserved_share=RESERVED_SHARE,
        usd_of=partial(_usd, market),
    )


def reserved_nodes(peak: float) -> int:
    """Count the nodes that are reserved of a peak."""
    return math.ceil(RESERVED_SHARE * peak - 1e-9)


def _ranked(market: Market, kinds: list[int]) -> tuple[Way, ...]:
    ways = []
    for kind in kinds:
        groups = sorted(market.firm(kind), key=lambda one: (_alone_usd(market, one), one))
        ways.append((Part(kind, (1.0,) * len(market.sets.kinds[kind].rates), tuple(groups)),))
    return tuple(sorted(ways, key=lambda way: (_alone_usd(market, way[0].groups[0]), way[0].kind)))


def _alone_usd(market: Market, group: int) -> float:
    return _usd(market, group, market.needed(market.sets.groups[group].kind))


def _usd(market: Market, group: int, replicas: Floats) -> float:
    """Give what replicas cost on a group, reserved and rented."""
    sets = market.sets
    nodes = market.nodes(group, replicas)
    found = cheapest_commitment(sets, market.machine(group))
    held = reserved_nodes(float(nodes.max(initial=0.0))) if found is not None else 0
    over = float(np.maximum(nodes - held, 0.0) @ sets.hours)
    held_usd = held * sets.committed[found].usd_per_node if found is not None else 0.0
    return held_usd + over * market.node_usd_per_hour(group)
