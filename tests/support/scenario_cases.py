"""Random tiny cases with scenarios of demand and prices."""

import random
from dataclasses import replace

from changed_cases import with_workloads
from random_cases import random_case
from savings_cases import RENTED, rate
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case
from broker.domain.offer import PriceKind


def scenario_case(seed: int, *, measure: str = "mean") -> Case:
    """Draw a case and one or two scenarios; probabilities leave some or none to the forecast."""
    return with_scenarios(drawn(seed), seed, measure=measure)


def with_scenarios(of: Case, seed: int, *, measure: str) -> Case:
    """Draw the scenarios alone."""
    draw = random.Random(f"scenarios {seed}")  # noqa: S311 - instances, not secrets
    names = ["growth", "slump"][: draw.choice([1, 2])]
    shares = draw.choice([(0.2, 0.3), (0.4, 0.2), (0.5, 0.5)])
    scenarios = [
        {
            "name": name,
            "probability": share,
            "load": {draw.choice(["all", "chat"]): round(draw.choice(_LOADS[name]), 2)},
            "prices": {
                "on_demand": draw.choice([1, 0.6, 1.5, 4]),
                "spot": draw.choice([1, 0.7, 1.5, 2.5]),
            },
        }
        for name, share in zip(names, shares, strict=False)
    ]
    robust: dict[str, object] = {"measure": measure, "scenarios": scenarios}
    if measure == "cvar":
        robust |= {"alpha": draw.choice([0, 0.5, 0.8]), "weight": draw.choice([0.4, 1])}
    return with_workloads(of, {"policy.robust": robust})


def drawn(seed: int) -> Case:
    """Draw the case alone."""
    return random_case(seed)


def without_scenarios(of: Case) -> Case:
    policy = of.workloads.policy.model_copy(update={"robust": None})
    return replace(of, workloads=of.workloads.model_copy(update={"policy": policy}))


_LOADS = {"growth": (1.2, 1.5, 1.9), "slump": (0.3, 0.6, 0.9)}


def hedged_case(*, probability: float) -> Case:
    """One replica for a day, or three if it grows, when rented nodes cost ten times as much.

    A node costs 1 USD an hour, or 2.50 for a month: 24 or 60 for the day, and 240 if it grows. What
    the forecast keeps up justifies one node for the month.
    """
    box = offer("1")
    month = offer("2.5", kind=PriceKind.RESERVED, term_months=1)
    growth = {
        "name": "growth",
        "probability": probability,
        "load": {"all": 3},
        "prices": {"on_demand": 10},
    }
    file = workloads(
        services=[service_entry(1, 1)],
        policy={"robust": {"scenarios": [growth]}},
        slot="24 h",
    )
    return case(file, [box, month], serving=[serving(box, [1])])


def torn_case() -> Case:
    """Small replicas are cheaper for what is expected, large ones if it grows."""
    small, large = offer("1"), offer("2.2", name="large", gpus=2)
    growth = {"name": "growth", "probability": 0.5, "load": {"all": 3}}
    file = workloads(
        services=[service_entry(1, 1)], policy={"robust": {"scenarios": [growth]}}, slot="24 h"
    )
    return case(file, [small, large], serving=[serving(small, [1]), serving(large, [3], gpus=2)])


def two_or_four_requests(rate_of_b: float, *, load: float = 2) -> Case:
    """Ask for 2 requests/s a day, or for 4 in one case of five; a node of b costs 3, one of a 1."""
    a, b = offer("1", name="a"), offer("3", name="b")
    growth = {"name": "growth", "probability": 0.2, "load": {"all": 4 / load}}
    file = workloads(
        services=[service_entry(load, load)], policy={"robust": {"scenarios": [growth]}}
    )
    return case(file, [a, b], serving=[serving(a, [1.0]), serving(b, [rate_of_b])])


def owned_until_growth() -> Case:
    """Need the one node that is owned, or two in nine cases of ten; a month may be promised."""
    growth = {"name": "growth", "probability": 0.9, "load": {"all": 2}}
    file = workloads(
        services=[service_entry(1, 1)],
        policy={
            "commitments": {"savings_plans": True},
            "robust": {"scenarios": [growth]},
        },
        days=31,
        slot="24 h",
    )
    offers = [RENTED, rate("2", term_months=1)]
    return case(file, offers, serving=[serving(RENTED, [1])], owned=[(RENTED, 1)])
