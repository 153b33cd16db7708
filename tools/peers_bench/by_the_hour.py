"""What costs least by the hour: greedy and SkyPilot differ in the price that they look at."""

from collections.abc import Callable

from peers_bench.market import Market
from peers_bench.ways import Part, Way, Wish


def cheapest_by_the_hour(
    market: Market,
    size: Callable[[int], float],
    *,
    group_usd_per_hour: Callable[[int], float],
    gang_usd_per_hour: Callable[[int], float],
) -> Wish:
    """Rank kinds by their cheapest group, then by size; groups and options of runs by price.

    What may be on spot is, where that costs less.
    """

    def rank(kind: int) -> tuple[float, float, int]:
        return min(map(group_usd_per_hour, market.firm(kind))), size(kind), kind

    def way(kind: int) -> Way:
        groups = sorted(market.firm(kind), key=lambda one: (group_usd_per_hour(one), one))
        whole = (1.0,) * len(market.sets.kinds[kind].rates)
        return (Part(kind, whole, tuple(groups), market.spot_if_cheaper(kind)),)

    demands = tuple(
        tuple(way(kind) for kind in sorted(kinds, key=rank)) for kinds in market.kinds.values()
    )
    runs = tuple(
        tuple(sorted(options, key=lambda one: (gang_usd_per_hour(one), one)))
        for options in market.options.values()
    )
    own = sum(market.part_usd(ways[0][0]) for ways in demands if ways)
    return Wish(own + market.runs_usd(runs), demands, runs)
