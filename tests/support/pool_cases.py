"""Tiny cases in which prompts and answers may have pools of their own, also of other GPUs."""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from changed_cases import placed, with_workloads
from random_cases import random_case
from shared_cases import shared_case
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case, ServingOption
from broker.domain.gpu import Precision
from broker.domain.offer import Offer
from broker.domain.pool import Pool, PoolClass, Role
from broker.domain.workload import Service

LINK = 32.0
_GPUS = ("H100-SXM", "L40S")
"""What is better at prompts, and what at answers."""
_PLACES: tuple[tuple[str, str | None], ...] = (
    *[("here", "a")] * 3,
    ("here", "b"),
)
_FORMATS = (*[Precision.BF16] * 5, Precision.FP8)


def made_of(of: Offer, gpu: str) -> Offer:
    """Give a machine other GPUs."""
    shape = of.hardware.shape.model_copy(update={"gpu": gpu})
    return of.model_copy(update={"hardware": of.hardware.model_copy(update={"shape": shape})})


def whole(of: Offer, rate: float, **more: object) -> ServingOption:
    """Give a replica that does both, on the GPUs that its machine has."""
    option = serving(of, [rate], **more)  # type: ignore[arg-type]
    changes = {"gpu": of.hardware.shape.gpu}
    return replace(option, candidate=option.candidate.model_copy(update=changes))


def pooled(
    of: Offer,
    role: Role,
    rate: float,
    *,
    gpus: int = 1,
    service: str = "chat",
    precision: Precision = Precision.BF16,
    link: float = LINK,
) -> ServingOption:
    """Give a replica that only prefills, or only decodes, in the place of its machine."""
    option = whole(of, rate, gpus=gpus, service=service)
    place = "/".join(one for one in (of.provider, of.place.region, of.place.zone) if one)
    shape = of.hardware.shape
    pool = Pool(
        role=role,
        place=place,
        fabric=shape.fabric.value,
        stack=of.hardware.stack.value,
        link_gb_per_s=link,
    )
    name = f"{option.candidate.id}/{role}/{precision}/{link:g}"
    changes = {"id": name, "precision": precision, "pool": pool}
    return replace(option, candidate=option.candidate.model_copy(update=changes))


LARGE = made_of(offer("4", name="large"), "H100-SXM")
SMALL = made_of(offer("1", name="small"), "L40S")


def large_and_small(whole_rate: float) -> Case:
    """Ask for 4 requests/s: prompts take one large node, answers two small ones, or both apart.

    Replicas that do both carry `whole_rate` on a large node, 0.5 on a small one.
    """
    options = [
        whole(LARGE, whole_rate),
        whole(SMALL, 0.5),
        pooled(LARGE, Role.PREFILL, 4),
        pooled(LARGE, Role.DECODE, 4),
        pooled(SMALL, Role.PREFILL, 0.8),
        pooled(SMALL, Role.DECODE, 2),
    ]
    file = workloads(services=[service_entry(4, 4, disaggregated=True)])
    return case(file, [LARGE, SMALL], serving=options)


def with_pools(of: Case, seed: int) -> Case:
    """Add pools to a case without spot, beside replicas that do both, or instead of them."""
    draw = random.Random(f"pools {seed}")  # noqa: S311 - instances, not secrets
    first = draw.choice([0, 1])
    gpus = {key: _GPUS[(first + at) % 2] for at, key in enumerate(of.machines)}
    of = placed(
        replace(
            of,
            offers=tuple(made_of(one, gpus[one.machine]) for one in of.offers),
            machines={key: made_of(one, gpus[key]) for key, one in of.machines.items()},
        ),
        {key: draw.choice(_PLACES) for key in of.machines},
    )
    is_instead = draw.random() < 0.4
    found: list[ServingOption] = []
    for one in (option for option in of.serving if not option.on_spot):
        machine = of.machines[one.machine]
        candidate = one.candidate.model_copy(update={"gpu": machine.hardware.shape.gpu})
        if not is_instead:
            found.append(replace(one, candidate=candidate))
        found.extend(_pools(draw, machine, one))
    changes: dict[str, object] = {"policy.max_groups": 1}
    for at in range(len(of.workloads.services)):
        changes[f"services.{at}.spot.max_share"] = 0.0
        changes[f"services.{at}.disaggregated"] = True
    return with_workloads(_unique(replace(of, serving=tuple(found))), changes)


def _pools(draw: random.Random, machine: Offer, one: ServingOption) -> Iterator[ServingOption]:
    for role, best in zip(Role, _GPUS, strict=True):
        is_good_at = best == machine.hardware.shape.gpu
        for _ in range(draw.choice([1, 1, 2] if is_good_at else [0, 1])):
            rate = one.candidate.rates[0].requests_per_s * draw.uniform(2.0, 5.0)
            rate *= 3 if is_good_at else 0.4
            option = pooled(
                machine,
                role,
                rate,
                gpus=one.candidate.layout.gpus,
                service=one.service,
                precision=draw.choice(_FORMATS),
                link=draw.choice([*[LINK] * 5, LINK / 2]),
            )
            yield replace(
                option,
                storage_usd_per_hour=one.storage_usd_per_hour,
                egress_usd=one.egress_usd,
            )


def pool_case(seed: int, *, machines: Sequence[int] = (2, 3)) -> Case:
    """Draw a case of one service with one size of requests, often beside a run."""
    numbers = (seed * 1000 + at for at in range(1000))
    drawn = next(
        one
        for one in (random_case(number, machines=machines) for number in numbers)
        if len(one.workloads.services[0].sizes) == 1
    )
    return with_pools(drawn, seed)


def pools_of_two(seed: int, *, machines: int = 4) -> Case:
    """Draw a case of two services that share nodes, each of which may have pools."""
    return with_pools(shared_case(seed, machines=machines), seed)


def _unique(of: Case) -> Case:
    """Keep one option of each configuration on a machine."""
    kept = {(one.service, one.machine, one.candidate.id): one for one in of.serving}
    return replace(of, serving=tuple(kept.values()))


def without_pools(of: Case) -> Iterator[Case]:
    """Give the cases that a case stands for, each with one way to serve each service.

    A way is replicas that do both, or two services with the same load: one of the prompts on the
    prefill replicas of one class, one of the answers on its decode replicas.
    """
    services = of.workloads.services
    ways = [list(_ways(of, service)) for service in services]
    for chosen in itertools.product(*ways):
        options = tuple(option for _, own in chosen for option in own)
        split = tuple(one for named, _ in chosen for one in named)
        workloads = of.workloads.model_copy(update={"services": split})
        yield replace(of, workloads=workloads, serving=options)


def _ways(
    of: Case, service: Service
) -> Iterator[tuple[tuple[Service, ...], tuple[ServingOption, ...]]]:
    plain = service.model_copy(update={"disaggregated": False})
    mine = [one for one in of.serving if one.service == service.name]
    both = tuple(one for one in mine if one.candidate.pool is None)
    if both:
        yield (plain,), both
    for name in sorted({str(_class(one)) for one in mine if one.candidate.pool}):
        here = [one for one in mine if one.candidate.pool and str(_class(one)) == name]
        prefill, decode = (
            tuple(one for one in here if one.candidate.pool and one.candidate.pool.role is role)
            for role in Role
        )
        if prefill and decode:
            prompts = plain.model_copy(update={"name": f"{service.name}-prompts"})
            answers = tuple(_plain(one, service.name) for one in decode)
            yield (plain, prompts), (*answers, *(_plain(one, prompts.name) for one in prefill))


def _plain(option: ServingOption, service: str) -> ServingOption:
    """Let a replica of a pool serve a service of its own."""
    candidate = option.candidate.model_copy(update={"pool": None, "service": service})
    return replace(option, service=service, candidate=candidate)


def _class(option: ServingOption) -> PoolClass | None:
    return option.candidate.pool_class
