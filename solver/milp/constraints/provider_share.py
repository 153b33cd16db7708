"""No provider has more of a service's replicas than its share."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from solver.milp.places import (
    PlacePrices,
    PlaceRow,
    one_period_of_each_size,
    places_by,
    prices_in_places,
    rows_in_places,
)
from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Floats, Sets
from solver.milp.shares import most_with_one
from solver.milp.shares import provider_share as share_of
from solver.milp.variables import Columns, Ints, replicas_at
from solver.milp.zones import clouds_of

_APART_ANYWAY = Fraction(1, 2)
"""Under such a share or a smaller one, two replicas are never with one provider."""


def provider_share(sets: Sets, columns: Columns) -> Rows:
    """Spread the replicas of a service in a user region over providers, in every period.

    Where one kind serves each demand, the size of a used kind's fleet is known:

        Σ_{g ∈ groups[c,v]} replicas[g,t] ≤ most[d, replicas_alone[c,t]] · kind_used[c]
        ∀ c ∈ kinds, v ∈ providers[c], t ∈ one period of each size of the fleet

    with most[d,n] = min(⌈share[d] · n⌉, max(n − 1, 1)). Else n is Σ_{g ∈ groups[d]} replicas[g,t]
    and, with share[d] = a/b in lowest terms and N[d] the largest fleet,

        share  Σ_{g ∈ groups[d,v]} replicas[g,t] ≤ a/b · n + (b − 1)/b
        apart  Σ_{g ∈ groups[d,v]} replicas[g,t] ≤ n − (n − 1)/N[d]
        ∀ d ∈ demands, v ∈ providers[d], t ∈ periods

    which says the same in whole numbers: `apart` keeps two replicas or more from being all with one
    provider, and is left out where share ≤ 1/2 does. Only where share[d] < 1, the smaller of the
    policy's and the service's. A provider is the cloud whose machine it is, whoever sells it.
    Firm and spot replicas and spares all count. Replicas on both sides.

    The rows of a kind bind its own columns alone, and have 0 on their right: a kind priced without
    their duals is priced as if it kept no share, which is no more, so a bound from that holds.
    Together with penalties from inside a smaller program they must be in the price: share_prices.
    """
    if not sets.has_one_kind:
        return _by_demand(sets, columns)
    rows, clouds = shared_kinds(sets), clouds_of(sets.case)
    return rows_in_places("provider_share", rows, clouds, sets=sets, columns=columns)


def shared_kinds(sets: Sets) -> list[PlaceRow]:
    """List the rows under one kind a demand: kind, provider, period, most replicas."""
    shares = _shares(sets)
    if all(share == 1 for share in shares):
        return []
    rows: list[PlaceRow] = []
    providers = places_by(sets, (group.kind for group in sets.groups), clouds_of(sets.case))
    for number, kind in enumerate(sets.kinds):
        for provider in providers.get(number, ()):
            for period, replicas in one_period_of_each_size(kind):
                most = most_with_one(shares[kind.demand], replicas)
                if most < replicas:
                    rows.append((number, provider, period, most))
    return rows


def _shares(sets: Sets) -> list[Fraction]:
    return [share_of(sets.case.workloads, one.service) for one in sets.demands]


def _by_demand(sets: Sets, columns: Columns) -> Rows:
    keys: list[Key] = []
    parts: list[Entries] = []
    upper: list[float] = []
    periods = np.arange(len(sets.periods))
    providers = places_by(sets, (group.demand for group in sets.groups), clouds_of(sets.case))
    for demand, share in enumerate(_shares(sets)):
        largest = _largest_fleet(sets, demand)
        sides = {"share": (share, 1 - Fraction(1, share.denominator))}
        if share > _APART_ANYWAY:
            sides["apart"] = (1 - Fraction(1, largest), Fraction(1, largest))
        for side, (part, beside) in sides.items() if share < 1 else ():
            for provider in providers.get(demand, ()):
                rows = len(keys) + periods
                parts.extend(_fleet(sets, columns, (demand, provider), part=part, rows=rows))
                keys.extend((side, demand, provider, int(period)) for period in periods)
                upper.extend([float(beside)] * len(periods))
    return rows_of("provider_share", keys, parts, upper=np.array(upper))


def _fleet(
    sets: Sets, columns: Columns, at: tuple[int, str], *, part: Fraction, rows: Ints
) -> list[Entries]:
    """Count the replicas with one provider less a part of all replicas of a demand."""
    periods, clouds = np.arange(len(sets.periods)), clouds_of(sets.case)
    found = []
    for number, group in enumerate(sets.groups):
        if group.demand == at[0]:
            own = 1 - part if clouds[group.option.machine] == at[1] else -part
            position, column, up = replicas_at(sets, columns, number, periods)
            found.append(entries(rows[position], column, float(own) * up))
    return found


def _largest_fleet(sets: Sets, demand: int) -> int:
    """Bound the replicas of a demand at one time: its largest kinds, as many as may serve."""
    fleets = sorted(max(one.replicas_alone) for one in sets.kinds if one.demand == demand)
    return max(1, sum(fleets[-sets.case.workloads.policy.most_groups :]))


def share_prices(sets: Sets, small: Sets, duals: Floats) -> Mapping[int, PlacePrices]:
    """Read the prices of the rows off the duals of a smaller program, for kinds of a larger one."""
    places = clouds_of(sets.case)
    return prices_in_places(sets, small, shared_kinds(small), duals, places=places)
