"""Whether the plan in force can go on: with tonight's offers, for tonight's demand, by the rules.

It is taken as it would be run tonight: its offers at their new prices, what it carries sized anew,
the load of tonight shared out as it was. The independent check then says what does not hold. Of
scenarios the forecast is asked for alone: it is what comes until another one does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import numpy as np

from broker.domain.case import Case, forecast_alone
from broker.domain.offer import Limits, Offer, PriceKind
from broker.domain.plan import (
    CostLine,
    Plan,
    Purchase,
    ServingAssignment,
    ServingStep,
    Term,
    TrainingAssignment,
)
from broker.domain.pool import Role
from broker.domain.surcharge import paid_by_key
from broker.planning.differences.lines import Window, promised_usd, repriced_usd
from broker.planning.nightly.data_window import storage_lines
from broker.verification.check import check
from broker.verification.facts import Group, gather
from broker.verification.timeline import Array

_RULES = frozenset(
    {
        *("capacity", "split", "isolation", "replica_rate"),
        *("serving_options", "training_options"),
        *(
            "spot_share",
            "windows",
            "durations",
            "interruptions",
            "tokens",
            "quotas",
            "limits",
            "stock",
        ),
        *(
            "provider_share",
            "plan_share",
            "owned_nodes",
            "price_kinds",
            "places",
            "certifications",
            "budget",
            "budgets",
            "month_budgets",
        ),
        *("pools_together", "groups", "min_up_time", "min_zones", "spare_zone"),
        *("serve_load", "min_replicas", "start_up", "runs"),
    }
)
"""Rules of the check that a plan in force must keep; the others are about costs and claims."""


def why_not_on(
    plan: Plan,
    case: Case,
    window: Window,
    *,
    known: frozenset[str],
    bought: frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    """Say why a plan cannot go on, none where it can.

    Args:
        plan: the plan in force.
        case: tonight's demand, offers and options.
        window: the time from now on.
        known: the keys of all offers of tonight's catalog, held back or not.
        bought: lines of the plan that were executed: what their offers say now, or how many
            are left of them, is nothing to nodes that one has.
    """
    horizon = plan.workloads.horizon
    if horizon.start > window.from_at or horizon.end < window.to_at:
        span = f"{horizon.start:%Y-%m-%d} to {horizon.end:%Y-%m-%d}"
        return (f"it is for {span}, the workloads file for longer",)
    gone = tuple(_gone(plan, case, window, known=known, bought=bought))
    if gone:
        return gone
    given = _with_bought(forecast_alone(case), plan, bought)
    found = check(_as_of_tonight(plan, given), given)
    return tuple(
        f"{one.rule.replace('_', ' ')} of {one.subject}: {one.message}"
        for one in found
        if one.rule in _RULES and one.subject not in bought
    )


def _gone(
    plan: Plan, case: Case, window: Window, *, known: frozenset[str], bought: frozenset[str]
) -> Iterator[str]:
    plannable = {offer.key for offer in case.offers}
    for one in plan.purchases:
        is_bought = one.price_kind is PriceKind.OWNED or one.id in bought
        if is_bought or one.offer in plannable or not window.clipped(one.steps):
            continue
        if one.offer in known:
            yield f"{one.offer} cannot be planned with: held back, too old, or not allowed"
        else:
            yield f"{one.offer} is not offered any more"


def _with_bought(case: Case, plan: Plan, bought: frozenset[str]) -> Case:
    """Keep the offers of what is bought, without a limit, though nobody else can buy them now.

    A commitment costs what it did when it was bought, whatever new ones are sold at.
    """
    keys = {one.offer for one in plan.purchases if one.id in bought}
    fixed = [offer for offer in plan.offers if offer.commitment or offer.block]
    known = {
        offer.key: offer for offer in (*plan.offers, *case.offers, *fixed) if offer.key in keys
    }
    had = [offer.model_copy(update={"limits": Limits()}) for offer in known.values()]
    others = [offer for offer in case.offers if offer.key not in keys]
    machines = {offer.machine: offer for offer in had} | dict(case.machines)
    return replace(case, offers=(*others, *had), machines=machines)


def _as_of_tonight(plan: Plan, case: Case) -> Plan:
    horizon = case.workloads.horizon
    whole = Window(horizon.start, horizon.end)
    prices = paid_by_key(case.offers, case.workloads.policy.surcharges)
    purchases = tuple(_repriced(one, prices, whole) for one in plan.purchases)
    wanted = {one.name for one in case.workloads.services}
    runs = {one.name for one in case.workloads.runs}
    serving = [_resized(one, case) for one in plan.serving if one.service in wanted]
    trained = [_remeasured(one, case) for one in plan.training if one.run in runs]
    egress = tuple(line for line in plan.cost_lines if line.term is Term.EGRESS)
    lines = (*(_charged(one) for one in purchases), *egress, *storage_lines(plan, whole))
    tonight = plan.model_copy(
        update={
            "workloads": case.workloads,
            "purchases": purchases,
            "cost_lines": lines,
            "total_usd": sum((line.usd for line in lines), Decimal(0)),
            "serving": tuple(serving),
            "training": tuple(trained),
            "scenarios": None,
        }
    )
    return _rerouted(tonight, case)


def _repriced(purchase: Purchase, prices: Mapping[str, Offer], whole: Window) -> Purchase:
    promised = promised_usd(purchase, whole)
    if promised is not None:
        return purchase.model_copy(update={"usd": promised})
    clipped = purchase.model_copy(update={"steps": whole.clipped(purchase.steps)})
    offer = prices.get(purchase.offer)
    if offer is None:  # owned, or over: it is not paid for from now on
        return clipped
    return clipped.model_copy(update={"usd": repriced_usd(clipped, offer)})


def _charged(purchase: Purchase) -> CostLine:
    """Charge a purchase under any term: the rule of the budget adds up all of them."""
    return CostLine(term=Term.ON_DEMAND, subject=purchase.id, usd=purchase.usd)


def _resized(one: ServingAssignment, case: Case) -> ServingAssignment:
    for option in case.serving:
        same = (option.service, option.user_region, option.machine, option.on_spot)
        mine = (one.service, one.user_region, one.machine, one.on_spot)
        if same == mine and option.candidate.id == one.candidate.id:
            return one.model_copy(update={"candidate": option.candidate})
    return one


def _remeasured(one: TrainingAssignment, case: Case) -> TrainingAssignment:
    for option in case.training:
        now = option.candidate
        if (option.run, option.machine) != (one.run, one.machine):
            continue
        if (now.id, now.on_spot) == (one.candidate.id, one.on_spot):
            lengths = [(step.to_at - step.from_at).total_seconds() for step in one.steps]
            up_s = sum(max(0.0, length - now.startup_s) for length in lengths)
            tokens = up_s * now.tokens_per_s
            return one.model_copy(update={"candidate": now, "tokens": tokens})
    return one


def _role_of(one: ServingAssignment) -> Role | None:
    return None if one.candidate.pool is None else one.candidate.pool.role


def _rerouted(plan: Plan, case: Case) -> Plan:
    """Share tonight's load out among the groups as they share the plan's."""
    facts = gather(plan, case, snapshot=None, workloads_sha256=None)
    starts = [slot.start_at for slot in case.workloads.horizon.slots()]
    starts.append(case.workloads.horizon.end)
    serving = []
    written = {id(one): whole for one, whole in zip(facts.groups, plan.serving, strict=True)}
    for service in case.workloads.services:
        for region in service.users:
            groups = facts.groups_of(service.name, region)
            needed = facts.needed_requests_per_s(service, region)
            for role in (None, *Role):
                own = [one for one in groups if _role_of(one.assignment) is role]
                for group, share in zip(own, _shares(own, needed) if own else (), strict=True):
                    steps = _steps(group.replicas, share * needed, starts)
                    serving.append(written[id(group)].model_copy(update={"steps": steps}))
    return plan.model_copy(update={"serving": tuple(serving)})


def _steps(
    replicas: Array, requests_per_s: Array, starts: Sequence[datetime]
) -> tuple[ServingStep, ...]:
    return tuple(
        ServingStep(
            from_at=starts[slot],
            to_at=starts[slot + 1],
            replicas=int(replicas[slot]),
            requests_per_s=tuple(requests_per_s[slot].tolist()),
        )
        for slot in np.flatnonzero(replicas).tolist()
    )


def _shares(groups: Sequence[Group], like: Array) -> Iterator[Array]:
    """Give each group's part of every slot and size class; by replicas where nothing was sent."""
    sent, replicas = np.zeros_like(like), np.zeros((len(like), 1))
    for group in groups:
        sent += group.requests_per_s
        replicas += group.replicas[:, None]
    with np.errstate(all="ignore"):
        for group in groups:
            by_replicas = np.nan_to_num(group.replicas[:, None] / replicas)
            yield np.where(sent > 0, group.requests_per_s / sent, by_replicas)
