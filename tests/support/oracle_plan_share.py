"""Cases in which no provider may have more than a share of a plan, and what trying all costs.

It shares no code with the program. Nodes have one GPU, so replicas and gangs fill them whole.
"""

import itertools
import math
import random
from collections.abc import Iterator, Mapping
from fractions import Fraction

from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case, TrainingOption
from broker.domain.offer import PriceKind

SLOTS, SLOT_H = 3, 8
Gang = tuple[TrainingOption, tuple[int, ...]] | None


def plan_share_case(seed: int) -> Case:
    """Draw two or three machines of two providers, a service of up to four replicas, often a run.

    Some nodes are on spot, which the run may use if it is restartable.
    """
    draw = random.Random(f"plan share {seed}")  # noqa: S311 - instances, not secrets
    clouds = ("acme", "bolt", draw.choice(["acme", "bolt", "corp"]))
    boxes = [
        offer(f"{draw.uniform(1, 6):.2f}", name=f"m{number}", provider=clouds[number])
        for number in range(draw.choice([2, 3]))
    ]
    spot = [
        offer(
            f"{float(box.usd_per_hour) * draw.uniform(0.3, 0.8):.2f}",
            name=box.instance_type,
            provider=box.provider,
            kind=PriceKind.SPOT,
        )
        for box in boxes[:1]
    ]
    load = [[float(draw.choice([0, 1, 2, 3, 4])) for _ in range(SLOTS - 1)] + [2.0]]
    has_run, restartable = draw.random() < 0.7, draw.random() < 0.5
    runs = [
        training(box, tokens_per_s=draw.choice([1.0, 2.0]), nodes=draw.choice([1, 2]))
        for box in boxes
    ]
    runs += [training(box, on_spot=True) for box in spot if restartable]
    file = workloads(
        services=[
            service_entry(
                1, 4, traffic={"requests_per_s": {"step": "8 h", "by_size": load}}, min_replicas=0
            )
        ],
        training=[run_entry(16 * 3600, restartable=restartable)] if has_run else [],
        policy={"max_share_per_provider": draw.choice([0.4, 0.5, 0.6, 0.75, 0.8, 1.0])},
    )
    return case(
        file,
        [*boxes, *spot],
        serving=[serving(one, [1]) for one in boxes],
        training=runs if has_run else (),
    )


def cheapest_shared_usd(of: Case) -> float:
    """Try every machine of each replica, and every option of the run in every set of slots."""
    share = Fraction(str(of.workloads.policy.max_share_per_provider))
    clouds = {machine: one.provider for machine, one in of.machines.items()}
    curve = of.workloads.services[0].traffic.requests_per_s.model_dump()
    fleet = [int(one) for one in _figures(curve)]
    machines = sorted({one.machine for one in of.serving})
    gangs = list(_gangs(of))
    best = math.inf
    for places in itertools.product(machines, repeat=max(fleet)):
        for gang in gangs:
            usd, gpu_slots = 0.0, dict.fromkeys(clouds.values(), 0)
            for size in fleet:
                for machine in places[:size]:
                    gpu_slots[clouds[machine]] += 1
                    usd += SLOT_H * _usd(of, machine, PriceKind.ON_DEMAND)
            if gang:
                option, nodes = gang[0], gang[0].candidate.nodes
                kind = PriceKind.SPOT if option.candidate.on_spot else PriceKind.ON_DEMAND
                needed = of.workloads.training[0].tokens / option.candidate.tokens_per_s
                gpu_slots[clouds[option.machine]] += nodes * math.ceil(needed / 3600 / SLOT_H)
                usd += len(gang[1]) * SLOT_H * nodes * _usd(of, option.machine, kind)
            if all(one <= share * sum(gpu_slots.values()) for one in gpu_slots.values()):
                best = min(best, usd)
    return best


def _figures(curve: Mapping[str, object]) -> list[float]:
    (rows,) = [list(map(float, row)) for row in curve["by_size"]]  # type: ignore[call-overload]
    return rows


def _gangs(of: Case) -> Iterator[Gang]:
    if not of.workloads.training:
        yield None
        return
    (run,) = of.workloads.training
    for option in of.training:
        for size in range(1, SLOTS + 1):
            for up in itertools.combinations(range(SLOTS), size):
                is_whole = up[-1] - up[0] + 1 == size
                if (is_whole or run.restartable) and (
                    size * SLOT_H * 3600 * option.candidate.tokens_per_s >= run.tokens
                ):
                    yield option, up


def _usd(of: Case, machine: str, kind: PriceKind) -> float:
    return next(
        float(one.usd_per_hour)
        for one in of.offers
        if one.machine == machine and one.price_kind is kind
    )
