"""No provider has more of a service's replicas than its share."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Floats, Kind, Sets
from solver.milp.shares import most_with_one
from solver.milp.shares import provider_share as share_of
from solver.milp.variables import Columns, Ints, replicas_at

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
    by_demand = [share_of(sets.case.workloads, one.service) for one in sets.demands]
    if sets.has_one_kind:
        return _by_kind(sets, columns, by_demand)
    return _by_demand(sets, columns, by_demand)


def provider_of(sets: Sets, group: int) -> str:
    """Name the cloud whose machine a group is on."""
    return sets.case.machines[sets.machines[sets.groups[group].machine].key].cloud


def shared_kinds(sets: Sets) -> list[tuple[int, str, int, int]]:
    """List the rows under one kind a demand: kind, provider, period, most replicas."""
    rows = []
    providers = _providers(sets, [group.kind for group in sets.groups])
    for number, kind in enumerate(sets.kinds):
        share = share_of(sets.case.workloads, sets.demands[kind.demand].service)
        for provider in providers.get(number, ()):
            for period, replicas in _sizes(kind):
                most = most_with_one(share, replicas)
                if most < replicas:
                    rows.append((number, provider, period, most))
    return rows


def _sizes(kind: Kind) -> list[tuple[int, int]]:
    """Give one period of each size of a fleet, and the size."""
    sizes, periods = np.unique(np.array(kind.replicas_alone), return_index=True)
    return list(zip(periods.tolist(), sizes.tolist(), strict=True))


def _providers(sets: Sets, owners: list[int]) -> dict[int, list[str]]:
    found: dict[int, set[str]] = defaultdict(set)
    for number, owner in enumerate(owners):
        found[owner].add(provider_of(sets, number))
    return {owner: sorted(names) for owner, names in found.items()}


def _by_kind(sets: Sets, columns: Columns, shares: list[Fraction]) -> Rows:
    rows = shared_kinds(sets) if any(share < 1 for share in shares) else []
    members: dict[tuple[int, str], list[int]] = defaultdict(list)
    for number, group in enumerate(sets.groups):
        members[group.kind, provider_of(sets, number)].append(number)
    parts: list[Entries] = []
    for row, (kind, provider, period, most) in enumerate(rows):
        parts.append(entries(row, columns.kind_used.at(np.array([kind])), -float(most)))
        for member in members[kind, provider]:
            _, column, up = replicas_at(sets, columns, member, np.array([period]))
            parts.append(entries(row, column, up))
    keys: list[Key] = [(kind, provider, period) for kind, provider, period, _ in rows]
    return rows_of("provider_share", keys, parts, upper=0.0)


def _by_demand(sets: Sets, columns: Columns, shares: list[Fraction]) -> Rows:
    keys: list[Key] = []
    parts: list[Entries] = []
    upper: list[float] = []
    periods = np.arange(len(sets.periods))
    providers = _providers(sets, [group.demand for group in sets.groups])
    for demand, share in enumerate(shares):
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
    periods = np.arange(len(sets.periods))
    found = []
    for number, group in enumerate(sets.groups):
        if group.demand == at[0]:
            own = 1 - part if provider_of(sets, number) == at[1] else -part
            position, column, up = replicas_at(sets, columns, number, periods)
            found.append(entries(rows[position], column, float(own) * up))
    return found


def _largest_fleet(sets: Sets, demand: int) -> int:
    """Bound the replicas of a demand at one time: those of its largest kinds that may be used."""
    fleets = sorted(max(one.replicas_alone) for one in sets.kinds if one.demand == demand)
    return max(1, sum(fleets[-sets.case.workloads.policy.max_groups :]))


@dataclass(frozen=True, slots=True)
class SharePrices:
    """What a kind's rows add to the price of its columns: dollars a replica and period, and less.

    `credit_usd` is what the used kind itself earns by them. `places` names for each machine the
    place that rows are for, where that is not its provider.
    """

    credit_usd: float
    by_place: Mapping[str, Floats]
    places: Mapping[str, str] | None = None

    def usd(self, sets: Sets, groups: Ints, up: Floats) -> Floats:
        """Price each block on each group, group by block."""
        nothing = np.zeros(up.shape[1])
        by_group = [self.by_place.get(self._place(sets, int(one)), nothing) for one in groups]
        return np.asarray(np.array(by_group).reshape(len(groups), up.shape[1]) @ up.T)

    def _place(self, sets: Sets, group: int) -> str:
        if self.places is None:
            return provider_of(sets, group)
        return self.places[sets.groups[group].option.machine]


def share_prices(sets: Sets, small: Sets, duals: Floats) -> Mapping[int, SharePrices]:
    """Read the prices of the rows off the duals of a smaller program, for kinds of a larger one.

    A provider that has no machine in the smaller program has no row there: its price is 0.
    """
    return prices_of_rows(sets, small, shared_kinds(small), duals)


def prices_of_rows(
    sets: Sets,
    small: Sets,
    rows: list[tuple[int, str, int, int]],
    duals: Floats,
    *,
    places: Mapping[str, str] | None = None,
) -> Mapping[int, SharePrices]:
    """Read the prices off the duals of rows of a smaller program: kind, place, period, most."""
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
    return {number: SharePrices(credit[number], own, places) for number, own in prices.items()}
