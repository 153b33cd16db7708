"""Random cases with surcharges, and what is paid in them, worked out apart from the program."""

import random
from dataclasses import replace
from decimal import Decimal

from changed_cases import with_workloads
from random_cases import random_case

from broker.domain.case import Case


def surcharge_case(seed: int) -> Case:
    """Draw a case of two providers; one or two surcharges, of which some are on both or on none."""
    drawn = random_case(seed, machines=(2,), providers=("acme", "zeta"))
    draw = random.Random(f"surcharges {seed}")  # noqa: S311 - instances, not secrets
    certified = tuple(
        one.model_copy(update={"certifications": ("FedRAMP High",)})
        if one.provider == "zeta"
        else one
        for one in drawn.offers
    )
    surcharges = [
        {
            "rate": draw.choice(["0.07", "0.25", "1.5"]),
            "providers": draw.choice([["acme"], ["ZETA"], ["acme", "zeta"], []]),
            "regions": draw.choice([[], ["us"], ["acme/here"], ["eu"]]),
            "certifications": draw.choice([[], [], ["fedramp-high", "hipaa"]]),
        }
        for _ in range(draw.choice([1, 2]))
    ]
    return with_workloads(replace(drawn, offers=certified), {"policy.surcharges": surcharges})


def as_if_dearer(of: Case) -> Case:
    """Sell everything at what is paid for it, and ask for nothing beside.

    All machines are in the region `here` of the US; zeta alone is certified.
    """
    rates = dict.fromkeys(("acme", "zeta"), Decimal(1))
    for one in of.workloads.policy.surcharges:
        for provider in rates:
            is_named = provider in [name.lower() for name in one.providers] or not one.providers
            places = ("us", f"{provider}/here")
            is_there = any(name in places for name in one.regions) or not one.regions
            is_held = provider == "zeta" or not one.certifications
            rates[provider] += one.rate * (is_named and is_there and is_held)
    offers = []
    for one in of.offers:
        changed: dict[str, object] = {"usd_per_hour": one.usd_per_hour * rates[one.provider]}
        if one.commitment:
            upfront = one.commitment.upfront_usd * rates[one.provider]
            changed["commitment"] = one.commitment.model_copy(update={"upfront_usd": upfront})
        offers.append(one.model_copy(update=changed))
    return with_workloads(replace(of, offers=tuple(offers)), {"policy.surcharges": []})
