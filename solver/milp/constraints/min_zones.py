"""A service has replicas in several zones, always the same ones."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Columns, Ints, replicas_at
from solver.milp.zones import zone_pairs, zones_of


def min_zones(sets: Sets, columns: Columns) -> Rows:
    """Have a replica of each demand in so many zones at all times.

        enough  Σ_{z ∈ zones[d]} zone_used[d,z] ≥ min_zones[d]    ∀ d ∈ demands
        used    zone_used[d,z] ≤ Σ_{g ∈ groups[d,z]} replicas[g,t]    ∀ d, z ∈ zones[d], t ∈ periods

    Where one kind serves each demand, t is only the period of the kind's smallest fleet, which is
    part of every larger one. zone_used is at most 1; it need not be whole, as replicas are. Only
    where min_zones[d] > 1. Replicas on both sides.

    A replica outside a smaller program earns the dual of its zone's row, and where the zone has
    none there, that of `enough`: zone_used of that zone then pays as little as it costs. Both must
    be in its price: zone_prices.
    """
    pairs = zone_pairs(sets)
    demands = sorted({demand for demand, _ in pairs})
    keys: list[Key] = [("enough", demand) for demand in demands]
    parts = [
        entries(demands.index(demand), columns.zone_used.at(np.array([number])), 1.0)
        for number, (demand, _) in enumerate(pairs)
    ]
    asked = [float(sets.demands[one].service.availability.min_zones) for one in demands]
    zones = zones_of(sets.case) if pairs else {}
    periods = 1 if sets.has_one_kind else len(sets.periods)
    first = {pair: len(keys) + number * periods for number, pair in enumerate(pairs)}
    for number, (demand, zone) in enumerate(pairs):
        rows = first[demand, zone] + np.arange(periods)
        parts.append(entries(rows, columns.zone_used.at(np.array([number])), 1.0))
        keys.extend(("used", demand, zone, period) for period in range(periods))
    for number, group in enumerate(sets.groups):
        pair = (group.demand, zones.get(group.option.machine, ""))
        if pair in first:
            parts.append(_replicas(sets, columns, number, first[pair]))
    used = len(keys) - len(demands)
    lower = np.array([*asked, *[-np.inf] * used])
    upper = np.array([*[np.inf] * len(demands), *[0.0] * used])
    return rows_of("min_zones", keys, parts, lower=lower, upper=upper)


def _replicas(sets: Sets, columns: Columns, number: int, row: int) -> Entries:
    periods = np.arange(len(sets.periods))
    if sets.has_one_kind:
        periods = np.array([smallest_fleet(sets, sets.groups[number].kind)])
    position, column, up = replicas_at(sets, columns, number, periods)
    return entries(row + position, column, -up)


def smallest_fleet(sets: Sets, kind: int) -> int:
    """Give the period in which a kind that serves alone has the fewest replicas."""
    return int(np.argmin(sets.kinds[kind].replicas_alone))


@dataclass(frozen=True, slots=True)
class ZonePrices:
    """What a replica earns for being in a zone at all times, by demand and zone, in dollars.

    `elsewhere` is by demand, for zones that a program had no machine in.
    """

    by_zone: Mapping[tuple[int, str], float]
    elsewhere: Mapping[int, float]
    zones: Mapping[str, str]

    def usd(self, sets: Sets, groups: Ints, up: Floats) -> Floats:
        """Price each block on each group, group by block: what they earn is taken off."""
        usd = np.zeros((len(groups), up.shape[0]))
        for place, number in enumerate(groups.tolist()):
            group = sets.groups[number]
            zone = self.zones[group.option.machine]
            other = self.elsewhere.get(group.demand, 0.0)
            earned = self.by_zone.get((group.demand, zone), other)
            usd[place] = -earned * up[:, smallest_fleet(sets, group.kind)]
        return usd


def zone_prices(small: Sets, duals: Floats) -> ZonePrices | None:
    """Read the prices off the duals of a smaller program; None where no demand asks for zones."""
    pairs = zone_pairs(small)
    if not pairs:
        return None
    demands = sorted({demand for demand, _ in pairs})
    elsewhere = dict(zip(demands, duals[: len(demands)].tolist(), strict=True))
    by_row = (-duals[len(demands) :]).tolist()
    earned = dict(zip(pairs, by_row, strict=True))
    return ZonePrices(earned, elsewhere, zones_of(small.case))
