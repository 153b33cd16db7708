"""A case with one thing changed: prices, rules, order, slots, or an offer more."""

import random
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from tiny_cases import offer, serving, training

from broker.domain.case import Case, ServingOption
from broker.domain.offer import Commitment, Offer, Payment, PriceKind
from broker.domain.workload import Workloads


def with_workloads(of: Case, changes: Mapping[str, object]) -> Case:
    """Change entries of the workloads, each named by its path; a path may lead to a new entry."""
    root = of.workloads.model_dump(mode="json", by_alias=True)
    for path, value in changes.items():
        *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
        place = root
        for part in parents:
            place = place[part]
        place[last] = value
    return replace(of, workloads=Workloads.model_validate(root, strict=False))


def placed(of: Case, places: Mapping[str, tuple[str, str | None]]) -> Case:
    """Move machines to other regions and zones, each named by its key."""

    def moved(one: Offer) -> Offer:
        if one.machine not in places:
            return one
        region, zone = places[one.machine]
        place = one.place.model_copy(update={"region": region, "zone": zone})
        return one.model_copy(update={"place": place})

    names = {one.machine: moved(one).machine for one in of.machines.values()}
    return replace(
        of,
        offers=tuple(sorted(map(moved, of.offers), key=lambda one: one.key)),
        machines={names[key]: moved(one) for key, one in of.machines.items()},
        serving=tuple(replace(one, machine=names[one.machine]) for one in of.serving),
        training=tuple(replace(one, machine=names[one.machine]) for one in of.training),
        owned=tuple(replace(one, machine=names[one.machine]) for one in of.owned),
    )


def doubled(of: Case) -> Case:
    """Double all that is in dollars: prices, upfronts, egress, budget, the cap on cash."""
    offers = {one.key: _twice_as_dear(one) for one in (*of.offers, *of.machines.values())}
    policy = of.workloads.policy
    cap = policy.commitments.max_upfront_usd
    changes: dict[str, object] = {}
    if policy.budget_usd_per_month is not None:
        changes["policy.budget_usd_per_month"] = str(2 * policy.budget_usd_per_month)
    if cap is not None:
        changes["policy.commitments.max_upfront_usd"] = str(2 * cap)
    return replace(
        with_workloads(of, changes),
        offers=tuple(offers[one.key] for one in of.offers),
        machines={machine: offers[one.key] for machine, one in of.machines.items()},
        training=tuple(
            replace(
                one,
                egress_usd=2 * one.egress_usd,
                result_egress_usd=2 * one.result_egress_usd,
                storage_usd=2 * one.storage_usd,
            )
            for one in of.training
        ),
        serving=tuple(
            replace(
                one,
                egress_usd=2 * one.egress_usd,
                storage_usd_per_hour=2 * one.storage_usd_per_hour,
            )
            for one in of.serving
        ),
    )


def shuffled(of: Case, seed: int) -> Case:
    """Put offers, options and owned nodes into another order."""
    draw = random.Random(seed)  # noqa: S311 - instances, not secrets
    machines = list(of.machines.items())
    draw.shuffle(machines)
    return replace(
        of,
        offers=tuple(draw.sample(of.offers, k=len(of.offers))),
        machines=dict(machines),
        serving=tuple(draw.sample(of.serving, k=len(of.serving))),
        training=tuple(draw.sample(of.training, k=len(of.training))),
        owned=tuple(draw.sample(of.owned, k=len(of.owned))),
    )


def reversed_workloads(of: Case) -> Case:
    """List services, runs and quotas the other way round."""
    workloads = of.workloads.model_copy(
        update={
            "services": of.workloads.services[::-1],
            "training": of.workloads.training[::-1],
            "quotas": of.workloads.quotas[::-1],
        }
    )
    return replace(of, workloads=workloads)


def with_another_machine(of: Case, seed: int) -> Case:
    """Offer one more machine, on demand and on spot, for every service and run."""
    draw = random.Random(seed)  # noqa: S311 - instances, not secrets
    gpus = draw.choice([1, 2, 4])
    extra = offer(f"{draw.uniform(0.3, 3):.2f}", name="extra", gpus=gpus)
    spot = offer(f"{draw.uniform(0.1, 2):.2f}", name="extra", gpus=gpus, kind=PriceKind.SPOT)
    options: list[ServingOption] = []
    for service in of.workloads.services:
        rates = [draw.uniform(0.8, 4) for _ in service.sizes]
        for on_spot in [False, True] if service.spot.max_share else [False]:
            options.extend(
                serving(extra, rates, service=service.name, user_region=region, on_spot=on_spot)
                for region in service.users
            )
    runs = [
        training(extra, run=run.name, tokens_per_s=draw.uniform(1, 2.5))
        for run in of.workloads.training
    ]
    return replace(
        of,
        offers=(*of.offers, extra, spot),
        machines={**of.machines, extra.machine: extra},
        serving=(*of.serving, *options),
        training=(*of.training, *runs),
    )


def with_another_commitment(of: Case, seed: int) -> Case:
    """Offer a commitment more on each machine, of a term that it has already where it has one."""
    draw = random.Random(seed)  # noqa: S311 - instances, not secrets
    terms = {one.machine: one.commitment for one in of.offers if one.commitment is not None}
    extra = [
        _committed(one, terms.get(one.machine), f"{float(one.usd_per_hour) * draw.random():.2f}")
        for one in of.offers
        if one.price_kind is PriceKind.ON_DEMAND
    ]
    return replace(of, offers=(*of.offers, *extra))


def without_runs(of: Case) -> Case:
    """Leave the services alone."""
    workloads = of.workloads.model_copy(update={"training": ()})
    return replace(of, workloads=workloads, training=())


def _committed(of: Offer, like: Commitment | None, usd_per_hour: str) -> Offer:
    term_months = like.term_months if like else 12
    return of.model_copy(
        update={
            "price_kind": PriceKind.RESERVED,
            "usd_per_hour": Decimal(usd_per_hour).quantize(Decimal("0.000001")),
            "commitment": Commitment(term_months=term_months, payment=Payment.MONTHLY),
        }
    )


def _twice_as_dear(one: Offer) -> Offer:
    commitment = one.commitment
    if commitment is not None:
        upfront_usd = 2 * commitment.upfront_usd
        commitment = commitment.model_copy(update={"upfront_usd": upfront_usd})
    return one.model_copy(update={"usd_per_hour": 2 * one.usd_per_hour, "commitment": commitment})
