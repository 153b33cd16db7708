"""Random cases of two services that share nodes: each machine may serve both, in two formats."""

import random
from collections.abc import Sequence
from dataclasses import replace

from random_cases import with_data
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case, ServingOption
from broker.domain.gpu import Precision
from broker.domain.offer import Offer, PriceKind

_SERVICES = ("chat", "code")


def shared_case(seed: int, machines: int = 3) -> Case:
    """Draw a case with one kind a demand; one seed always gives the same."""
    draw = random.Random(seed)  # noqa: S311 - instances, not secrets
    boxes = [
        offer(f"{draw.uniform(1, 6):.2f}", name=f"m{number}", gpus=draw.choice([2, 4, 8]))
        for number in range(machines)
    ]
    committed = [_committed(draw, box) for box in boxes if draw.random() < 0.5]
    options = _serving(draw, boxes)
    services = []
    for name in sorted({one.service for one in options}):
        peak = draw.uniform(1, 6)
        least = draw.choice([0, 1])
        services.append(service_entry(peak / 2, peak, name=name, min_replicas=least))
    owned = [(boxes[0], 1)] if draw.random() < 0.4 else []
    file = workloads(services=services, policy={"max_groups": 1})
    return with_data(case(file, [*boxes, *committed], serving=options, owned=owned), seed)


def _committed(draw: random.Random, box: Offer) -> Offer:
    return offer(
        f"{float(box.usd_per_hour) * draw.uniform(0.4, 0.9):.2f}",
        name=box.instance_type,
        gpus=int(box.hardware.shape.gpu_count),
        kind=PriceKind.RESERVED,
        term_months=draw.choice([1, 12]),
    )


def _serving(draw: random.Random, boxes: Sequence[Offer]) -> list[ServingOption]:
    found = []
    for name in _SERVICES:
        for box in boxes:
            for precision in (Precision.BF16, Precision.FP8):
                gpus, rate = draw.choice([1, 2]), draw.uniform(0.8, 4)
                if draw.random() < 0.6:
                    option = serving(box, [rate * gpus], gpus=gpus, service=name)
                    changes = {"precision": precision, "id": f"{option.candidate.id}/{precision}"}
                    candidate = option.candidate.model_copy(update=changes)
                    found.append(replace(option, candidate=candidate))
    return found
