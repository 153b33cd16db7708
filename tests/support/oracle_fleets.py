"""Fleets of a tiny case: which replicas a slot can have, and what loads they carry."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

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

    @property
    def slots(self) -> int:
        return len(self.case.workloads.horizon.slots())

    @property
    def slot_h(self) -> float:
        return self.case.workloads.horizon.slots()[0].hours

    def price(self, machine: str, kind: PriceKind) -> float | None:
        found = [o for o in self.case.offers if o.machine == machine and o.price_kind is kind]
        return float(found[0].usd_per_hour) if found else None

    def gpus(self, machine: str) -> int:
        return int(self.case.machines[machine].hardware.shape.gpu_count)


def fleets_of(
    tiny: Tiny, service: Service, slot: int, options: tuple[ServingOption, ...]
) -> Iterator[Fleet]:
    load = load_requests_per_s(service, tiny.case.workloads.horizon)[slot]
    classes = [load * size.share for size in service.sizes]
    most = [_most_replicas(service, option, classes) for option in options]
    for counts in itertools.product(*(range(count + 1) for count in most)):
        if sum(counts) < service.min_replicas or _stands_idle(options, counts, most):
            continue
        spare = service.availability.spare_replicas
        beyond = [
            count if one.on_spot else count - spare
            for one, count in zip(options, counts, strict=True)
        ]
        if min(beyond) < 0:
            continue
        if carries(service, options, beyond, classes):
            yield tuple(zip(options, counts, strict=True))


def _stands_idle(
    options: tuple[ServingOption, ...], counts: tuple[int, ...], most: list[int]
) -> bool:
    """Say whether a kind has more replicas, firm and spot, than carry the whole load."""
    total: dict[tuple[str, str], int] = {}
    for one, count in zip(options, counts, strict=True):
        kind = (one.machine, one.candidate.id)
        total[kind] = total.get(kind, 0) + count
    return any(
        total[one.machine, one.candidate.id] > limit
        for one, limit in zip(options, most, strict=True)
    )


def _most_replicas(service: Service, option: ServingOption, classes: list[float]) -> int:
    """Count the replicas that carry the whole load alone: more would stand idle."""
    rates = [rate.requests_per_s for rate in option.candidate.rates]
    alone = math.ceil(sum(c / r for c, r in zip(classes, rates, strict=True)) - 1e-6)
    return max(alone + service.availability.spare_replicas, service.min_replicas)


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
