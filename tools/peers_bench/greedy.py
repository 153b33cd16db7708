"""Greedy: each workload where a GPU costs least by the hour, whatever that GPU does.

Every service takes the model of GPU with the lowest price of a GPU-hour among those that it fits
on, in the layout that needs the fewest of them at the peak, spot first where a share of it may be
there; every run the option with the lowest price of a GPU-hour, begun as soon as it may. Nodes are
rented for the hours in which they are needed.
"""

from peers_bench.market import Market
from peers_bench.ways import Part, Way, Wish


def greedy(market: Market) -> Wish:
    """Take what is cheapest by the GPU-hour."""
    demands = tuple(_ranked(market, kinds) for kinds in market.kinds.values())
    runs = tuple(
        tuple(sorted(options, key=lambda one: (_gpu_hour(market, one), one)))
        for options in market.options.values()
    )
    own = sum(market.part_usd(ways[0][0]) for ways in demands if ways)
    return Wish(own + market.runs_usd(runs), demands, runs)


def _ranked(market: Market, kinds: list[int]) -> tuple[Way, ...]:
    sets = market.sets

    def rank(kind: int) -> tuple[float, float, int]:
        gpus = float(market.needed(kind).max(initial=0.0)) * sets.kinds[kind].gpus
        return min(map(market.gpu_usd_per_hour, market.firm(kind))), gpus, kind

    return tuple(
        (
            Part(
                kind,
                (1.0,) * len(sets.kinds[kind].rates),
                tuple(
                    sorted(market.firm(kind), key=lambda one: (market.gpu_usd_per_hour(one), one))
                ),
                market.spot_if_cheaper(kind),
            ),
        )
        for kind in sorted(kinds, key=rank)
    )


def _gpu_hour(market: Market, option: int) -> float:
    return market.gang_usd_per_hour(option) / market.run_gpus(option)
