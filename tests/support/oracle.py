"""The cheapest plan of a tiny case by trying everything; it shares no code with the program.

It reads a case alone: single user region, services with one or two size classes, at most two
groups a service, at most one run. Costs are floats in dollars.
"""

import itertools
import math
from collections.abc import Iterator

from oracle_fleets import INFEASIBLE, SLACK, Fleet, Gang, Tiny, Way, carries, fleets_of

from broker.domain.case import ServingOption, breakeven_utilization
from broker.domain.offer import Offer, PriceKind
from broker.domain.traffic import load_requests_per_s
from broker.domain.workload import Sharing


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
                if useful_s * option.candidate.tokens_per_s >= run.tokens * (1 - SLACK):
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
    if any(service.start_up for service in tiny.case.workloads.services):
        assert not outliving
        return total + _join_in_order(tiny, frontiers)
    return total + _join(tiny, frontiers, outliving)


def _slot_costs(
    tiny: Tiny,
    slot: int,
    *,
    commitments: list[tuple[Offer, int]],
    gang: Gang,
    groups: dict[str, tuple[ServingOption, ...]],
    apart: int | None,
) -> list[Way]:
    """Give every way through a slot."""
    services = tiny.case.workloads.services
    ways = [list(fleets_of(tiny, service, slot, groups[service.name])) for service in services]
    found = []
    for fleets in itertools.product(*ways):
        usd, served = _nodes_cost(
            tiny, slot, commitments=commitments, gang=gang, fleets=fleets, apart=apart
        )
        if usd < INFEASIBLE:
            found.append((usd * tiny.slot_h, served, fleets))
    return found


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
    serving = math.ceil(gpus / tiny.gpus(machine) - SLACK)
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
    frontiers: list[list[Way]],
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


def _join_in_order(tiny: Tiny, frontiers: list[list[Way]]) -> float:
    """Add up the cheapest ways through the slots, of which each can be handed over to the next."""
    cheapest = {fleets: usd for usd, _, fleets in frontiers[0]}
    for slot in range(1, tiny.slots):
        following: dict[tuple[Fleet, ...], float] = {}
        for usd, _, fleets in frontiers[slot]:
            before = [
                cost for old, cost in cheapest.items() if _hands_over(tiny, slot, old, fleets)
            ]
            if before:
                following[fleets] = min(before) + usd
        cheapest = following
    return min(cheapest.values(), default=INFEASIBLE)


def _hands_over(tiny: Tiny, slot: int, old: tuple[Fleet, ...], new: tuple[Fleet, ...]) -> bool:
    """Say whether the replicas in both slots carry the lesser load; start-ups end in the slot."""
    for service, before, after in zip(tiny.case.workloads.services, old, new, strict=True):
        if not service.start_up:
            continue
        load = load_requests_per_s(service, tiny.case.workloads.horizon)
        classes = [min(load[slot - 1 : slot + 1]) * size.share for size in service.sizes]
        options = tuple(option for option, _ in after)
        staying = [min(one, two) for (_, one), (_, two) in zip(before, after, strict=True)]
        if not carries(service, options, staying, classes, all_on_spot=True):
            return False
    return True


def _breakeven(tiny: Tiny, offer: Offer) -> float:
    firm = [
        one
        for one in tiny.case.offers
        if one.machine == offer.machine and one.price_kind is PriceKind.ON_DEMAND
    ]
    trend = tiny.case.workloads.policy.price_trend_per_year
    return breakeven_utilization(offer, firm[0] if firm else None, trend)


def _pareto(
    ways: list[Way], nodes: dict[str, int], tiny: Tiny
) -> list[tuple[float, dict[str, bool]]]:
    """Keep the cheapest way for each set of commitments that it fills."""
    cheapest: dict[tuple[bool, ...], float] = {}
    for usd, served, _ in ways:
        full = tuple(
            math.ceil(served.get(machine, 0.0) / tiny.gpus(machine) - SLACK)
            >= count + sum(one.nodes for one in tiny.case.owned if one.machine == machine)
            for machine, count in nodes.items()
        )
        cheapest[full] = min(usd, cheapest.get(full, INFEASIBLE))
    return [(usd, dict(zip(nodes, full, strict=True))) for full, usd in cheapest.items()]
