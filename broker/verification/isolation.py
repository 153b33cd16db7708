"""Isolation: nodes of an isolated workload are its own.

To hold a plan to that, its work and its nodes are looked at on a machine of their own: a rule about
a machine then sees one tenant's work beside one tenant's nodes, and no node counts for two.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from broker.domain.case import Case
from broker.domain.offer import Offer
from broker.domain.plan import Plan, Purchase

_FOR = " alone for "


def kept_apart(plan: Plan, case: Case) -> tuple[Plan, Case]:
    """Put the work and the nodes of each isolated workload on machines of their own."""
    isolated = case.workloads.policy.isolated
    if not isolated:
        return plan, case
    return _plan_apart(plan, case), _case_apart(case)


def wrong_tenants(plan: Plan, case: Case) -> Iterator[tuple[str, str]]:
    """Find purchases that are kept for a workload that is not isolated."""
    isolated = case.workloads.policy.isolated
    for one in plan.purchases:
        if one.isolated_for is not None and one.isolated_for not in isolated:
            known = ", ".join(isolated) or "none"
            yield one.id, f"is isolated_for {one.isolated_for!r}; isolated workloads are {known}"
    same = Counter((one.offer, one.isolated_for, _window(one)) for one in plan.purchases)
    for (offer, tenant, _), count in same.items():
        if tenant is not None and count > 1:
            yield offer, f"stands {count} times for {tenant!r}; once is right"


def sold_tier(offer: Offer) -> str:
    """Give the tier of an offer as it is sold."""
    return offer.tier.partition(_FOR)[0]


def sold_key(key: str) -> str:
    """Give the key of an offer as it is sold."""
    machine, at, kind = key.partition("@")
    return f"{machine.partition(_FOR)[0].removesuffix(':')}{at}{kind}"


def _window(one: Purchase) -> object:
    return (one.price_kind, one.block)


def _plan_apart(plan: Plan, case: Case) -> Plan:
    isolated = case.workloads.policy.isolated
    offers = {offer.key: offer for offer in plan.offers}
    more = {
        number: _own(offers[one.offer], str(one.isolated_for))
        for number, one in enumerate(plan.purchases)
        if one.isolated_for in isolated and one.offer in offers
    }
    purchases = [
        one.model_copy(update={"offer": more[number].key}) if number in more else one
        for number, one in enumerate(plan.purchases)
    ]
    machines = case.machines
    serving = [
        one.model_copy(update={"machine": _place(machines, one.machine, one.service, isolated)})
        for one in plan.serving
    ]
    training = [
        one.model_copy(update={"machine": _place(machines, one.machine, one.workload, isolated)})
        for one in plan.training
    ]
    return plan.model_copy(
        update={
            "purchases": tuple(purchases),
            "serving": tuple(serving),
            "training": tuple(training),
            "offers": (*plan.offers, *{one.key: one for one in more.values()}.values()),
        }
    )


def _case_apart(case: Case) -> Case:
    isolated = case.workloads.policy.isolated
    machines = dict(case.machines)
    for name in isolated:
        for offer in case.machines.values():
            own = _own(offer, name)
            machines[own.machine] = own
    return replace(
        case,
        offers=(*case.offers, *(_own(one, name) for one in case.offers for name in isolated)),
        machines=machines,
        serving=tuple(
            replace(one, machine=_place(case.machines, one.machine, one.service, isolated))
            for one in case.serving
        ),
        training=tuple(
            replace(
                one,
                machine=_place(case.machines, one.machine, one.run.partition("@")[0], isolated),
            )
            for one in case.training
        ),
        owned=tuple(
            replace(one, machine=_place(case.machines, one.machine, one.isolated_for, isolated))
            for one in case.owned
        ),
    )


def _place(
    machines: Mapping[str, Offer], machine: str, workload: str | None, isolated: Sequence[str]
) -> str:
    if workload not in isolated or machine not in machines:
        return machine
    return _own(machines[machine], str(workload)).machine


def _own(offer: Offer, name: str) -> Offer:
    """Copy an offer onto a machine of its own; it draws on the stock that it did."""
    limits = offer.limits
    if offer.stock is not None:
        limits = limits.model_copy(update={"stock_pool": offer.stock[0]})
    tier = f"{offer.tier}{_FOR}{name}"
    return offer.model_copy(update={"tier": tier, "limits": limits})
