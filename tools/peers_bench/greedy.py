"""Greedy: each workload where a GPU costs least by the hour, whatever that GPU does.

Every service takes the model of GPU with the lowest price of a GPU-hour among those that it fits
on, in the layout that needs the fewest of them at the peak, spot first where a share of it may be
there; every run the option with the lowest price of a GPU-hour, begun as soon as it may. Nodes are
rented for the hours in which they are needed.
"""

from peers_bench.by_the_hour import cheapest_by_the_hour
from peers_bench.market import Market
from peers_bench.ways import Wish


def greedy(market: Market) -> Wish:
    """Take what is cheapest by the GPU-hour."""

    def gpus(kind: int) -> float:
        return float(market.needed(kind).max(initial=0.0)) * market.sets.kinds[kind].gpus

    def gpu_usd_per_hour(option: int) -> float:
        return market.gang_usd_per_hour(option) / market.run_gpus(option)

    return cheapest_by_the_hour(
        market,
        gpus,
        group_usd_per_hour=market.gpu_usd_per_hour,
        gang_usd_per_hour=gpu_usd_per_hour,
    )
