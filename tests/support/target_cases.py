"""Cases with targets for commitments, small enough to try every plan of them."""

import itertools
import math
import random
from collections.abc import Iterator

from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from broker.domain.traffic import load_requests_per_s

DAYS, MONTH_DAYS, MONTH_H = 31, 30, 730
"""A month has 730 h, so it ends within the last day, which is paid for until then, not covered."""


def target_case(seed: int) -> Case:
    """Draw a case of two machines, one service of up to three replicas, and commitments of a month.

    Nodes have one GPU; as the month ends in the horizon, no rule binds commitments but the targets.
    """
    draw = random.Random(seed)  # noqa: S311 - instances, not secrets
    boxes = [offer(f"{draw.uniform(2, 6):.2f}", name=f"m{number}") for number in range(2)]
    months = [
        offer(
            f"{float(box.usd_per_hour) * draw.uniform(0.4, 1.2):.2f}",
            name=box.instance_type,
            kind=PriceKind.RESERVED,
            term_months=1,
        )
        for box in boxes
    ]
    daily = [[float(draw.choice([1, 1, 2, 3])) for _ in range(DAYS)]]
    file = workloads(
        services=[
            service_entry(
                1,
                3,
                traffic={"requests_per_s": {"step": "24 h", "by_size": daily}},
                min_replicas=0,
            )
        ],
        days=DAYS,
        slot="24 h",
        policy={
            "coverage": {
                "min_committed_share": draw.choice([0, 0.5, 0.8, 0.95]),
                "min_commitment_utilization": draw.choice([0, 0.5, 0.8, 1]),
            }
        },
    )
    owned = [(boxes[0], 1)] if draw.random() < 0.2 else []
    return case(file, [*boxes, *months], serving=[serving(one, [1]) for one in boxes], owned=owned)


def cheapest_with_targets_usd(of: Case) -> float:
    """Try every place of each replica and every number of committed nodes."""
    load = load_requests_per_s(of.workloads.services[0], of.workloads.horizon)
    fleet = [math.ceil(one - 1e-6) for one in load]
    machines = sorted(of.machines)
    best = math.inf
    for places in itertools.product(range(2), repeat=max(fleet)):
        needed = [[places[:size].count(at) for size in fleet] for at in range(2)]
        for bought in itertools.product(range(max(fleet) + 1), repeat=2):
            best = min(best, _usd(of, machines, needed, bought))
    return best


def _usd(of: Case, machines: list[str], needed: list[list[int]], bought: tuple[int, ...]) -> float:
    targets = of.workloads.policy.coverage
    prices = {(one.machine, one.price_kind): float(one.usd_per_hour) for one in of.offers}
    usd, rented = 0.0, 0
    for at, machine in enumerate(machines):
        owned = sum(one.nodes for one in of.owned if one.machine == machine)
        held = [bought[at] if day < MONTH_DAYS else 0 for day in range(DAYS)]
        usd += bought[at] * MONTH_H * prices[machine, PriceKind.RESERVED]
        used = sum(min(have, need) for have, need in zip(held, needed[at], strict=True))
        if used < targets.min_commitment_utilization * sum(held) - 1e-9:
            return math.inf
        more = list(_rented(held, needed[at], owned))
        usd += sum(more) * 24 * prices[machine, PriceKind.ON_DEMAND]
        rented += sum(more)
    filled = sum(sum(own) for own in needed)
    is_kept = rented <= (1 - targets.min_committed_share) * filled + 1e-9
    return usd if is_kept else math.inf


def _rented(held: list[int], needed: list[int], owned: int) -> Iterator[int]:
    return (max(need - have - owned, 0) for have, need in zip(held, needed, strict=True))
