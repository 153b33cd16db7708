"""The cheapest plan of a tiny case by trying everything; it shares no code with the program.

It reads a case alone: single user region, services with one or two size classes, at most two
groups a service, at most one run. Costs are floats in dollars.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from broker.domain.case import Case, ServingOption, TrainingOption, breakeven_utilization
from broker.domain.offer import Offer, PriceKind
from broker.domain.traffic import load_requests_per_s
from broker.domain.workload import Service, Sharing

INFEASIBLE = math.inf
_SLACK = 1e-9
Gang = tuple[TrainingOption, tuple[int, ...]] | None
Fleet = tuple[tuple[ServingOption, int], ...]
"""One slot of one service: options with their replicas."""


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


def cheapest_usd(tiny: Tiny) -> float:
    """Try every commitment, every placement of the run and every choice of groups."""
    committed = [o for o in tiny.case.offers if o.commitment is not None]
    counts = itertools.product(range(tiny.most_committed + 1), repeat=len(committed))
    best = INFEASIBLE
    for nodes in counts:
        commitments = list(zip(committed, nodes, strict=True))
        if _upfront_usd(commitments) > _most_upfront_usd(tiny):
            continue
        for gang in _gangs(tiny):
            for groups in _group_choices(tiny):
                for apart in _divisions(tiny, commitments, gang):
                    usd = _cost(tiny, commitments, gang=gang, groups=groups, apart=apart)
                    best = min(best, usd)
    budget = tiny.case.workloads.policy.budget_usd_per_month
    limit = float(budget) * tiny.case.workloads.horizon.hours / 730 if budget else INFEASIBLE
    return best if best <= limit + 1e-6 else INFEASIBLE


def _divisions(
    tiny: Tiny, commitments: list[tuple[Offer, int]], gang: Gang
) -> Iterator[int | None]:
    """Give the ways to keep fixed nodes of the run's machine for the run; None shares them all."""
    if tiny.case.workloads.policy.sharing is Sharing.CONVERGED or gang is None:
        yield None
        return
    machine = gang[0].machine
    fixed = sum(nodes for offer, nodes in commitments if offer.machine == machine)
    fixed += sum(one.nodes for one in tiny.case.owned if one.machine == machine)
    yield from range(fixed + 1)


def _upfront_usd(commitments: list[tuple[Offer, int]]) -> float:
    return sum(
        nodes * float(offer.commitment.upfront_usd)
        for offer, nodes in commitments
        if offer.commitment
    )


def _most_upfront_usd(tiny: Tiny) -> float:
    limit = tiny.case.workloads.policy.commitments.max_upfront_usd
    return INFEASIBLE if limit is None else float(limit)


def _gangs(tiny: Tiny) -> Iterator[Gang]:
    runs = tiny.case.workloads.training
    if not runs:
        yield None
        return
    (run,) = runs
    for option in tiny.case.training:
        for size in range(1, tiny.slots + 1):
            for up in itertools.combinations(range(tiny.slots), size):
                pieces = sum(1 for slot in up if slot - 1 not in up)
                if pieces > 1 and not run.restartable:
                    continue
                if option.candidate.on_spot and not run.restartable:
                    continue
                useful_s = size * tiny.slot_h * 3600 - pieces * option.candidate.startup_s
                if useful_s * option.candidate.tokens_per_s >= run.tokens * (1 - _SLACK):
                    yield option, up


def _group_choices(tiny: Tiny) -> Iterator[dict[str, tuple[ServingOption, ...]]]:
    services = tiny.case.workloads.services
    per_service = []
    for service in services:
        kinds: dict[tuple[str, str], list[ServingOption]] = {}
        for one in tiny.case.serving:
            if one.service == service.name:
                kinds.setdefault((one.machine, one.candidate.id), []).append(one)
        limit = tiny.case.workloads.policy.max_groups
        per_service.append(
            [
                tuple(option for kind in chosen for option in kind)
                for size in range(1, limit + 1)
                for chosen in itertools.combinations(kinds.values(), size)
            ]
        )
    for combination in itertools.product(*per_service):
        yield {service.name: chosen for service, chosen in zip(services, combination, strict=True)}


def _cost(
    tiny: Tiny,
    commitments: list[tuple[Offer, int]],
    *,
    gang: Gang,
    groups: dict[str, tuple[ServingOption, ...]],
    apart: int | None,
) -> float:
    total = float(gang[0].egress_usd) if gang else 0.0
    for offer, nodes in commitments:
        assert offer.commitment is not None
        term_h = offer.commitment.term_months * 730
        active_h = min(term_h, tiny.case.workloads.horizon.hours)
        hourly = float(offer.usd_per_hour) + float(offer.commitment.upfront_usd) / term_h
        total += nodes * hourly * active_h
    horizon_h = tiny.case.workloads.horizon.hours
    outliving = [
        (offer, nodes)
        for offer, nodes in commitments
        if nodes and offer.commitment and offer.commitment.term_months * 730 > horizon_h
    ]
    frontiers = [
        _slot_costs(tiny, slot, commitments=commitments, gang=gang, groups=groups, apart=apart)
        for slot in range(tiny.slots)
    ]
    return total + _join(tiny, frontiers, outliving)


def _slot_costs(
    tiny: Tiny,
    slot: int,
    *,
    commitments: list[tuple[Offer, int]],
    gang: Gang,
    groups: dict[str, tuple[ServingOption, ...]],
    apart: int | None,
) -> list[tuple[float, dict[str, float]]]:
    """Give the cost of every way through a slot, with the GPUs that services take by machine."""
    services = tiny.case.workloads.services
    ways = [list(_fleets(tiny, service, slot, groups[service.name])) for service in services]
    found = []
    for fleets in itertools.product(*ways):
        usd, served = _nodes_cost(
            tiny, slot, commitments=commitments, gang=gang, fleets=fleets, apart=apart
        )
        if usd < INFEASIBLE:
            found.append((usd * tiny.slot_h, served))
    return found


def _fleets(
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
        if _carries(service, options, beyond, classes):
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


def _carries(
    service: Service, options: tuple[ServingOption, ...], replicas: list[int], classes: list[float]
) -> bool:
    """Say whether the replicas carry the load, spot no more than its share of it."""
    room = service.spot.max_share * sum(classes)
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
        return firm + min(spot, room) >= classes[0] * (1 - _SLACK)
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
        return need <= replicas[0] + _SLACK
    order = sorted(range(2), key=lambda k: -rates[0][k] / rates[1][k])
    left, rest = float(replicas[0]), 0.0
    for k in order:
        taken = min(left, classes[k] / rates[0][k])
        left -= taken
        rest += (classes[k] - taken * rates[0][k]) / rates[1][k]
    return rest <= replicas[1] + _SLACK


def _nodes_cost(
    tiny: Tiny,
    slot: int,
    *,
    commitments: list[tuple[Offer, int]],
    gang: Gang,
    fleets: tuple[Fleet, ...],
    apart: int | None,
) -> tuple[float, dict[str, float]]:
    """Price a slot by the hour, or refuse it; also give the firm GPUs that services take."""
    served: dict[str, float] = {}
    usd = 0.0
    for on_spot in (False, True):
        taken: dict[str, float] = {}
        gangs: dict[str, int] = {}
        for fleet in fleets:
            for option, count in fleet:
                if option.on_spot is on_spot:
                    gpus = count * option.candidate.layout.gpus
                    taken[option.machine] = taken.get(option.machine, 0) + gpus
        if gang and slot in gang[1] and gang[0].candidate.on_spot is on_spot:
            gangs[gang[0].machine] = gang[0].candidate.nodes
        if not on_spot:
            served = dict(taken)
        rented = {
            machine: _rented_nodes(
                tiny,
                machine,
                commitments,
                gpus=taken.get(machine, 0.0),
                gang_nodes=gangs.get(machine, 0),
                apart=None if on_spot or gang is None or machine != gang[0].machine else apart,
                on_spot=on_spot,
            )
            for machine in {*taken, *gangs}
        }
        usd += _price(tiny, rented, PriceKind.SPOT if on_spot else PriceKind.ON_DEMAND)
    return usd, served


def _rented_nodes(
    tiny: Tiny,
    machine: str,
    commitments: list[tuple[Offer, int]],
    *,
    gpus: float,
    gang_nodes: int,
    apart: int | None,
    on_spot: bool,
) -> int:
    """Count the nodes to rent beside those that are committed or owned."""
    serving = math.ceil(gpus / tiny.gpus(machine) - _SLACK)
    if on_spot:
        return serving + gang_nodes
    fixed = sum(count for offer, count in commitments if offer.machine == machine)
    fixed += sum(one.nodes for one in tiny.case.owned if one.machine == machine)
    if apart is None:
        return max(serving + gang_nodes - fixed, 0)
    return max(serving - (fixed - apart), 0) + max(gang_nodes - apart, 0)


def _price(tiny: Tiny, rented: dict[str, int], kind: PriceKind) -> float:
    """Price the rented nodes by the hour; quotas name one provider and one price kind."""
    usd = 0.0
    for machine, nodes in rented.items():
        price = tiny.price(machine, kind)
        if nodes and price is None:
            return INFEASIBLE
        usd += nodes * (price or 0.0)
    for quota in tiny.case.workloads.quotas:
        under = [m for m in rented if tiny.case.machines[m].provider == quota.provider]
        if quota.price_kind is kind and sum(rented[m] * tiny.gpus(m) for m in under) > quota.gpus:
            return INFEASIBLE
    return usd


def _join(
    tiny: Tiny,
    frontiers: list[list[tuple[float, dict[str, float]]]],
    outliving: list[tuple[Offer, int]],
) -> float:
    """Add up the cheapest ways through the slots that together keep the break-even rule.

    Each machine has at most one commitment: services must need all its nodes, beside the owned
    ones, for its break-even share of the slots.
    """
    if any(not ways for ways in frontiers):
        return INFEASIBLE
    needed = {offer.machine: _breakeven(tiny, offer) * tiny.slots for offer, _ in outliving}
    nodes = {offer.machine: count for offer, count in outliving}
    best = INFEASIBLE
    pareto = [_pareto(ways, nodes, tiny) for ways in frontiers]
    for ways in itertools.product(*pareto):
        filled = {machine: sum(full[machine] for _, full in ways) for machine in nodes}
        if all(filled[machine] >= need - 1e-7 for machine, need in needed.items()):
            best = min(best, sum(usd for usd, _ in ways))
    return best


def _breakeven(tiny: Tiny, offer: Offer) -> float:
    firm = [
        one
        for one in tiny.case.offers
        if one.machine == offer.machine and one.price_kind is PriceKind.ON_DEMAND
    ]
    trend = tiny.case.workloads.policy.price_trend_per_year
    return breakeven_utilization(offer, firm[0] if firm else None, trend)


def _pareto(
    ways: list[tuple[float, dict[str, float]]], nodes: dict[str, int], tiny: Tiny
) -> list[tuple[float, dict[str, bool]]]:
    """Keep the cheapest way for each set of commitments that it fills."""
    cheapest: dict[tuple[bool, ...], float] = {}
    for usd, served in ways:
        full = tuple(
            math.ceil(served.get(machine, 0.0) / tiny.gpus(machine) - _SLACK)
            >= count + sum(one.nodes for one in tiny.case.owned if one.machine == machine)
            for machine, count in nodes.items()
        )
        cheapest[full] = min(usd, cheapest.get(full, INFEASIBLE))
    return [(usd, dict(zip(nodes, full, strict=True))) for full, usd in cheapest.items()]
