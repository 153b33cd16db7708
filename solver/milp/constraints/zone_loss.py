"""The load is carried also after the loss of any one zone."""

from collections.abc import Mapping

import numpy as np

from solver.milp.places import (
    PlacePrices,
    PlaceRow,
    one_period_of_each_size,
    places_by,
    prices_in_places,
    rows_in_places,
)
from solver.milp.rows import Rows
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Columns
from solver.milp.zones import zones_of


def zone_loss(sets: Sets, columns: Columns) -> Rows:
    """Have no more replicas in any zone than may be lost.

        Σ_{g ∈ groups[c,z]} replicas[g,t] ≤ (replicas_alone[c,t] − carrying[c,t]) · kind_used[c]
        ∀ c ∈ kinds of services with a spare zone, z ∈ zones[c], t ∈ one period of each size

    carrying[c,t] replicas carry the load, the most in a period of that size; and replicas_alone are
    so many that they can be spread over min_zones zones like that. Only where one kind serves each
    demand, where a used kind has all of the demand. Firm and spot replicas count. Replicas on both
    sides.

    The rows are like those of provider_share, and priced like them.
    """
    rows = lossy_kinds(sets)
    places = zones_of(sets.case) if rows else {}
    return rows_in_places("zone_loss", rows, places, sets=sets, columns=columns)


def lossy_kinds(sets: Sets) -> list[PlaceRow]:
    """List the rows: kind, zone, period, most replicas."""
    asked = [one.service.availability.spare_zone for one in sets.demands]
    if not any(asked) or not sets.has_one_kind:
        return []
    zones = places_by(sets, (group.kind for group in sets.groups), zones_of(sets.case))
    rows: list[PlaceRow] = []
    for number, kind in enumerate(sets.kinds):
        alone, carrying = np.array(kind.replicas_alone), np.array(kind.carrying)
        for period, size in one_period_of_each_size(kind) if asked[kind.demand] else ():
            most = size - int(carrying[alone == size].max())
            if most < size:
                rows.extend((number, zone, period, most) for zone in zones.get(number, ()))
    return rows


def loss_prices(sets: Sets, small: Sets, duals: Floats) -> Mapping[int, PlacePrices]:
    """Read the prices of the rows off the duals of a smaller program, for kinds of a larger one."""
    rows = lossy_kinds(small)
    places = zones_of(sets.case) if rows else {}
    return prices_in_places(sets, small, rows, duals, places=places)
