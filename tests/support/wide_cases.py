"""Random cases with more of everything: machines, providers, services, regions, runs, limits."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from random_cases import with_data, with_durations
from tiny_cases import START, case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case, OwnedNodes, ServingOption, TrainingOption
from broker.domain.offer import Commitment, Limits, Offer, Payment, PriceKind

_SIZES = [
    {"input_tokens": 1000, "output_tokens": 200, "share": 0.75},
    {"input_tokens": 4000, "output_tokens": 200, "share": 0.25},
]
_ONE_SIZE = [{"input_tokens": 1000, "output_tokens": 200}]
_THURSDAY = {"start": "2026-12-03", "days": 4, "slot": "12 h"}
_SERVICES, _RUNS = ("chat", "code"), ("tune", "train")


def wide_case(seed: int) -> Case:
    """Draw a case over two working days and a weekend; one seed always gives the same."""
    draw = random.Random(seed)  # noqa: S311 - instances, not secrets
    machines = [_machine(draw, number) for number in range(draw.randint(3, 5))]
    offers = [*machines, *(one for machine in machines for one in _ways_to_pay(draw, machine))]
    services = {
        name: service
        for name in _SERVICES[: draw.choice([0, 1, 1, 2])]
        for service in [_service(draw, name)]
    }
    runs = _RUNS[: draw.choice([0, 1, 2]) if services else draw.choice([1, 2])]
    entries = [_run(draw, name) for name in runs]
    spot = {one.machine for one in offers if one.price_kind is PriceKind.SPOT}
    file = workloads(
        services=list(services.values()),
        training=entries,
        horizon=_THURSDAY,
        policy=_policy(draw),
        quotas=list(_quotas(draw)),
    )
    drawn = case(
        file,
        offers,
        serving=list(_serving(draw, machines, services, spot)),
        training=[
            one
            for entry in entries
            for one in _training(draw, machines, entry, spot if entry["restartable"] else set())
        ],
    )
    drawn = replace(drawn, owned=tuple(_owned(draw, machines)))
    return with_durations(with_data(drawn, seed), seed)


def _machine(draw: random.Random, number: int) -> Offer:
    return offer(
        f"{draw.choice([1, 2, 3, 4, 6]) * draw.choice([0.8, 1, 1, 1.5]):.2f}",
        name=f"m{number}",
        provider=draw.choice(["acme", "zeta"]),
        gpus=draw.choice([1, 2, 4]),
        max_nodes=draw.choice([None, None, None, 3]),
    )


def _ways_to_pay(draw: random.Random, machine: Offer) -> Iterator[Offer]:
    price = float(machine.usd_per_hour)
    if draw.random() < 0.5:
        usd = f"{price * draw.uniform(0.3, 1.1):.2f}"
        yield _twin(machine, usd, PriceKind.SPOT, _limits(draw))
    for term_months in (1, 12):
        for payment in (Payment.NO_UPFRONT, Payment.PARTIAL_UPFRONT):
            if draw.random() < 0.3:
                upfront_usd = "0" if payment is Payment.NO_UPFRONT else "400"
                usd = f"{price * draw.uniform(0.3, 0.9):.2f}"
                bought = _twin(machine, usd, PriceKind.RESERVED, Limits())
                commitment = Commitment.model_validate(
                    {"term_months": term_months, "payment": payment, "upfront_usd": upfront_usd},
                    strict=False,
                )
                yield bought.model_copy(update={"commitment": commitment})


def _twin(machine: Offer, usd: str, kind: PriceKind, limits: Limits) -> Offer:
    twin = offer(
        usd,
        name=machine.instance_type,
        provider=machine.provider,
        kind=kind,
        gpus=int(machine.hardware.shape.gpu_count),
    )
    return twin.model_copy(update={"limits": limits})


def _limits(draw: random.Random) -> Limits:
    return draw.choice(
        [Limits(), Limits(), Limits(stock_nodes=2), Limits(stock_pool="host", stock_gpus=6)]
    )


def _service(draw: random.Random, name: str) -> dict[str, object]:
    peak = draw.choice([1, 2, 3, 4, 6])
    return service_entry(
        peak,
        peak,
        name=name,
        traffic={
            "requests_per_s": {
                "mean": peak * draw.choice([0.3, 0.6, 1]),
                "peak": peak,
                "peak_hour": 12,
                "weekend_factor": draw.choice([0, 0.5, 1]),
            }
        },
        sizes=draw.choice([_ONE_SIZE, _ONE_SIZE, _SIZES]),
        users=draw.choice([{"us-east": 1.0}, {"us-east": 0.5, "eu-west": 0.5}]),
        spot={"max_share": draw.choice([0.0, 0.5, 1.0])},
        availability={"spare_replicas": draw.choice([0, 0, 1])},
        min_replicas=draw.choice([0, 1]),
    )


def _run(draw: random.Random, name: str) -> dict[str, object]:
    first, last = draw.choice([("2026-12-03", "2026-12-05"), ("2026-12-04", "2026-12-06")])
    return run_entry(
        draw.choice([8, 12, 20, 30]) * 3600,
        name=name,
        restartable=draw.random() < 0.6,
        window={"earliest": first, "deadline": last},
    )


def _policy(draw: random.Random) -> dict[str, object]:
    policy: dict[str, object] = {
        "sharing": draw.choice(["converged", "split"]),
        "price_trend_per_year": draw.choice([0.0, -0.25]),
        "max_groups": draw.choice([1, 1, 2]),
    }
    if draw.random() < 0.3:
        policy["commitments"] = {"max_upfront_usd": draw.choice([0, 400, 1200])}
    return policy


def _quotas(draw: random.Random) -> Iterator[dict[str, object]]:
    if draw.random() < 0.3:
        yield {"provider": draw.choice(["acme", "zeta"]), "gpus": draw.choice([2, 4, 8])}
    if draw.random() < 0.2:
        yield {"provider": "acme", "price_kind": draw.choice(["on_demand", "reserved"]), "gpus": 4}


def _serving(
    draw: random.Random,
    machines: Sequence[Offer],
    services: dict[str, dict[str, object]],
    with_spot: set[str],
) -> Iterator[ServingOption]:
    for name, service in services.items():
        sizes, users, spot = service["sizes"], service["users"], service["spot"]
        assert isinstance(sizes, list)
        assert isinstance(users, dict)
        for machine in machines:
            per_node = int(machine.hardware.shape.gpu_count)
            layouts = [one for one in (1, 2, 4) if per_node % one == 0]
            for gpus in draw.sample(layouts, k=draw.randint(1, len(layouts))):
                rates = [draw.choice([1, 1.5, 2, 3]) * gpus for _ in sizes]
                for region in users:
                    yield serving(machine, rates, gpus=gpus, service=name, user_region=region)
                    if machine.machine in with_spot and spot != {"max_share": 0.0}:
                        yield serving(
                            machine,
                            rates,
                            gpus=gpus,
                            service=name,
                            user_region=region,
                            on_spot=True,
                        )


def _training(
    draw: random.Random,
    machines: Sequence[Offer],
    entry: dict[str, object],
    with_spot: set[str],
) -> Iterator[TrainingOption]:
    for machine in machines:
        if draw.random() < 0.7:
            yield training(
                machine,
                run=str(entry["name"]),
                nodes=draw.choice([1, 2]),
                tokens_per_s=draw.choice([0.8, 1, 1.5, 2]),
                startup_s=draw.choice([0.0, 1800.0]),
                egress_usd=draw.choice(["0", "7.5"]),
            )
        if machine.machine in with_spot:
            yield training(
                machine,
                run=str(entry["name"]),
                tokens_per_s=draw.choice([0.7, 0.9, 1.4]),
                on_spot=True,
                startup_s=draw.choice([0.0, 1800.0]),
            )


def _owned(draw: random.Random, machines: Sequence[Offer]) -> Iterator[OwnedNodes]:
    if draw.random() < 0.3:
        until = draw.choice([None, START + timedelta(days=4)])
        yield OwnedNodes(draw.choice(machines).machine, 1, until)
