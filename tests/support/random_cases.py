"""Random tiny cases: one or two machines, a service, often a run, commitments, spot, sharing."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from changed_cases import placed, with_workloads
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case, ServingOption, TrainingOption
from broker.domain.offer import Offer, Payment, PriceKind

_ALIKE = 0.5
"""How often all machines give the same rates, so that one kind of replica spreads over them."""
_SOFT = 0.6
_REGIONS = ("here", "here", "there")
_BRINGS = 0.5
"""How often weights are brought from elsewhere, where data is paid for."""
_ONE_CLASS = [{"input_tokens": 1000, "output_tokens": 200}]
_TWO_CLASSES = [
    {"input_tokens": 1000, "output_tokens": 200, "share": 0.75},
    {"input_tokens": 4000, "output_tokens": 200, "share": 0.25},
]


def random_case(
    seed: int, *, machines: Sequence[int] = (1, 2, 2), providers: Sequence[str] = ("acme",)
) -> Case:
    """Draw a case; one seed always gives the same. `machines` lists the numbers to draw from.

    Machines are those of the providers in turn.
    """
    draw = random.Random(seed)  # noqa: S311 - instances, not secrets
    boxes = [
        offer(
            f"{draw.uniform(1, 6):.2f}",
            name=f"m{number}",
            gpus=draw.choice([1, 2, 4]),
            provider=providers[number % len(providers)],
        )
        for number in range(draw.choice(machines))
    ]
    offers = [*boxes, *_other_offers(draw, boxes)]
    with_spot = {one.machine for one in offers if one.price_kind is PriceKind.SPOT}
    classes = draw.choice([1, 1, 2])
    max_share = 0.0 if classes > 1 else draw.choice([0.0, 0.5, 1.0])
    serve = _serving(draw, boxes, with_spot if max_share else set(), classes)
    restartable = draw.random() < 0.6
    tokens = draw.uniform(8, 30) * 3600
    runs = _training(draw, boxes, with_spot if restartable else set())
    has_run = draw.random() < 0.7
    peak = draw.uniform(1, 5)
    file = workloads(
        services=[
            service_entry(
                peak * draw.uniform(0.3, 1),
                peak,
                sizes=_TWO_CLASSES if classes > 1 else _ONE_CLASS,
                spot={"max_share": max_share},
                availability={"spare_replicas": draw.choice([0, 0, 1])},
                min_replicas=draw.choice([0, 1]),
            )
        ],
        training=[run_entry(tokens, restartable=restartable)] if has_run else [],
        policy=_policy(draw),
        quotas=draw.choice([[], [{"provider": "acme", "price_kind": "on_demand", "gpus": 4}]]),
    )
    owned = [(boxes[0], 1)] if draw.random() < 0.3 else []
    drawn = case(file, offers, serving=serve, training=runs if has_run else [], owned=owned)
    return with_durations(with_data(drawn, seed), seed)


def with_durations(of: Case, seed: int) -> Case:
    """Let the runs of every third case take no more than two thirds of a day."""
    if seed % 3:
        return of
    runs = tuple(
        run.model_copy(update={"max_duration": timedelta(hours=16)})
        for run in of.workloads.training
    )
    return replace(of, workloads=of.workloads.model_copy(update={"training": runs}))


def with_data(of: Case, seed: int) -> Case:
    """Have every other case pay for data: weights that are kept or brought, runs that keep some."""
    draw = random.Random(seed)  # noqa: S311 - instances, not secrets
    if seed % 2:
        return of
    brings = draw.random() < _BRINGS
    kept = {
        (one.machine, one.candidate.id): (draw.choice([0, 10, 40]), brings * draw.choice([0, 3, 9]))
        for one in of.serving
    }
    serve = [
        replace(
            one,
            storage_usd_per_hour=Decimal(kept[one.machine, one.candidate.id][0]) / 100,
            egress_usd=Decimal(kept[one.machine, one.candidate.id][1]),
        )
        for one in of.serving
    ]
    runs = [
        replace(
            one,
            result_egress_usd=Decimal(draw.choice([0, 2])),
            storage_usd=Decimal(draw.choice([0, 5, 20])),
        )
        for one in of.training
    ]
    return replace(of, serving=tuple(serve), training=tuple(runs))


def budget_case(seed: int) -> Case:
    """Draw a case of two providers with one kind of replica, and two budgets of any sort."""
    drawn = random_case(seed, machines=(2,), providers=("acme", "zeta"))
    draw = random.Random(f"budgets {seed}")  # noqa: S311 - instances, not secrets
    parts: list[dict[str, object]] = [{}, {"provider": "acme"}, {"provider": "zeta"}]
    parts += [{"team": "us"}, {"workload": "chat"}, {"workload": "tune"}]
    if not drawn.workloads.training:
        parts.pop()
    budgets = []
    for part in draw.sample(parts, 2):
        amount = draw.choice(
            [
                {"usd_per_hour": draw.choice([2, 5, 8, 12])},
                {"usd": draw.choice([20, 60, 120, 200])},
                {"usd_per_month": draw.choice([500, 2000, 5000])},
            ]
        )
        soft = {"over_usd_per_usd": draw.choice([0.1, 0.5, 2])} if draw.random() < _SOFT else {}
        budgets.append({**part, **amount, **soft})
    changes: dict[str, object] = {"policy.budgets": budgets, "policy.max_groups": 1}
    changes |= {"policy.budget_usd_per_month": None, "services.0.team": "us"}
    if drawn.workloads.training and draw.random() < _SOFT:
        changes["training.0.team"] = "us"
    return with_workloads(drawn, changes)


def month_case(seed: int) -> Case:
    """Draw one of those with a budget by month, over a day of which 8 hours are November's."""
    drawn = budget_case(seed)
    draw = random.Random(f"months {seed}")  # noqa: S311 - instances, not secrets
    first, second = (
        one.model_dump(mode="json", exclude_none=True) for one in drawn.workloads.policy.budgets
    )
    for name in ("usd", "usd_per_hour", "usd_per_month"):
        first.pop(name, None)
    first["usd_per_calendar_month"] = draw.choice([15, 30, 50, 90, 500])
    if draw.random() < _ALIKE:
        first = {key: first[key] for key in first.keys() - {"provider", "team", "workload"}}
    changes: dict[str, object] = {"policy.budgets": draw.choice([[first], [second, first]])}
    changes["horizon.start"] = "2026-11-30T16:00:00Z"
    if drawn.workloads.training:
        first_at, last_at = draw.choice(
            [("11-30", "12-02"), ("12-01", "12-02"), ("11-30", "12-01")]
        )
        window = {"earliest": f"2026-{first_at}", "deadline": f"2026-{last_at}"}
        changes["training.0.window"] = window
    return with_workloads(drawn, changes)


def steady_case(seed: int) -> Case:
    """Draw a case of two providers with one kind of replica, each up for two or three slots."""
    drawn = random_case(seed, machines=(1, 2, 2), providers=("acme", "zeta"))
    draw = random.Random(f"steady {seed}")  # noqa: S311 - instances, not secrets
    loads = [draw.choice([0, 0, draw.uniform(0.2, 5)]) for _ in range(6)]
    loads[draw.randrange(6)] = draw.uniform(1, 5)
    sizes = drawn.workloads.services[0].sizes
    series = {"step": "4 h", "by_size": [[one.share * load for load in loads] for one in sizes]}
    changes: dict[str, object] = {"policy.max_groups": 1, "horizon.slot": "4 h"}
    changes |= {"services.0.traffic.requests_per_s": series, "services.0.min_replicas": 0}
    changes["services.0.min_up_time"] = draw.choice(["7 h", "12 h"])
    return with_workloads(drawn, changes)


def zone_case(seed: int, *, spare_zone: bool = False) -> Case:
    """Draw a case with one kind of replica, which must be in two zones at all times."""
    drawn = random_case(seed, machines=(2, 2, 3), providers=("acme", "acme", "zeta"))
    draw = random.Random(f"zones {seed}")  # noqa: S311 - instances, not secrets
    places = {key: (draw.choice(_REGIONS), draw.choice("aab")) for key in drawn.machines}
    changes: dict[str, object] = {"policy.max_groups": 1, "policy.budget_usd_per_month": None}
    changes |= {"services.0.min_replicas": 2, "services.0.availability.min_zones": 2}
    changes["services.0.availability.spare_zone"] = spare_zone
    return with_workloads(placed(drawn, places), changes)


def savings_case(seed: int) -> Case:
    """Draw a case with a savings plan over one or two machines, often with a run and owned nodes.

    Rates are whole tenths of a cent, as promises are.
    """
    draw = random.Random(seed)  # noqa: S311 - instances, not secrets
    boxes = [
        offer(f"{draw.uniform(1, 6):.2f}", name=f"m{number}", gpus=draw.choice([1, 2, 4]))
        for number in range(draw.choice([1, 2, 2]))
    ]
    is_prepaid, months = draw.random() < 0.3, draw.choice([12, 12, 36])
    rates = [_rate(draw, box, months, is_prepaid=is_prepaid) for box in boxes]
    peak = draw.uniform(1, 5)
    run = run_entry(draw.uniform(8, 30) * 3600, restartable=draw.random() < 0.6)
    has_run = draw.random() < 0.5
    policy = _policy(draw)
    cap = {"max_upfront_usd": draw.choice([0, 4000, 20000])} if draw.random() < 0.4 else {}
    policy["commitments"] = {"savings_plans": True, "max_term_months": 36} | cap
    file = workloads(
        services=[
            service_entry(
                peak * draw.uniform(0.2, 1),
                peak,
                availability={"spare_replicas": draw.choice([0, 0, 1])},
                min_replicas=draw.choice([0, 1]),
            )
        ],
        training=[run] if has_run else [],
        policy=policy,
        quotas=draw.choice([[], [{"provider": "acme", "price_kind": "on_demand", "gpus": 4}]]),
    )
    return case(
        file,
        [*boxes, *rates],
        serving=_serving(draw, boxes, set(), 1),
        training=_training(draw, boxes, set()) if has_run else [],
        owned=[(boxes[0], 1)] if draw.random() < 0.25 else [],
    )


def _rate(draw: random.Random, box: Offer, months: int, *, is_prepaid: bool) -> Offer:
    """Draw the rate of a machine under the plan: paid by the hour, or all of it at the start."""
    paid = round(float(box.usd_per_hour) * draw.uniform(0.3, 0.9), 2)
    bought = offer(
        f"{paid:.2f}",
        name=box.instance_type,
        gpus=int(box.hardware.shape.gpu_count),
        kind=PriceKind.SAVINGS_PLAN,
        term_months=months,
        upfront_usd=f"{paid * months * 730:.2f}" if is_prepaid else "0",
    )
    assert bought.commitment is not None
    payment = Payment.ALL_UPFRONT if is_prepaid else Payment.NO_UPFRONT
    terms = bought.commitment.model_copy(update={"scope": "compute", "payment": payment})
    update: dict[str, object] = {"commitment": terms}
    return bought.model_copy(update=update | ({"usd_per_hour": Decimal(0)} if is_prepaid else {}))


def handover_case(seed: int) -> Case:
    """Draw a case without runs or commitments in which replicas need ten minutes to start."""
    draw = random.Random(seed)  # noqa: S311 - instances, not secrets
    boxes = [offer(f"{draw.uniform(1, 6):.2f}", name=f"m{number}") for number in range(2)]
    spots = [
        offer(
            f"{float(box.usd_per_hour) * draw.uniform(0.3, 0.8):.2f}",
            name=box.instance_type,
            kind=PriceKind.SPOT,
        )
        for box in boxes
    ]
    classes = draw.choice([1, 2])
    max_share = draw.choice([0.5, 1.0]) if classes == 1 else 0.0
    with_spot = {one.machine for one in boxes} if max_share else set()
    peak = draw.uniform(2, 5)
    service = service_entry(
        peak * draw.uniform(0.2, 0.6),
        peak,
        sizes=_TWO_CLASSES if classes > 1 else _ONE_CLASS,
        spot={"max_share": max_share},
        min_replicas=0,
        start_up="10 min",
    )
    file = workloads(
        services=[service],
        slot=draw.choice(["8 h", "6 h"]),
        policy={"max_groups": draw.choice([1, 2])},
    )
    rates = _serving(draw, boxes, with_spot, classes)
    return case(file, [*boxes, *spots], serving=rates)


def _policy(draw: random.Random) -> dict[str, object]:
    policy: dict[str, object] = {
        "sharing": draw.choice(["converged", "split"]),
        "price_trend_per_year": draw.choice([0.0, -0.25]),
        "max_groups": draw.choice([1, 2]),
    }
    if draw.random() < 0.2:
        policy["budget_usd_per_month"] = draw.choice([1500, 3000, 6000])
    if draw.random() < 0.3:
        policy["commitments"] = {"max_upfront_usd": draw.choice([0, 600, 1200])}
    return policy


def _other_offers(draw: random.Random, machines: Sequence[Offer]) -> list[Offer]:
    offers = []
    for machine in machines:
        price, name = float(machine.usd_per_hour), machine.instance_type
        gpus = int(machine.hardware.shape.gpu_count)
        if draw.random() < 0.5:
            spot = f"{price * draw.uniform(0.3, 0.8):.2f}"
            offers.append(
                offer(spot, name=name, gpus=gpus, kind=PriceKind.SPOT, provider=machine.provider)
            )
        if draw.random() < 0.6:
            offers.append(
                offer(
                    f"{price * draw.uniform(0.3, 0.9):.2f}",
                    name=name,
                    gpus=gpus,
                    provider=machine.provider,
                    kind=PriceKind.RESERVED,
                    term_months=draw.choice([1, 12]),
                    upfront_usd=draw.choice(["0", "500"]),
                )
            )
    return offers


def _serving(
    draw: random.Random, machines: Sequence[Offer], with_spot: set[str], classes: int
) -> list[ServingOption]:
    options: list[ServingOption] = []
    alike = draw.random() < _ALIKE
    each = [draw.uniform(0.8, 4) for _ in range(classes)]
    for machine in machines:
        per_node = int(machine.hardware.shape.gpu_count)
        gpus = draw.choice([one for one in (1, 2, 4) if per_node % one == 0])
        if not alike:
            each = [draw.uniform(0.8, 4) for _ in range(classes)]
        rates = [rate * gpus for rate in each]
        options.append(serving(machine, rates, gpus=gpus))
        if machine.machine in with_spot:
            options.append(serving(machine, rates, gpus=gpus, on_spot=True))
    return options


def _training(
    draw: random.Random, machines: Sequence[Offer], with_spot: set[str]
) -> list[TrainingOption]:
    options: list[TrainingOption] = []
    for machine in machines:
        startup_s = draw.choice([0.0, 1800.0])
        speed = draw.uniform(1, 2.5)
        options.append(
            training(
                machine,
                nodes=draw.choice([1, 2]),
                tokens_per_s=speed,
                startup_s=startup_s,
                egress_usd=draw.choice(["0", "7.5"]),
            )
        )
        if machine.machine in with_spot:
            spot_speed = speed * draw.uniform(0.7, 1)
            options.append(
                training(machine, tokens_per_s=spot_speed, on_spot=True, startup_s=startup_s)
            )
    return options
