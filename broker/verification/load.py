"""Services: their load is carried, within rates, with spares, by few groups, within spot shares."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from broker.domain.burst import Burst
from broker.domain.candidate import ServingCandidate
from broker.domain.pool import Role
from broker.domain.workload import Service
from broker.verification.facts import TOLERANCE, Facts, Finding, Group
from broker.verification.min_up import least_slots, most_near
from broker.verification.timeline import Array

_NEGLIGIBLE_PER_S = 1e-8
"""Requests/s that nobody misses, one in three years: what rounding a written figure may lose."""
_ROUNDING = 1e-9
"""So much of a count of replicas is noise of floats: a whole number is that number."""
_LEAST_LOAD = 1e-4
_SEVERAL = 2

_Kind = tuple[str, str, str, str, str]


def serve_load(facts: Facts) -> Iterator[Finding]:
    """Carry each service's load of each size class and user region in each slot.

        Σ_groups requests_per_s[k,t] ≥ load_requests_per_s[t] · users_share · size_share[k]

    So it is over the groups that work on prompts, and over those that answer.
    """
    for (service, region), some in _sides(facts):
        needed = facts.needed_requests_per_s(service, region)
        routed = _routed(some, needed)
        short = ~(routed >= needed * (1 - TOLERANCE) - _NEGLIGIBLE_PER_S)
        for number in np.flatnonzero(short.any(axis=0)):
            slots = short[:, number]
            counts = f"{routed[slots, number][0]:g} requests/s of {needed[slots, number][0]:g}"
            message = f"size class {number} gets {counts} {facts.timeline.where(slots)}"
            yield Finding(f"{service.name}/{region}", message)


def replica_rate(facts: Facts) -> Iterator[Finding]:
    """Keep each group within its rate, and the firm replicas of a kind when its spares are gone.

    Σ_k requests_per_s[k,t] / rate[k] ≤ replicas[t], and over the firm groups of a kind
    ≤ replicas[t] − spares wherever there are any; on slices a spare is all that a GPU holds
    """
    for group in facts.groups:
        busy = _busy_replicas(group)
        over = (group.replicas > 0) & ~(busy <= group.replicas * (1 + TOLERANCE))
        if over.any():
            counts = f"{busy[over][0]:g} replicas are busy of {group.replicas[over][0]:.0f}"
            yield Finding(_name(group), f"{counts} {facts.timeline.where(over)}")
    for service, region in _demands(facts):
        asks = service.availability.spare_replicas > 0
        for same in kinds_of(facts, service, region).values() if asks else ():
            spare = _spares(service, same)
            firm = [group for group in same if not group.assignment.on_spot]
            replicas = sum((group.replicas for group in firm), facts.timeline.zeros())
            busy = sum((_busy_replicas(group) for group in firm), facts.timeline.zeros())
            over = (replicas > 0) & ~(busy <= (replicas - spare) * (1 + TOLERANCE))
            if over.any():
                counts = f"{busy[over][0]:g} replicas are busy of {replicas[over][0]:.0f}"
                message = f"{counts}, of which {spare} are spares, {facts.timeline.where(over)}"
                yield Finding(_name(firm[0]), message)


def min_replicas(facts: Facts) -> Iterator[Finding]:
    """Keep the least number of replicas for the users of each region in each slot, of each pool."""
    for (service, region), some in _sides(facts):
        replicas = facts.timeline.zeros()
        for group in some:
            replicas += group.replicas
        few = replicas < service.min_replicas
        if few.any():
            counts = f"{replicas[few][0]:.0f} replicas, {service.min_replicas} are the least"
            yield Finding(f"{service.name}/{region}", f"{counts} {facts.timeline.where(few)}")


def groups(facts: Facts) -> Iterator[Finding]:
    """Use at most `max_groups` kinds of replica for a service's users of one region.

    A kind is a GPU model, a number format and a layout, on any number of machines. Of each pool
    there may be as many. With `burst`, there may be others beside them in each window of time: all
    kinds that have replicas in a window, but for the same `max_groups` kinds in all of them, are
    `burst.max_groups` at most.
    """
    policy = facts.case.workloads.policy
    limit, burst = policy.max_groups, policy.burst
    for (service, region), some in _sides(facts):
        if burst is not None:
            yield from _too_many_for_a_time(facts, f"{service.name}/{region}", some, burst)
            continue
        kinds = {_kind_of(group.assignment.candidate) for group in some}
        if len(kinds) > limit:
            message = f"{len(kinds)} kinds of replica serve it, {limit} are the most"
            yield Finding(f"{service.name}/{region}", message)


def _too_many_for_a_time(
    facts: Facts, name: str, some: list[Group], burst: Burst
) -> Iterator[Finding]:
    time, limit = facts.timeline, facts.case.workloads.policy.max_groups
    window_of = np.arange(time.count) // (burst.change_every // time.slot)
    serving: list[set[_Kind]] = [set() for _ in range(int(window_of[-1]) + 1)]
    for group in some:
        kind = _kind_of(group.assignment.candidate)
        for window in np.unique(window_of[group.replicas > 0]).tolist():
            serving[window].add(kind)
    if not _have_a_base(serving, limit, burst.max_groups):
        fullest = max(range(len(serving)), key=lambda window: len(serving[window]))
        message = (
            f"more than {limit} kinds of replica for the horizon and {burst.max_groups} others in "
            f"each {burst.change_every} serve it, {len(serving[fullest])} of them"
        )
        yield Finding(name, f"{message} {time.where(window_of == fullest)}")


def _have_a_base(serving: Sequence[set[_Kind]], base: int, others: int) -> bool:
    """Say whether windows have few other kinds beside some that may be in all of them.

    One of the kinds of any window that has too many must be in the base.
    """
    fullest = max(serving, key=len)
    beyond = len(fullest) - others
    if beyond <= 0 or beyond > base:
        return beyond <= 0
    return any(
        _have_a_base([kinds - {one} for kinds in serving], base - 1, others) for one in fullest
    )


def spot_share(facts: Facts) -> Iterator[Finding]:
    """Put no more than the allowed share of each size class on spot nodes in each slot."""
    for service, region in _demands(facts):
        needed = facts.needed_requests_per_s(service, region)
        on_spot = [
            group for group in facts.groups_of(service.name, region) if group.assignment.on_spot
        ]
        routed = _routed(on_spot, needed)
        allowed = service.spot.max_share * needed
        over = ~(routed <= allowed * (1 + TOLERANCE) + _NEGLIGIBLE_PER_S)
        for number in np.flatnonzero(over.any(axis=0)):
            slots = over[:, number]
            counts = f"{routed[slots, number][0]:g} requests/s of size class {number} are on spot"
            message = f"{counts}, {allowed[slots, number][0]:g} may be"
            yield Finding(f"{service.name}/{region}", f"{message} {facts.timeline.where(slots)}")


def idle_replicas(facts: Facts) -> Iterator[Finding]:
    """Have no more replicas of a kind than carry the whole load alone, spares included.

        replicas[t] ≤ max(⌈Σ_k load_requests_per_s[k,t] / rate[k]⌉ + spare_replicas, min_replicas)

    Where each stays up for a least time, as many may be up as carry the load of any slot less than
    that time away. With a spare zone of n, ⌈…⌉ replicas and one for each n − 1 of them are as
    many as may be, too. More would stand idle, and could pass as use of a commitment. The rates are
    the least that an option of the kind gives; a load counts as a ten-thousandth of the peak of its
    class at the least, and where several kinds may serve of what the fastest replica carries.
    """
    least = _least_rates(facts)
    for service, region in _demands(facts):
        needed = _counted(facts, service, region)
        for name, same in kinds_of(facts, service, region).items():
            replicas = sum((group.replicas for group in same), facts.timeline.zeros())
            rates = least.get((service.name, region, name), ())
            per_rate = np.array([1 / rate if rate > 0 else 0.0 for rate in rates])
            alone = np.ceil(needed[:, : len(rates)] @ per_rate * (1 - _ROUNDING))
            spare = alone + _spares(service, same)
            most = np.maximum(np.maximum(spare, _with_zone(service, alone)), service.min_replicas)
            most = most_near(most, least_slots(facts, service))
            over = replicas > most
            if over.any():
                counts = f"{replicas[over][0]:.0f} replicas, {most[over][0]:.0f} carry all"
                yield Finding(_name(same[0]), f"{counts} {facts.timeline.where(over)}")


def _counted(facts: Facts, service: Service, region: str) -> Array:
    """Give the loads with tiny ones rounded up: plans may take slots that differ by less as one."""
    needed = facts.needed_requests_per_s(service, region)
    floor = needed.max(axis=0)
    if not facts.case.workloads.policy.has_one_kind:
        for one in facts.case.serving:
            if (one.service, one.user_region) == (service.name, region):
                rates = [rate.requests_per_s for rate in one.candidate.rates[: len(floor)]]
                floor[: len(rates)] = np.maximum(floor[: len(rates)], rates)
    return np.asarray(np.where(needed > 0, np.maximum(needed, _LEAST_LOAD * floor), 0.0))


def _with_zone(service: Service, alone: Array) -> Array:
    asked = service.availability
    return alone + np.ceil(alone / (asked.min_zones - 1)) if asked.spare_zone else alone


def one_order(facts: Facts) -> Iterator[Finding]:
    """Where one kind serves a demand, let its replicas come and go in one order.

    Of any two slots, one has at least as many replicas of every group as the other.
    """
    if not facts.case.workloads.policy.has_one_kind:
        return
    for _, groups in _sides(facts):
        if len(groups) < _SEVERAL:
            continue
        fleets = np.array([group.replicas for group in groups])
        order = np.argsort(fleets.sum(axis=0), kind="stable")
        falls = np.diff(fleets[:, order], axis=1) < 0
        if falls.any():
            at, slot = np.argwhere(falls)[0]
            here = np.arange(fleets.shape[1]) == order[slot + 1]
            message = f"has fewer replicas in a larger fleet {facts.timeline.where(here)}"
            yield Finding(_name(groups[at]), message)


def _spares(service: Service, same: list[Group]) -> int:
    """Count the replicas of a kind that are spares: those that so many GPUs hold, at least one."""
    part = Fraction(min(group.assignment.candidate.gpus for group in same))
    return service.availability.spare_replicas * math.ceil(1 / part)


def kinds_of(facts: Facts, service: Service, region: str) -> dict[_Kind, list[Group]]:
    """Sort the groups that serve a service's users of one region by their kind."""
    kinds: dict[_Kind, list[Group]] = {}
    for group in facts.groups_of(service.name, region):
        kinds.setdefault(_kind_of(group.assignment.candidate), []).append(group)
    return kinds


def _kind_of(candidate: ServingCandidate) -> _Kind:
    pool = "" if candidate.pool is None else candidate.pool.model_dump_json()
    layout = candidate.layout.model_dump_json()
    return (candidate.gpu, candidate.precision, layout, candidate.model, pool)


def _least_rates(facts: Facts) -> dict[tuple[str, str, _Kind], tuple[float, ...]]:
    least: dict[tuple[str, str, _Kind], tuple[float, ...]] = {}
    planned = {(one.service, one.user_region, one.candidate.gpu) for one in facts.plan.serving}
    for option in facts.case.serving:
        if (option.service, option.user_region, option.candidate.gpu) not in planned:
            continue
        name = (option.service, option.user_region, _kind_of(option.candidate))
        rates = tuple(rate.requests_per_s for rate in option.candidate.rates)
        least[name] = tuple(map(min, least.get(name, rates), rates))
    return least


def _demands(facts: Facts) -> Iterator[tuple[Service, str]]:
    for service in facts.case.workloads.services:
        for region, share in service.users.items():
            if share > 0:
                yield service, region


def roles_in(service: Service) -> tuple[Role, ...]:
    """Name what is counted apart of a service: answers, and where there may be pools prompts."""
    return tuple(Role) if service.disaggregated else (Role.DECODE,)


def _sides(facts: Facts) -> Iterator[tuple[tuple[Service, str], list[Group]]]:
    """Give the groups that answer, and where there are pools those that work on prompts."""
    for service, region in _demands(facts):
        groups = facts.groups_of(service.name, region)
        for role in roles_in(service):
            own = [one for one in groups if one.assignment.candidate.does(role)]
            yield (service, region), own


def _routed(some: list[Group], needed: Array) -> Array:
    total = np.zeros_like(needed)
    for group in some:
        total += group.requests_per_s
    return total


def _busy_replicas(group: Group) -> Array:
    """Count the replicas that the routed requests keep busy; a rate of 0 carries nothing."""
    busy = np.zeros(len(group.replicas))
    rates = [rate.requests_per_s for rate in group.assignment.candidate.rates]
    for number in range(group.requests_per_s.shape[1]):
        routed = group.requests_per_s[:, number]
        rate = rates[number] if number < len(rates) else 0.0
        busy += np.where(routed > 0, routed / rate if rate > 0 else np.inf, 0.0)
    return busy


def _name(group: Group) -> str:
    one = group.assignment
    return f"{one.service}/{one.user_region} on {one.machine} ({one.candidate.id})"
