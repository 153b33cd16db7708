"""The case as rivals see it: rates and prices of single offers, without stock and shared nodes."""

import math
from collections import defaultdict

import numpy as np
from peers_bench.ways import Part

from broker.domain.offer import Offer
from solver.milp.demands import whole
from solver.milp.sets import Floats, Sets


class Market:
    """Answers what a kind of replica or a run costs by itself; groups and runs are set positions.

    A replica or gang counts here as whole nodes rented by the hour, as tools that know no shared
    nodes buy them. A price is infinite where there is no such offer.
    """

    def __init__(self, sets: Sets) -> None:
        self.sets = sets
        groups: dict[int, list[int]] = defaultdict(list)
        for number, group in enumerate(sets.groups):
            groups[group.kind].append(number)
        self._groups = groups
        self.kinds: dict[int, list[int]] = {number: [] for number in range(len(sets.demands))}
        for number, kind in enumerate(sets.kinds):
            if min(kind.rates) > 0 and self.firm(number):
                self.kinds[kind.demand].append(number)
        self.options: dict[int, list[int]] = {number: [] for number in range(len(sets.runs))}
        for number, option in enumerate(sets.run_options):
            if math.isfinite(self.gang_usd_per_hour(number)):
                self.options[option.run].append(number)

    def firm(self, kind: int) -> list[int]:
        """List where replicas can be rented for good, the cheapest per replica first."""
        return self._sorted(kind, on_spot=False)

    def spot(self, kind: int) -> list[int]:
        """List where replicas can be rented on spot, the cheapest per replica first."""
        return self._sorted(kind, on_spot=True)

    def spot_if_cheaper(self, kind: int) -> tuple[int, ...]:
        """List where replicas cost less on spot than for good."""
        firm_usd = min(map(self.replica_usd_per_hour, self.firm(kind)), default=math.inf)
        return tuple(one for one in self.spot(kind) if self.replica_usd_per_hour(one) < firm_usd)

    def offer(self, machine: int, *, on_spot: bool) -> Offer | None:
        """Give the hourly offer of a machine."""
        one = self.sets.machines[machine]
        return one.spot if on_spot else one.on_demand

    def node_usd_per_hour(self, group: int) -> float:
        """Give the price of a node of a group."""
        one = self.sets.groups[group]
        return _price(self.offer(one.machine, on_spot=one.on_spot))

    def gpu_usd_per_hour(self, group: int) -> float:
        """Give the price of a GPU of a group, as a part of its node's."""
        return self.node_usd_per_hour(group) / self.sets.machines[self.machine(group)].gpus

    def replica_usd_per_hour(self, group: int) -> float:
        """Give the price of a replica of a group, in a node that is filled with them."""
        return self.node_usd_per_hour(group) / self.per_node(group)

    def machine(self, group: int) -> int:
        """Give the machine of a group."""
        return self.sets.groups[group].machine

    def per_node(self, group: int) -> int:
        """Count the replicas that a node holds."""
        one = self.sets.groups[group]
        return self.sets.machines[one.machine].gpus // one.gpus

    def needed(self, kind: int, share: tuple[float, ...] | None = None) -> Floats:
        """Count, a period, the replicas that carry a share of each size class; no spares."""
        one = self.sets.kinds[kind]
        load = self.sets.demands[one.demand].load_requests_per_s
        part = np.ones(len(load)) if share is None else np.array(share)
        per_rate = [part[k] / rate if part[k] else 0.0 for k, rate in enumerate(one.rates)]
        return whole(np.array(per_rate) @ load)

    def replicas_usd(self, group: int, replicas: Floats, *, keeps_peak: bool = False) -> float:
        """Give what replicas of a group cost over the horizon, in whole nodes."""
        nodes = self.nodes(group, replicas)
        hours = self.sets.hours
        held = nodes.max(initial=0.0) * hours.sum() if keeps_peak else float(nodes @ hours)
        return self.node_usd_per_hour(group) * float(held)

    def part_usd(self, part: Part) -> float:
        """Give what a demand costs on the first groups of a part that serves it alone."""
        kind = self.sets.kinds[part.kind]
        firm = self.needed(part.kind)
        usd = 0.0
        if part.spot_groups:
            group = part.spot_groups[0]
            spot = np.array(kind.replicas_alone, float) - np.array(kind.firm_alone, float)
            firm = np.maximum(firm - spot, 0.0)
            usd += self.replicas_usd(group, spot)
        return usd + self.replicas_usd(part.groups[0], firm)

    def nodes(self, group: int, replicas: Floats) -> Floats:
        """Count the whole nodes of a group that hold replicas, by period."""
        return np.asarray(np.ceil(replicas / self.per_node(group)))

    def gang_usd_per_hour(self, option: int) -> float:
        """Give the price of the nodes of a run's option."""
        one = self.sets.run_options[option]
        on_spot = one.option.candidate.on_spot
        return one.nodes * _price(self.offer(one.machine, on_spot=on_spot))

    def run_usd(self, option: int) -> float:
        """Give what a run costs on an option, in one piece, its data brought there."""
        one = self.sets.run_options[option]
        hours = one.slots_needed * self.sets.periods[one.window[0]].slot_h
        return self.gang_usd_per_hour(option) * hours + float(one.option.data_usd)

    def run_gpus(self, option: int) -> int:
        """Count the GPUs of a run's option."""
        one = self.sets.run_options[option]
        return one.nodes * self.sets.machines[one.machine].gpus

    def cheapest_runs(self) -> tuple[tuple[int, ...], ...]:
        """Rank the options of each run by what they cost in all."""
        return tuple(
            tuple(sorted(options, key=lambda one: (self.run_usd(one), self.run_gpus(one), one)))
            for options in self.options.values()
        )

    def runs_usd(self, ranked: tuple[tuple[int, ...], ...]) -> float:
        """Add up what the first options of runs cost; a run without one costs nothing here."""
        return sum(self.run_usd(options[0]) for options in ranked if options)

    def _sorted(self, kind: int, *, on_spot: bool) -> list[int]:
        found = [
            one
            for one in self._groups[kind]
            if self.sets.groups[one].on_spot is on_spot
            and math.isfinite(self.node_usd_per_hour(one))
        ]
        return sorted(found, key=lambda one: (self.replica_usd_per_hour(one), one))


def _price(offer: Offer | None) -> float:
    return math.inf if offer is None else float(offer.usd_per_hour)
