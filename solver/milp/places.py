"""At most so many of a used kind's replicas in one place: the rows, and what they price.

A place is a provider or a zone; `places` name that of each machine.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from solver.milp.rows import Entries, Rows, entries, rows_of
from solver.milp.sets import Floats, Kind, Sets
from solver.milp.variables import Columns, Ints, replicas_at

PlaceRow = tuple[int, str, int, int]
"""A kind, a place, a period, and the most replicas of the kind there and then."""


def places_by(sets: Sets, owners: Iterable[int], places: Mapping[str, str]) -> dict[int, list[str]]:
    """List the places of groups by what each group belongs to; `owners` has one entry a group."""
    found: dict[int, set[str]] = defaultdict(set)
    for owner, group in zip(owners, sets.groups, strict=True):
        found[owner].add(places[group.option.machine])
    return {owner: sorted(names) for owner, names in found.items()}


def one_period_of_each_size(kind: Kind) -> list[tuple[int, int]]:
    """Give a period of each size that a kind's fleet has alone, and the size."""
    sizes, periods = np.unique(np.array(kind.replicas_alone), return_index=True)
    return list(zip(periods.tolist(), sizes.tolist(), strict=True))


def rows_in_places(
    family: str,
    rows: Sequence[PlaceRow],
    places: Mapping[str, str],
    *,
    sets: Sets,
    columns: Columns,
) -> Rows:
    """Hold a kind's replicas in a place against the most of them, 0 where it is not used."""
    members: dict[tuple[int, str], list[int]] = defaultdict(list)
    for number, group in enumerate(sets.groups if rows else ()):
        members[group.kind, places[group.option.machine]].append(number)
    parts: list[Entries] = []
    for row, (kind, place, period, most) in enumerate(rows):
        parts.append(entries(row, columns.kind_used.at(np.array([kind])), -float(most)))
        for member in members[kind, place]:
            _, column, up = replicas_at(sets, columns, member, np.array([period]))
            parts.append(entries(row, column, up))
    return rows_of(family, [row[:3] for row in rows], parts, upper=0.0)


@dataclass(frozen=True, slots=True)
class PlacePrices:
    """What a kind's rows add to the price of its columns: dollars a replica and period, and less.

    `credit_usd` is what the used kind itself earns by them.
    """

    credit_usd: float
    by_place: Mapping[str, Floats]
    places: Mapping[str, str]

    def usd(self, sets: Sets, groups: Ints, up: Floats) -> Floats:
        """Price each block on each group, group by block."""
        nothing = np.zeros(up.shape[1])
        machines = [sets.groups[one].option.machine for one in groups.tolist()]
        by_group = [self.by_place.get(self.places[machine], nothing) for machine in machines]
        return np.asarray(np.array(by_group).reshape(len(groups), up.shape[1]) @ up.T)


def prices_in_places(
    sets: Sets,
    small: Sets,
    rows: Sequence[PlaceRow],
    duals: Floats,
    *,
    places: Mapping[str, str],
) -> Mapping[int, PlacePrices]:
    """Read the prices of rows off the duals of a smaller program, for kinds of a larger one.

    A place that has no machine in the smaller program has no row there: its price is 0.
    """
    position = {
        (kind.demand, kind.configuration, kind.rates): number
        for number, kind in enumerate(sets.kinds)
    }
    credit: dict[int, float] = defaultdict(float)
    prices: dict[int, dict[str, Floats]] = defaultdict(dict)
    for (at, place, period, most), dual in zip(rows, duals, strict=True):
        kind = small.kinds[at]
        number = position[kind.demand, kind.configuration, kind.rates]
        usd = prices[number].setdefault(place, np.zeros(len(sets.periods)))
        usd[period] -= dual
        credit[number] -= most * dual
    return {number: PlacePrices(credit[number], own, places) for number, own in prices.items()}
