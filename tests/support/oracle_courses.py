"""Which kinds of replica may serve in each slot of a tiny case, in every way that is allowed."""

import itertools
from collections.abc import Iterator, Mapping

from oracle_fleets import Fleet, Tiny, fleets_of, kinds_of

from broker.domain.case import ServingOption
from broker.domain.traffic import load_requests_per_s
from broker.domain.workload import Service

Options = tuple[tuple[ServingOption, bool], ...]
InForce = Mapping[str, Options]
"""The options of each service, and whether they may have replicas in a slot."""
Course = tuple[InForce, ...]
"""What is in force, slot by slot."""
_Kinds = list[tuple[ServingOption, ...]]


def courses(tiny: Tiny) -> Iterator[Course]:
    """Try all kinds for the horizon, and beside them all for each window."""
    services = tiny.case.workloads.services
    per_service = [list(_courses_of(tiny, service)) for service in services]
    for combination in itertools.product(*per_service):
        yield tuple(
            {one.name: own[slot] for one, own in zip(services, combination, strict=True)}
            for slot in range(tiny.slots)
        )


def fleets_in_force(tiny: Tiny, service: Service, slot: int, options: Options) -> Iterator[Fleet]:
    """List the fleets of a service in a slot, with no replica of what is not in force."""
    on = tuple(one for one, is_on in options if is_on)
    load = load_requests_per_s(service, tiny.case.workloads.horizon)[slot]
    if not on and not load and not service.min_replicas:
        yield tuple((one, 0) for one, _ in options)
    for fleet in fleets_of(tiny, service, slot, on) if on else ():
        counts = {id(one): count for one, count in fleet}
        yield tuple((one, counts.get(id(one), 0)) for one, _ in options)


def _courses_of(tiny: Tiny, service: Service) -> Iterator[tuple[Options, ...]]:
    kinds = kinds_of([one for one in tiny.case.serving if one.service == service.name])
    policy = tiny.case.workloads.policy
    if policy.burst is None:
        for size in range(1, policy.max_groups + 1):
            for chosen in itertools.combinations(kinds, size):
                same = tuple((option, True) for kind in chosen for option in kind)
                yield (same,) * tiny.slots
        return
    slots = policy.burst.change_every // tiny.case.workloads.horizon.slot
    windows = -(-tiny.slots // slots)
    numbers = range(len(kinds))
    for base in _up_to(numbers, policy.max_groups):
        rest = [one for one in numbers if one not in base]
        for bursts in itertools.product(_up_to(rest, policy.burst.max_groups), repeat=windows):
            yield tuple(
                _options(kinds, {*base, *bursts[slot // slots]}) for slot in range(tiny.slots)
            )


def _options(kinds: _Kinds, on: set[int]) -> Options:
    return tuple((option, number in on) for number, kind in enumerate(kinds) for option in kind)


def _up_to(numbers: range | list[int], most: int) -> list[tuple[int, ...]]:
    return [some for size in range(most + 1) for some in itertools.combinations(numbers, size)]
