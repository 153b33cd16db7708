"""Random tiny cases in which further kinds of replica may serve for a time."""

import random

from changed_cases import with_workloads
from random_cases import handover_case, random_case
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case
from broker.domain.offer import PriceKind

_THIRD, _OWNED, _COMMITTED = 0.4, 0.3, 0.5
_BUSY = 0.5
_ZERO = 0.3
"""How often a window has much load, and how often a slot has no load at all."""


def burst_case(seed: int) -> Case:
    """Draw a case of two or three machines, whose load is large in some windows, small in others.

    Without a run there are six slots a day and windows of two or three or four; with one there are
    three slots, and windows of one or two. The last window may be shorter.
    """
    drawn = random_case(seed, machines=(2, 2, 3))
    draw = random.Random(f"burst {seed}")  # noqa: S311 - instances, not secrets
    slot_h, windows_h = (8, [8, 16]) if drawn.workloads.training else (4, [8, 12, 16])
    every_h = draw.choice(windows_h)
    busy = [draw.random() < _BUSY for _ in range(0, 24, every_h)]
    loads = [
        draw.uniform(3, 6) if busy[hour // every_h] else draw.uniform(0.1, 0.9)
        for hour in range(0, 24, slot_h)
    ]
    if draw.random() < _ZERO:
        loads[draw.randrange(len(loads))] = 0.0
    (service,) = drawn.workloads.services
    series = [[size.share * load for load in loads] for size in service.sizes]
    traffic = {"step": f"{slot_h} h", "by_size": series}
    return with_workloads(
        drawn,
        {
            "horizon.slot": f"{slot_h} h",
            "policy.max_groups": 1,
            "policy.burst": {"max_groups": 1, "change_every": f"{every_h} h"},
            "services.0.traffic.requests_per_s": traffic,
        },
    )


def two_sizes_case(seed: int) -> Case:
    """Draw a case of a small replica that is cheap, and a large one that is so by the request.

    Often a third one lies between them, and the large one may be committed to.
    """
    draw = random.Random(f"two sizes {seed}")  # noqa: S311 - instances, not secrets
    usd, rate = draw.uniform(3, 6), draw.uniform(4, 7)
    kinds = [(1, 1.0, 1.0), (4, usd, rate)]
    if draw.random() < _THIRD:
        kinds.append((2, usd * 0.6, rate * draw.uniform(0.4, 0.6)))
    boxes = [offer(f"{price:.2f}", name=f"m{gpus}", gpus=gpus) for gpus, price, _ in kinds]
    months, year_usd = draw.choice([1, 12]), f"{usd * draw.uniform(0.3, 0.9):.2f}"
    year = offer(year_usd, name="m4", gpus=4, kind=PriceKind.RESERVED, term_months=months)
    serve = [
        serving(box, [rate], gpus=gpus) for box, (gpus, _, rate) in zip(boxes, kinds, strict=True)
    ]
    every_h = draw.choice([4, 8, 8, 16])
    loads = [draw.choice([0.0, 0.5, 0.9, 2.5, 4.5, 6.5]) for _ in range(6)]
    service = service_entry(
        1,
        1,
        traffic={"requests_per_s": {"step": "4 h", "by_size": [loads]}},
        availability={"spare_replicas": draw.choice([0, 0, 1])},
        min_replicas=draw.choice([0, 1]),
    )
    burst = {"max_groups": draw.choice([1, 1, 2]), "change_every": f"{every_h} h"}
    file = workloads(services=[service], slot="4 h", policy={"burst": burst})
    owned = [(boxes[1], 1)] if draw.random() < _OWNED else []
    offers = [*boxes, year] if draw.random() < _COMMITTED else boxes
    return case(file, offers, serving=serve, owned=owned)


def three_sizes(**policy: object) -> Case:
    """Build a day of three slots, each of which another of three replicas carries at least cost.

    On 1, 2 and 4 GPUs they carry 0.9, 2.5 and 4.5 requests/s, for 1, 2.2 and 3.3 USD an hour.
    """
    kinds = [(1, "1", 0.9), (2, "2.2", 2.5), (4, "3.3", 4.5)]
    boxes = [offer(usd, name=f"m{gpus}", gpus=gpus) for gpus, usd, _ in kinds]
    serve = [
        serving(box, [rate], gpus=gpus) for box, (gpus, _, rate) in zip(boxes, kinds, strict=True)
    ]
    load = {"step": "8 h", "by_size": [[0.9, 2.5, 4.5]]}
    service = service_entry(1, 1, traffic={"requests_per_s": load})
    return case(workloads(services=[service], policy=policy), boxes, serving=serve)


def burst_handover_case(seed: int) -> Case:
    """Draw one of those in which replicas need ten minutes to start."""
    drawn = handover_case(seed)
    draw = random.Random(f"burst {seed}")  # noqa: S311 - instances, not secrets
    slots = draw.choice([1, 2])
    every = drawn.workloads.horizon.slot * slots
    burst = {"max_groups": 1, "change_every": f"{every.total_seconds() / 3600:g} h"}
    return with_workloads(drawn, {"policy.max_groups": 1, "policy.burst": burst})
