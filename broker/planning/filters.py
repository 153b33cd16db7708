"""Which offers a plan may use at all: each one that may not has a reason."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from broker.domain.offer import UNKNOWN_REGION, Offer, PriceKind
from broker.domain.workload import AllowDeny, Policy

PLANNED_KINDS = (
    PriceKind.ON_DEMAND,
    PriceKind.SPOT,
    PriceKind.RESERVED,
    PriceKind.CONTRACT,
)


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old a price may be, and the instant from which ages count."""

    as_of: datetime
    spot: timedelta
    other: timedelta


Filter = Callable[[Offer, Policy, Freshness], bool]


def why_not(offer: Offer, policy: Policy, freshness: Freshness) -> str | None:
    """Name the first rule that keeps an offer out of every plan; None where none does."""
    return next((reason for reason, removes in _FILTERS if removes(offer, policy, freshness)), None)


def provider_names(offer: Offer) -> frozenset[str]:
    """Name whom a policy on providers may mean: the provider, or its tier; in lower case."""
    return frozenset({offer.provider.lower(), f"{offer.provider}:{offer.tier}".lower()})


def region_names(offer: Offer) -> frozenset[str]:
    """Name what a policy on regions may mean, in lower case.

    That is the continent, country, region, provider/region or partition.
    """
    place = offer.place
    names = {place.region, f"{offer.provider}/{place.region}", place.partition}
    names |= {one for one in (place.continent, place.country) if one is not None}
    return frozenset(name.lower() for name in names)


def is_allowed_region(offer: Offer, regions: AllowDeny) -> bool:
    """Hold an offer's place to a policy on regions."""
    names = region_names(offer)
    allowed = {name.lower() for name in regions.allow}
    denied = {name.lower() for name in regions.deny}
    return not names & denied and (not allowed or bool(names & allowed))


def _is_stale(offer: Offer, policy: Policy, freshness: Freshness) -> bool:
    seen = offer.provenance
    if seen.valid_until is not None:
        return seen.valid_until < freshness.as_of and not policy.allow_stale
    if policy.allow_stale or seen.evidence == "sheet":
        return False
    limit = freshness.spot if offer.price_kind is PriceKind.SPOT else freshness.other
    return freshness.as_of - seen.observed_at > limit


def _is_denied_provider(offer: Offer, policy: Policy, _: Freshness) -> bool:
    names = provider_names(offer)
    allow = {name.lower() for name in policy.providers.allow}
    deny = {name.lower() for name in policy.providers.deny}
    return bool(names & deny) or (bool(allow) and not names & allow)


def _is_beyond_commitments(offer: Offer, policy: Policy, _: Freshness) -> bool:
    if offer.commitment is None:
        return offer.price_kind is PriceKind.CONTRACT
    limits = policy.commitments
    return (
        offer.commitment.term_months > limits.max_term_months
        or offer.commitment.payment not in limits.payments
    )


_FILTERS: tuple[tuple[str, Filter], ...] = (
    ("provider not allowed", _is_denied_provider),
    ("region unknown", lambda offer, _, __: offer.place.region == UNKNOWN_REGION),
    (
        "region not allowed",
        lambda offer, policy, _: not is_allowed_region(offer, policy.regions),
    ),
    (
        "certification missing",
        lambda offer, policy, _: not set(policy.certifications) <= set(offer.certifications),
    ),
    ("price too old", _is_stale),
    (
        "part of a GPU only",
        lambda offer, _, __: offer.hardware.shape.gpu_count.denominator != 1,
    ),
    (
        "price kind not planned with",
        lambda offer, _, __: offer.price_kind not in PLANNED_KINDS,
    ),
    ("commitment beyond the policy", _is_beyond_commitments),
    ("sold in larger numbers only", lambda offer, _, __: offer.limits.min_nodes > 1),
)
