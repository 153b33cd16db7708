"""The load is carried also after the loss of any one zone."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from solver.milp.constraints.provider_share import SharePrices, prices_of_rows
from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Columns, replicas_at
from solver.milp.zones import zones_of


def zone_loss(sets: Sets, columns: Columns) -> Rows:
    """Have no more replicas in any zone than may be lost.

        Σ_{g ∈ groups[c,z]} replicas[g,t] ≤ (replicas_alone[c,t] − carrying[c,t]) · kind_used[c]
        ∀ c ∈ kinds of services with a spare zone, z ∈ zones[c], t ∈ one period of each size

    carrying[c,t] replicas carry the load, the most in a period of that size; and replicas_alone
    are so many that they can be spread over min_zones zones like that. Only under `max_groups: 1`,
    where a used kind has all of the demand. Firm and spot replicas count. Replicas on both sides.

    The rows are like those of provider_share, and priced like them.
    """
    rows = lossy_kinds(sets)
    members: dict[tuple[int, str], list[int]] = defaultdict(list)
    zones = zones_of(sets.case) if rows else {}
    for number, group in enumerate(sets.groups):
        members[group.kind, zones.get(group.option.machine, "")].append(number)
    parts: list[Entries] = []
    for row, (kind, zone, period, most) in enumerate(rows):
        parts.append(entries(row, columns.kind_used.at(np.array([kind])), -float(most)))
        for member in members[kind, zone]:
            _, column, up = replicas_at(sets, columns, member, np.array([period]))
            parts.append(entries(row, column, up))
    keys: list[Key] = [(kind, zone, period) for kind, zone, period, _ in rows]
    return rows_of("zone_loss", keys, parts, upper=0.0)


def lossy_kinds(sets: Sets) -> list[tuple[int, str, int, int]]:
    """List the rows: kind, zone, period, most replicas."""
    asked = [one.service.availability.spare_zone for one in sets.demands]
    if not any(asked) or not sets.has_one_kind:
        return []
    zones = zones_of(sets.case)
    of_kind: dict[int, set[str]] = defaultdict(set)
    for group in sets.groups:
        of_kind[group.kind].add(zones[group.option.machine])
    rows: list[tuple[int, str, int, int]] = []
    for number, kind in enumerate(sets.kinds):
        alone, carrying = np.array(kind.replicas_alone), np.array(kind.carrying)
        sizes, periods = np.unique(alone, return_index=True)
        for size, period in zip(sizes.tolist(), periods.tolist(), strict=True):
            most = size - int(carrying[alone == size].max())
            if asked[kind.demand] and most < size:
                rows.extend((number, zone, period, most) for zone in sorted(of_kind[number]))
    return rows


def loss_prices(sets: Sets, small: Sets, duals: Floats) -> Mapping[int, SharePrices]:
    """Read the prices of the rows off the duals of a smaller program, for kinds of a larger one.

    A zone that has no machine in the smaller program has no row there: its price is 0.
    """
    rows = lossy_kinds(small)
    return prices_of_rows(sets, small, rows, duals, places=zones_of(sets.case)) if rows else {}
