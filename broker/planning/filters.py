"""Which offers a plan may use at all: each one that may not has a reason."""

from collections.abc import Callable, Iterable

from broker.domain.certifications import certification_code
from broker.domain.offer import UNKNOWN_REGION, Offer, PriceKind
from broker.domain.workload import AllowDeny, Policy
from broker.planning.freshness import Freshness, is_stale

__all__ = [
    "PLANNED_KINDS",
    "Freshness",
    "is_allowed_region",
    "provider_names",
    "region_names",
    "why_not",
]

PLANNED_KINDS = (
    PriceKind.ON_DEMAND,
    PriceKind.SPOT,
    PriceKind.RESERVED,
    PriceKind.CONTRACT,
)


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


def _codes(names: Iterable[str]) -> set[str]:
    return {certification_code(name) for name in names}


def _is_stale(offer: Offer, policy: Policy, freshness: Freshness) -> bool:
    return not policy.allow_stale and is_stale(offer, freshness)


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
        lambda offer, policy, _: not _codes(policy.certifications) <= _codes(offer.certifications),
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
