"""Fleets of a tiny case: which replicas a slot can have, and what loads they carry."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from broker.domain.case import Case, ServingOption, TrainingOption
from broker.domain.offer import PriceKind
from broker.domain.traffic import load_requests_per_s
from broker.domain.workload import Service

INFEASIBLE = math.inf
SLACK = 1e-9
Gang = tuple[TrainingOption, tuple[int, ...]] | None
Fleet = tuple[tuple[ServingOption, int], ...]
"""One slot of one service: options with their replicas."""
Way = tuple[float, dict[str, float], tuple[Fleet, ...]]
"""One way through a slot: its cost, the firm GPUs that services take by machine, its fleets."""


@dataclass(frozen=True)
class Tiny:
    """A case with what the enumeration looks up."""

    case: Case
    most_committed: int
    most_rented: Mapping[tuple[str, PriceKind], int] = field(default_factory=dict)

    @cached_property
    def slots(self) -> int:
        return len(self.case.workloads.horizon.slots())

    @cached_property
    def slot_h(self) -> float:
        return self.case.workloads.horizon.slots()[0].hours

    @cached_property
    def _prices(self) -> dict[tuple[str, PriceKind], float]:
        return {(one.machine, one.price_kind): float(one.usd_per_hour) for one in self.case.offers}

    @cached_property
    def _gpus(self) -> dict[str, int]:
        machines = self.case.machines.items()
        return {name: int(one.hardware.shape.gpu_count) for name, one in machines}

    def zone(self, machine: str) -> tuple[str, ...]:
        """Name the zone of a machine; all machines here name one, or none does."""
        of = self.case.machines[machine]
        return (of.provider, of.place.region, of.place.zone or "")

    def price(self, machine: str, kind: PriceKind) -> float | None:
        return self._prices.get((machine, kind))

    def gpus(self, machine: str) -> int:
        return self._gpus[machine]


def fleets_of(
    tiny: Tiny, service: Service, slot: int, options: tuple[ServingOption, ...]
) -> Iterator[Fleet]:
    load = load_requests_per_s(service, tiny.case.workloads.horizon)[slot]
    classes = [load * size.share for size in service.sizes]
    most = [_most_replicas(service, option, classes) for option in options]
    kinds = [kind_of(option) for option in options]
    up = _stays_up(tiny, service, options[0])
    most = most if up is None else [up[slot]] * len(most)
    for counts in itertools.product(*(range(count + 1) for count in most)):
        if up is not None and sum(counts) != up[slot]:
            continue
        if sum(counts) < service.min_replicas or _stands_idle(kinds, counts, most):
            continue
        used = {tiny.zone(one.machine) for one, n in zip(options, counts, strict=True) if n}
        if service.availability.min_zones > max(len(used), 1):
            continue
        asked = service.availability
        needed = _carrying(options[0], classes)
        if asked.spare_zone and not _may_lose(
            tiny, counts, options, needed=needed, zones=asked.min_zones
        ):
            continue
        together = merged(options, counts, kinds)
        beyond = [
            count if one.on_spot else count - _spares(service, one) for one, count in together
        ]
        if min(beyond) < 0:
            continue
        if carries(service, tuple(one for one, _ in together), beyond, classes):
            yield tuple(zip(options, counts, strict=True))


Kind = tuple[str, tuple[float, ...]]


def kind_of(option: ServingOption) -> Kind:
    """Name the kind of an option: its layout and format, and the rates of its replicas."""
    one = option.candidate
    rates = tuple(rate.requests_per_s for rate in one.rates)
    return (f"{one.gpu} {one.precision} {one.laid_out} {one.model}", rates)


def kinds_of(options: list[ServingOption]) -> list[tuple[ServingOption, ...]]:
    """List the kinds: a layout with the rates of one of its options, on all that give as much."""
    found: dict[Kind, tuple[ServingOption, ...]] = {}
    for one in options:
        layout, rates = kind_of(one)
        found[layout, rates] = tuple(
            _counted_with(other, one)
            for other in options
            if kind_of(other)[0] == layout
            and all(more >= less for more, less in zip(kind_of(other)[1], rates, strict=True))
        )
    return list(found.values())


def _counted_with(option: ServingOption, rates_of: ServingOption) -> ServingOption:
    slower = option.candidate.model_copy(update={"rates": rates_of.candidate.rates})
    return replace(option, candidate=slower)


def _may_lose(
    tiny: Tiny,
    counts: Sequence[int],
    options: tuple[ServingOption, ...],
    *,
    needed: int,
    zones: int,
) -> bool:
    """Say whether a fleet is as large as it must be, and may lose any zone."""
    left = [
        sum(n for one, n in zip(options, counts, strict=True) if tiny.zone(one.machine) != zone)
        for zone in {tiny.zone(one.machine) for one in options}
    ]
    return sum(counts) >= _with_spare_zone(needed, zones) and min(left) >= needed


def _with_spare_zone(needed: int, zones: int) -> int:
    """Count the fewest replicas of which enough are left when a zone of an even spread is lost."""
    size = needed
    while size - math.ceil(size / zones) < needed:
        size += 1
    return size


def merged(
    options: tuple[ServingOption, ...], counts: Sequence[int], kinds: Sequence[Kind]
) -> Fleet:
    """Add up the replicas of each kind that are firm, and those on spot."""
    together: dict[tuple[Kind, bool], tuple[ServingOption, int]] = {}
    for one, count, kind in zip(options, counts, kinds, strict=True):
        name = (kind, one.on_spot)
        together[name] = (one, together.get(name, (one, 0))[1] + count)
    return tuple(together.values())


def _stands_idle(kinds: Sequence[Kind], counts: tuple[int, ...], most: Sequence[int]) -> bool:
    """Say whether a kind has more replicas, firm and spot, than carry the whole load.

    Kinds of one layout, which differ in their rates alone, are held to the slowest one together.
    """
    total: dict[object, int] = {}
    limit: dict[object, int] = {}
    for kind, count, alone in zip(kinds, counts, most, strict=True):
        for name in (kind, kind[0]):
            total[name] = total.get(name, 0) + count
            limit[name] = max(limit.get(name, 0), alone)
    return any(total[name] > limit[name] for name in total)


def _stays_up(tiny: Tiny, service: Service, option: ServingOption) -> tuple[int, ...] | None:
    """Try every series of replicas of a kind: the fewest replica-hours, the latest to come.

    Where each stays up for a least time; None where none has to.
    """
    slots = math.ceil(service.min_up_time / tiny.case.workloads.horizon.slot)
    if slots <= 1:
        return None
    wanted = tuple(
        _most_replicas(service, option, [requests * size.share for size in service.sizes])
        for requests in load_requests_per_s(service, tiny.case.workloads.horizon)
    )
    return _fewest_up(wanted, slots)


@cache
def _fewest_up(wanted: tuple[int, ...], slots: int) -> tuple[int, ...]:
    every = itertools.product(*(range(count, max(wanted) + 1) for count in wanted))
    return min((one for one in every if _all_stay(one, slots)), key=lambda one: (sum(one), *one))


def _all_stay(replicas: tuple[int, ...], slots: int) -> bool:
    for number in range(1, max(replicas) + 1):
        spells = itertools.groupby(count >= number for count in replicas)
        lengths = [(is_up, len(list(same))) for is_up, same in spells]
        if any(is_up and length < slots for is_up, length in lengths[:-1]):
            return False
    return True


def _most_replicas(service: Service, option: ServingOption, classes: list[float]) -> int:
    """Count the replicas that carry the whole load alone: more would stand idle."""
    alone = _carrying(option, classes)
    asked = service.availability
    zoned = _with_spare_zone(alone, asked.min_zones) if asked.spare_zone else 0
    return max(alone + _spares(service, option), service.min_replicas, zoned)


def _spares(service: Service, option: ServingOption) -> int:
    """Count the replicas that are gone with as many GPUs as may be lost, full of them."""
    gpus = option.candidate.gpus
    held = 1 if gpus >= 1 else int(1 / gpus)
    return service.availability.spare_replicas * held


def _carrying(option: ServingOption, classes: list[float]) -> int:
    rates = [rate.requests_per_s for rate in option.candidate.rates]
    return math.ceil(sum(c / r for c, r in zip(classes, rates, strict=True)) - 1e-6)


def busy_slots(tiny: Tiny, service: Service, option: ServingOption, share: float) -> list[int]:
    """List the slots of the largest fleets for a share of the time, equal ones together."""
    load = load_requests_per_s(service, tiny.case.workloads.horizon)
    fleets = []
    for requests in load:
        classes = [requests * size.share for size in service.sizes]
        firm = [(1 - service.spot.max_share) * part for part in classes]
        rates = [rate.requests_per_s for rate in option.candidate.rates]
        alone = math.ceil(sum(c / r for c, r in zip(firm, rates, strict=True)) - 1e-6)
        fleets.append((_most_replicas(service, option, classes), alone))
    up = _stays_up(tiny, service, option)
    if up is not None:
        fleets = [(count, alone) for count, (_, alone) in zip(up, fleets, strict=True)]
    for size in sorted(set(fleets), reverse=True):
        slots = [slot for slot, fleet in enumerate(fleets) if fleet >= size]
        if len(slots) >= share * tiny.slots - 1e-7:
            return slots
    return list(range(tiny.slots))


def carries(
    service: Service,
    options: tuple[ServingOption, ...],
    replicas: list[int],
    classes: list[float],
    *,
    all_on_spot: bool = False,
) -> bool:
    """Say whether the replicas carry the load, spot no more than its share of it."""
    room = (1.0 if all_on_spot else service.spot.max_share) * sum(classes)
    if len(classes) == 1:
        firm = sum(
            count * one.candidate.rates[0].requests_per_s
            for one, count in zip(options, replicas, strict=True)
            if not one.on_spot
        )
        spot = sum(
            count * one.candidate.rates[0].requests_per_s
            for one, count in zip(options, replicas, strict=True)
            if one.on_spot
        )
        return firm + min(spot, room) >= classes[0] * (1 - SLACK)
    assert len(options) <= 2
    assert not any(one.on_spot for one in options)
    return _two_classes(options, replicas, classes)


def _two_classes(
    options: tuple[ServingOption, ...], replicas: list[int], classes: list[float]
) -> bool:
    """Fill the first group with what it is best at; the second must carry the rest."""
    rates = [[rate.requests_per_s for rate in one.candidate.rates] for one in options]
    if len(options) == 1:
        need = sum(part / rate for part, rate in zip(classes, rates[0], strict=True))
        return need <= replicas[0] + SLACK
    order = sorted(range(2), key=lambda k: -rates[0][k] / rates[1][k])
    left, rest = float(replicas[0]), 0.0
    for k in order:
        taken = min(left, classes[k] / rates[0][k])
        left -= taken
        rest += (classes[k] - taken * rates[0][k]) / rates[1][k]
    return rest <= replicas[1] + SLACK


def weights_usd_per_hour(fleets: tuple[Fleet, ...]) -> float:
    """Add up what the weights of all replicas that are up cost to keep."""
    every = itertools.chain.from_iterable(fleets)
    return sum(count * float(option.storage_usd_per_hour) for option, count in every)
