"""Mélange: the cheapest counts of GPU instances for one rate of requests, as an integer program.

Rebuilt from its published mathematics (Griggs et al., "Mélange: Cost Efficient Large Language
Model Serving by Exploiting GPU Heterogeneity", arXiv 2404.14527). The load of each bucket of
request sizes is cut into slices, each slice goes to one type of GPU:

    min   Σ_j cost[j] · count[j]
    s.t.  Σ_j on[i,j] = 1                                            ∀ slices i
          Σ_i on[i,j] · rate[i] / throughput[j, bucket of i] ≤ count[j]    ∀ types j
          on[i,j] ∈ {0, 1},  count[j] ∈ {0, 1, 2, ...}

A type is here a node in one layout: for each kind of replica and size of node the cheapest offer on
demand, and its throughput that of the replicas on it. Types that another one replaces for no more
money are left out first, which changes no optimum and helps the search. Buckets are the size
classes of the service; it is solved for the hour with most requests, one service at a time, by CBC
as Mélange does, for a part of the time limit each. Where the time is up its best counts are taken.

The nodes of the peak are rented all the time: Mélange answers for a rate that does not change. As
*Mélange by the hour* the counts follow the load, with each type's share of it kept. It knows no
runs: they take the option that costs least in all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from ortools.linear_solver import pywraplp
from peers_bench.market import Market
from peers_bench.ways import Part, Way, Wish

SLICE_FACTOR = 8
"""Slices of a bucket. Its authors find that the answer hardly depends on it, and that 4 do."""

_ON = 0.5


@dataclass(frozen=True, slots=True)
class Type:
    """A type of instance: a group, its price by the hour, and its throughput of each bucket."""

    group: int
    usd_per_hour: float
    requests_per_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Mix:
    """Counts of types, the share of each bucket that goes to each, and the least cost by bound."""

    counts: tuple[int, ...]
    shares: tuple[tuple[float, ...], ...]
    bound_usd_per_hour: float
    is_optimal: bool

    def usd_per_hour(self, types: Sequence[Type]) -> float:
        """Give the price of the counts."""
        return sum(count * one.usd_per_hour for count, one in zip(self.counts, types, strict=True))


@dataclass(frozen=True, slots=True)
class Answer:
    """What the program says of one demand; no mix where the time was up before there was one."""

    types: tuple[Type, ...]
    mix: Mix | None


def answers(market: Market, seconds: float) -> list[Answer]:
    """Find the cheapest mix for the busiest hour of each demand, each in its part of the time."""
    found = []
    for number, demand in enumerate(market.sets.demands):
        load = demand.load_requests_per_s
        types = types_of(market, number)
        peak = load[:, int(np.argmax(load.sum(axis=0)))].tolist()
        own_s = seconds / len(market.sets.demands)
        found.append(Answer(tuple(types), cheapest_mix(types, peak, SLICE_FACTOR, own_s)))
    return found


def melange(market: Market, found: Sequence[Answer], *, keeps_peak: bool) -> Wish:
    """Make a wish of the mixes; a kind alone is the next way of a demand, the cheapest first."""
    demands: list[tuple[Way, ...]] = []
    runs = market.cheapest_runs()
    own_usd = bound_usd = market.runs_usd(runs)
    for number, one in enumerate(found):
        ways = _alone(market, number, keeps_peak=keeps_peak)
        if one.mix is not None:
            mixed = _mixed(market, one.types, one.mix)
            ways = (mixed, *ways)
            own_usd += _own_usd(market, one, mixed, keeps_peak=keeps_peak)
            bound_usd += one.mix.bound_usd_per_hour * float(market.sets.hours.sum())
        demands.append(ways)
    return Wish(
        own_usd,
        tuple(demands),
        runs,
        keeps_peak=keeps_peak,
        usd_of=partial(market.replicas_usd, keeps_peak=keeps_peak),
        bound_usd=bound_usd if keeps_peak else None,
        remarks=tuple(_remarks(market, found)),
    )


def types_of(market: Market, demand: int) -> list[Type]:
    """List the types of instance for a demand, but those that another one replaces."""
    cheapest: dict[tuple[int, int], Type] = {}
    for kind in market.kinds[demand]:
        for group in market.firm(kind):
            per_node = market.per_node(group)
            usd = market.node_usd_per_hour(group)
            known = cheapest.get((kind, per_node))
            if known is None or usd < known.usd_per_hour:
                rates = tuple(per_node * rate for rate in market.sets.kinds[kind].rates)
                cheapest[kind, per_node] = Type(group, usd, rates)
    kept: list[Type] = []
    fast_first = sorted(
        cheapest.values(), key=lambda one: (one.usd_per_hour, -sum(one.requests_per_s), one.group)
    )
    for one in fast_first:
        if not any(_replaces(other, one) for other in kept):
            kept.append(one)
    return kept


def cheapest_mix(
    types: Sequence[Type], requests_per_s: Sequence[float], slice_factor: int, seconds: float
) -> Mix | None:
    """Solve the integer program; None where no counts were found."""
    solver = pywraplp.Solver.CreateSolver("CBC")
    solver.SetTimeLimit(int(seconds * 1000))
    buckets = [bucket for bucket in range(len(requests_per_s)) for _ in range(slice_factor)]
    on = [[solver.BoolVar("") for _ in types] for _ in buckets]
    counts = [solver.IntVar(0, solver.infinity(), "") for _ in types]
    for row in on:
        solver.Add(solver.Sum(row) == 1)
    for number, one in enumerate(types):
        loads = [
            requests_per_s[bucket] / slice_factor / one.requests_per_s[bucket] for bucket in buckets
        ]
        taken = [row[number] * load for row, load in zip(on, loads, strict=True)]
        solver.Add(solver.Sum(taken) <= counts[number])
    solver.Minimize(
        solver.Sum([count * one.usd_per_hour for count, one in zip(counts, types, strict=True)])
    )
    status = solver.Solve()
    if status not in (pywraplp.Solver.OPTIMAL, pywraplp.Solver.FEASIBLE):
        return None
    shares = np.zeros((len(types), len(requests_per_s)))
    for bucket, row in zip(buckets, on, strict=True):
        shares[[one.solution_value() > _ON for one in row].index(True), bucket] += 1 / slice_factor
    return Mix(
        tuple(round(one.solution_value()) for one in counts),
        tuple(tuple(row) for row in shares.tolist()),
        max(0.0, solver.Objective().BestBound()),
        is_optimal=status == pywraplp.Solver.OPTIMAL,
    )


def _replaces(one: Type, other: Type) -> bool:
    """Say whether a type costs no more than another and is nowhere slower."""
    return one.usd_per_hour <= other.usd_per_hour and all(
        a >= b for a, b in zip(one.requests_per_s, other.requests_per_s, strict=True)
    )


def _alone(market: Market, demand: int, *, keeps_peak: bool) -> tuple[Way, ...]:
    """Rank the ways with one type, by what they cost."""
    ways = []
    for kind in market.kinds[demand]:
        needed = market.needed(kind)
        usd = {
            one: market.replicas_usd(one, needed, keeps_peak=keeps_peak)
            for one in market.firm(kind)
        }
        groups = tuple(sorted(usd, key=lambda one, usd=usd: (usd[one], one)))
        share = (1.0,) * len(market.sets.kinds[kind].rates)
        ways.append((usd[groups[0]], (Part(kind, share, groups),)))
    return tuple(way for _, way in sorted(ways, key=lambda one: (one[0], one[1][0].kind)))


def _mixed(market: Market, types: Sequence[Type], mix: Mix) -> Way:
    """Join the types of one kind; its replicas go where the mix has them first."""
    shares: dict[int, np.ndarray] = {}
    groups: dict[int, list[int]] = {}
    for one, share in zip(types, mix.shares, strict=True):
        if any(share):
            kind = market.sets.groups[one.group].kind
            shares[kind] = shares.get(kind, 0.0) + np.array(share)
            groups.setdefault(kind, []).append(one.group)
    return tuple(
        Part(
            kind,
            tuple(shares[kind].tolist()),
            tuple(dict.fromkeys([*groups[kind], *market.firm(kind)])),
        )
        for kind in shares
    )


def _own_usd(market: Market, answer: Answer, way: Way, *, keeps_peak: bool) -> float:
    hours = market.sets.hours
    if keeps_peak and answer.mix is not None:
        return answer.mix.usd_per_hour(answer.types) * float(hours.sum())
    usd = 0.0
    for part in way:
        first = part.groups[0]
        usd += market.replicas_usd(first, market.needed(part.kind, part.share))
    return usd


def _remarks(market: Market, found: Sequence[Answer]) -> Iterator[str]:
    for demand, one in zip(market.sets.demands, found, strict=True):
        name = f"{demand.service.name}/{demand.user_region}"
        if one.mix is None:
            yield f"{name}: no counts in the time"
        elif not one.mix.is_optimal:
            yield f"{name}: the time was up before the counts were proven"
