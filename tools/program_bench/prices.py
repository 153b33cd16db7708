"""The price book of an instance: offers, spot prices, reservations."""

from typing import NamedTuple

import numpy as np
from program_bench.instance import Floats, Instance, Ints
from program_bench.tables import CONTINENTS, SKU_WEIGHTS, SKUS, UTC_SHIFT, Size

SPECIALIST, MARKETPLACE = 1, 2
"""Kinds of provider; 0 is a hyperscaler."""
_SPECIALISTS_WITH_SPOT = 0.3
_BIG_NODE = 8
_YEAR_H = 8760
_SATURDAY = 5
_TERMS = ((168, 0.10, 0.15), (730, 0.20, 0.35), (_YEAR_H, 0.40, 0.5), (26280, 0.55, 0.25))
"""Reservations: term in hours, discount, and the part of the offers that have one."""


class _Places(NamedTuple):
    """Kind and price factor of each provider, continent and price factor of each region."""

    kind: Ints
    provider_factor: Floats
    continent: Ints
    region_factor: Floats


def draw_prices(
    rng: np.random.Generator, name: str, seed: int, size: Size, *, quota_factor: float
) -> Instance:
    """Draw the offers of an instance that has neither services nor jobs yet."""
    count = size.offers
    places = _places(rng, count)
    provider = rng.integers(0, len(places.kind), count)
    region = rng.integers(0, len(places.continent), count)
    sku, gpus = _nodes(rng, count)
    base = np.array([one.usd_per_hour for one in SKUS])[sku]
    factors = (places.provider_factor[provider], places.region_factor[region])
    od = np.round(base * gpus * factors[0] * factors[1] * rng.lognormal(0, 0.08, count), 4)
    kind = places.kind[provider]
    has_spot = (kind != SPECIALIST) | (rng.random(count) < _SPECIALISTS_WITH_SPOT)
    sp = np.where(has_spot, np.round(od * rng.uniform(0.3, 0.75, count), 4), np.inf)
    irate = np.where(has_spot, rng.choice([0.002, 0.005, 0.01, 0.03, 0.08], count), 0.0)
    typical = rng.lognormal(np.log(np.where(gpus == _BIG_NODE, 10, 40)), 0.9, count)
    plan_offer, plan_term, plan_upfront, plan_hourly = _reservations(rng, od, kind)
    return Instance(
        size=name,
        seed=seed,
        T=size.hours,
        provider=provider,
        region=region,
        continent=places.continent[region],
        sku=sku,
        gpus=gpus,
        quota=np.maximum(1, np.round(typical * quota_factor)).astype(int),
        od=od,
        sp=sp,
        spot_group=places.continent[region],
        irate=irate,
        owned=np.zeros(count, int),
        plan_offer=plan_offer,
        plan_term=plan_term,
        plan_upfront=plan_upfront,
        plan_hourly=plan_hourly,
        spot_profile=_spot_profile(size.hours),
        region_continent=places.continent,
    )


def _places(rng: np.random.Generator, offers: int) -> _Places:
    providers = int(np.clip(offers**0.5 / 3, 4, 45))
    regions = int(np.clip(offers**0.5 / 2.5, 5, 70))
    kind = rng.choice(3, providers, p=[0.25, 0.5, 0.25])
    kind[0] = SPECIALIST
    dear, plain, cheap = (
        rng.uniform(low, high, providers) for low, high in ((1.5, 2.1), (0.85, 1.2), (0.6, 0.9))
    )
    factor = np.where(kind == 0, dear, np.where(kind == SPECIALIST, plain, cheap))
    first = np.arange(min(regions, len(CONTINENTS)))
    more = rng.choice(
        len(CONTINENTS),
        max(0, regions - len(CONTINENTS)),
        p=[0.3, 0.2, 0.25, 0.15, 0.04, 0.06],
    )
    continent = np.concatenate([first, more])[:regions]
    return _Places(kind, factor, continent, rng.uniform(0.95, 1.25, regions))


def _nodes(rng: np.random.Generator, count: int) -> tuple[Ints, Ints]:
    weights = np.array(SKU_WEIGHTS, float)
    sku = rng.choice(len(SKUS), count, p=weights / weights.sum())
    net = np.array([one.net for one in SKUS])[sku]
    clustered = rng.choice([1, 2, 4, 8], count, p=[0.2, 0.1, 0.15, 0.55])
    single = rng.choice([1, 2, 4, 8], count, p=[0.5, 0.15, 0.2, 0.15])
    return sku, np.where(net == 1, clustered, single)


def _reservations(
    rng: np.random.Generator, od: Floats, kind: Ints
) -> tuple[Ints, Ints, Floats, Floats]:
    offers, terms, upfront, hourly = [], [], [], []
    for term, discount, part in _TERMS:
        who = np.nonzero((rng.random(len(od)) < part) & (kind != MARKETPLACE))[0]
        rate = od[who] * (1 - discount * rng.uniform(0.8, 1.1, len(who)))
        ahead = rng.choice([0.0, 0.0, 0.5, 1.0], len(who)) * (term >= _YEAR_H)
        offers.append(who)
        terms.append(np.full(len(who), term))
        upfront.append(np.round(rate * ahead * term * 0.97, 2))
        hourly.append(np.round(rate * (1 - ahead), 4))
    return (
        np.concatenate(offers),
        np.concatenate(terms),
        np.concatenate(upfront),
        np.concatenate(hourly),
    )


def _spot_profile(hours: int) -> Floats:
    """Give the factor of spot prices by continent and hour: by day, less at weekends."""
    hour = np.arange(hours)
    day = np.sin(2 * np.pi * (hour[None, :] + UTC_SHIFT[:, None] - 9) / 24)
    profile = 1 + 0.15 * day * (1 - 0.5 * ((hour // 24) % 7 >= _SATURDAY))[None, :]
    rounded: Floats = np.round(profile, 3)
    return rounded
