"""SkyPilot's rule: for each task the cheapest offer that fits it, by the hour.

Its optimizer takes, of the offers that have the accelerators a task asks for, the one with the
lowest hourly price; without an estimate of its time every task counts as an hour. A replica of a
service is a cluster of its own: here a node, in the layout that makes most of it. What may be on
spot is, where that costs less (SkyServe keeps the rest on demand); the number of replicas follows
the load. A run takes the option whose nodes cost least by the hour and still end in time, and
begins at once. The accelerators asked for are all of those on which the workload fits.
"""

import numpy as np
from peers_bench.by_the_hour import cheapest_by_the_hour
from peers_bench.market import Market
from peers_bench.ways import Wish


def skypilot(market: Market) -> Wish:
    """Take the cheapest offer for each task."""

    def nodes(kind: int) -> float:
        groups = market.firm(kind)
        at_least = min(map(market.node_usd_per_hour, groups))
        return min(
            float(np.ceil(market.needed(kind) / market.per_node(one)).max(initial=0.0))
            for one in groups
            if market.node_usd_per_hour(one) == at_least
        )

    return cheapest_by_the_hour(
        market,
        nodes,
        group_usd_per_hour=market.node_usd_per_hour,
        gang_usd_per_hour=market.gang_usd_per_hour,
    )
