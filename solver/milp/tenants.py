"""Workloads that share no node: each has machines of its own, with nodes of its own.

A machine on which an isolated workload may work comes once more, for that workload alone, with all
its offers; so what is committed, owned, booked, rented or on spot for the one is never the other's,
for as long as it is held. All that holds of a machine then holds of these nodes: capacity, levels
of commitments, pruning, prices and search know nothing of tenants. What the copies of one offer
share are its limits: stock and quotas as all offers do, the most nodes by `tenant_limit`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from broker.domain.case import Case, Tenant, standing, with_surcharges
from broker.domain.offer import Offer
from broker.domain.plan import CostLine, Purchase, ServingAssignment, TrainingAssignment

_APART = "#"


def prepared(case: Case) -> Case:
    """Give a case as the program has it: at paid prices, isolated workloads on their own nodes."""
    return with_tenants(with_surcharges(case))


def with_tenants(case: Case) -> Case:
    """Put each isolated workload on copies of its machines; once."""
    isolated = case.workloads.policy.isolated
    if not isolated or case.tenants:
        return case
    used = {(one.machine, one.service) for one in case.serving}
    used |= {(one.machine, workload_of(one.run)) for one in case.training}
    pairs = sorted((machine, name) for machine, name in used if name in isolated)
    copies: dict[str, list[str]] = {}
    for machine, name in pairs:
        copies.setdefault(machine, []).append(name)
    machines = {pair: _copy(case.machines[pair[0]], pair[1]).machine for pair in pairs}
    apart = replace(
        case,
        offers=tuple(_offers(case.offers, copies)),
        machines={**case.machines, **_machines(case, machines)},
        serving=tuple(
            replace(one, machine=machines.get((one.machine, one.service), one.machine))
            for one in case.serving
        ),
        training=tuple(
            replace(one, machine=machines.get((one.machine, workload_of(one.run)), one.machine))
            for one in case.training
        ),
        owned=tuple(
            replace(one, machine=machines[one.machine, one.isolated_for])
            if one.isolated_for
            else one
            for one in case.owned
            if one.isolated_for is None or (one.machine, one.isolated_for) in machines
        ),
        listed={one.key: one for one in _offers(case.listed.values(), copies)},
        tenants={machines[machine, name]: Tenant(name, machine) for machine, name in pairs},
    )
    return standing(apart)  # an owned node kept for one workload is none for another


def workload_of(run: str) -> str:
    """Name the workload of a run: a day of a batch job is named `job@date`."""
    return run.partition("@")[0]


def sold_as(case: Case, machine: str) -> str:
    """Name the machine as it is sold."""
    tenant = case.tenants.get(machine)
    return tenant.machine if tenant else machine


def keys_of(case: Case, key: str) -> tuple[str, ...]:
    """List the keys under which the program has an offer: its own, and those of its copies."""
    machine, _, kind = key.partition("@")
    return (key, *(f"{own}@{kind}" for own, one in case.tenants.items() if one.machine == machine))


def purchases_sold(case: Case, bought: Iterable[Purchase]) -> tuple[Purchase, ...]:
    """Name what is bought as it is sold, and for whom it is bought alone."""
    sold = [_sold(case, one) for one in bought]
    return tuple(sorted(sold, key=lambda purchase: purchase.id))


def lines_sold(case: Case, lines: Iterable[CostLine]) -> tuple[CostLine, ...]:
    """Name the purchases that cost lines are for as they are sold."""
    return tuple(line.model_copy(update={"subject": id_sold(case, line.subject)}) for line in lines)


def serving_sold(case: Case, serving: Sequence[ServingAssignment]) -> tuple[ServingAssignment, ...]:
    """Put replicas on machines as they are sold."""
    return tuple(one.model_copy(update={"machine": sold_as(case, one.machine)}) for one in serving)


def training_sold(
    case: Case, training: Sequence[TrainingAssignment]
) -> tuple[TrainingAssignment, ...]:
    """Put gangs on machines as they are sold."""
    return tuple(one.model_copy(update={"machine": sold_as(case, one.machine)}) for one in training)


def id_sold(case: Case, name: str) -> str:
    """Name a line of purchases as it is sold, and for whom alone."""
    machine, _, rest = name.partition("@")
    tenant = case.tenants.get(machine)
    return f"{tenant.machine}@{rest}{_APART}{tenant.workload}" if tenant else name


def _sold(case: Case, one: Purchase) -> Purchase:
    machine, _, kind = one.offer.partition("@")
    tenant = case.tenants.get(machine)
    if tenant is None:
        return one
    named = {"id": id_sold(case, one.id), "offer": f"{tenant.machine}@{kind}"}
    return one.model_copy(update={**named, "isolated_for": tenant.workload})


def _machines(case: Case, machines: Mapping[tuple[str, str], str]) -> dict[str, Offer]:
    return {own: _copy(case.machines[machine], name) for (machine, name), own in machines.items()}


def _offers(offers: Iterable[Offer], copies: Mapping[str, Sequence[str]]) -> list[Offer]:
    found = []
    for one in offers:
        found.append(one)
        found += [_copy(one, name) for name in copies.get(one.machine, ())]
    return sorted(found, key=lambda one: one.key)


def _copy(offer: Offer, name: str) -> Offer:
    """Copy an offer for one workload: a tier of its own, the same stock."""
    changed: dict[str, object] = {"tier": f"{offer.tier}{_APART}{name}"}
    if offer.stock is not None:
        pool = {"stock_pool": offer.stock[0]}
        changed["limits"] = offer.limits.model_copy(update=pool)
    return offer.model_copy(update=changed)
