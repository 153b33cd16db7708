"""SkyPilot's rule: for each task the cheapest offer that fits it, by the hour.

Its optimizer takes, of the offers that have the accelerators a task asks for, the one with the
lowest hourly price; without an estimate of its time every task counts as an hour. A replica of a
service is a cluster of its own: here a node, in the layout that makes most of it. What may be on
spot is, where that costs less (SkyServe keeps the rest on demand); the number of replicas follows
the load. A run takes the option whose nodes cost least by the hour and still end in time, and
begins at once. The accelerators asked for are all of those on which the workload fits.
"""

import numpy as np
from peers_bench.market import Market
from peers_bench.ways import Part, Way, Wish


def skypilot(market: Market) -> Wish:
    """Take the cheapest offer for each task."""
    demands = tuple(_ranked(market, kinds) for kinds in market.kinds.values())
    runs = tuple(
        tuple(sorted(options, key=lambda one: (market.gang_usd_per_hour(one), one)))
        for options in market.options.values()
    )
    own = sum(market.part_usd(ways[0][0]) for ways in demands if ways)
    return Wish(own + market.runs_usd(runs), demands, runs)


def _ranked(market: Market, kinds: list[int]) -> tuple[Way, ...]:
    sets = market.sets

    def rank(kind: int) -> tuple[float, float, int]:
        groups = market.firm(kind)
        at_least = min(map(market.node_usd_per_hour, groups))
        nodes = min(
            float(np.ceil(market.needed(kind) / market.per_node(one)).max(initial=0.0))
            for one in groups
            if market.node_usd_per_hour(one) == at_least
        )
        return at_least, nodes, kind

    return tuple(
        (
            Part(
                kind,
                (1.0,) * len(sets.kinds[kind].rates),
                tuple(
                    sorted(market.firm(kind), key=lambda one: (market.node_usd_per_hour(one), one))
                ),
                market.spot_if_cheaper(kind),
            ),
        )
        for kind in sorted(kinds, key=rank)
    )
