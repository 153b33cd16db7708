"""Which offers a plan may use at all: each one that may not has a reason."""

from collections.abc import Callable, Iterable
from datetime import timedelta

from broker.domain.certifications import certification_code
from broker.domain.horizon import Horizon
from broker.domain.offer import UNKNOWN_REGION, Billing, Evidence, Offer, Payment, PriceKind
from broker.domain.place_names import provider_names, region_names
from broker.domain.policy import AllowDeny, Policy
from broker.domain.quantities import HOURS_PER_MONTH
from broker.domain.savings import savings_plan_of
from broker.planning.freshness import Freshness, is_stale

__all__ = [
    "BOUND_FOR_LONGER",
    "EXAMPLE",
    "GONE_BEFORE",
    "PLANNED_KINDS",
    "Freshness",
    "is_allowed_region",
    "why_no_block",
    "why_not",
    "why_not_then",
    "why_unusable",
]

EXAMPLE = "example offer, not asked for by name"
"""The reason why what nobody sells is not planned with."""

BOUND_FOR_LONGER = "rented for longer than a slot only"
"""The reason why a machine is not planned with that is paid for longer than it is used in a slot.

A plan counts the slots in which it has a node, so its bill would be above the plan.
"""

GONE_BEFORE = "gone before the horizon ends"
"""The reason why a machine is not planned with whose host takes it back inside the horizon.

Replicas stay where they are for the horizon, and a run may begin late in its window.
"""

PLANNED_KINDS = (
    PriceKind.ON_DEMAND,
    PriceKind.SPOT,
    PriceKind.RESERVED,
    PriceKind.CONTRACT,
    PriceKind.CAPACITY_BLOCK,
    PriceKind.SAVINGS_PLAN,
)

_HOUR = timedelta(hours=1)

Filter = Callable[[Offer, Policy, Freshness], bool]


def why_not(offer: Offer, policy: Policy, freshness: Freshness) -> str | None:
    """Name the first rule that keeps an offer out of every plan; None where none does."""
    return next((reason for reason, removes in _FILTERS if removes(offer, policy, freshness)), None)


def why_unusable(machine: Offer, policy: Policy, freshness: Freshness) -> str | None:
    """Name the first rule that keeps nodes of a machine unused even where they are paid for."""
    rules = (*_PLACE_FILTERS, _PART_OF_A_GPU)
    return next((reason for reason, removes in rules if removes(machine, policy, freshness)), None)


def why_not_then(offer: Offer, horizon: Horizon) -> str | None:
    """Say why an offer fits no slot of the horizon; None where it may."""
    by_the_hour = offer.price_kind in (PriceKind.ON_DEMAND, PriceKind.SPOT)
    if by_the_hour and _is_billed_for_more(offer.billing, horizon.slot):
        return BOUND_FOR_LONGER
    if by_the_hour and offer.limits.until is not None and offer.limits.until < horizon.end:
        return GONE_BEFORE
    return why_no_block(offer, horizon)


def _is_billed_for_more(billing: Billing, slot: timedelta) -> bool:
    """Say whether a slot is shorter than what is paid for, or no whole number of billing steps.

    What is paid ahead for a time that nobody states may be paid for longer than any slot.
    """
    if billing.prepaid and billing.minimum_h is None:
        return True
    step = timedelta(seconds=billing.step_s or 0)
    return (billing.minimum_h or 0) * _HOUR > slot or bool(step and slot % step)


def why_no_block(offer: Offer, horizon: Horizon) -> str | None:
    """Say why no window of a capacity block begins in the horizon; None where one may, or is none.

    What may be booked ahead counts from the day of the price.
    """
    block = offer.block
    if block is None or offer.price_kind is not PriceKind.CAPACITY_BLOCK:
        return None
    if block.starts_at is not None and not horizon.start <= block.starts_at < horizon.end:
        return "block begins outside the horizon"
    ahead = timedelta(days=block.book_ahead_days or 0)
    first_at = block.starts_at or horizon.start
    if block.book_ahead_days is not None and offer.provenance.observed_at + ahead < first_at:
        return "block cannot be booked that far ahead"
    return None


def is_allowed_region(offer: Offer, regions: AllowDeny) -> bool:
    """Hold an offer's place to a policy on regions."""
    names = region_names(offer)
    allowed = {name.lower() for name in regions.allow}
    denied = {name.lower() for name in regions.deny}
    return not names & denied and (not allowed or bool(names & allowed))


def _is_unasked_example(offer: Offer, policy: Policy, _: Freshness) -> bool:
    """Keep out what is invented; a policy that allows all providers does not ask for it."""
    asked = {name.lower() for name in policy.providers.allow}
    return offer.provenance.evidence is Evidence.EXAMPLE and not provider_names(offer) & asked


def _codes(names: Iterable[str]) -> set[str]:
    return {certification_code(name) for name in names}


def _is_stale(offer: Offer, policy: Policy, freshness: Freshness) -> bool:
    return not policy.allow_stale and is_stale(offer, freshness)


def _is_denied_provider(offer: Offer, policy: Policy, _: Freshness) -> bool:
    names = provider_names(offer)
    allow = {name.lower() for name in policy.providers.allow}
    deny = {name.lower() for name in policy.providers.deny}
    return bool(names & deny) or (bool(allow) and not names & allow)


def _is_unwanted_savings_plan(offer: Offer, policy: Policy, _: Freshness) -> bool:
    is_plan = offer.price_kind is PriceKind.SAVINGS_PLAN
    return is_plan and not policy.commitments.savings_plans


def _has_unknown_scope(offer: Offer, _: Policy, __: Freshness) -> bool:
    return offer.price_kind is PriceKind.SAVINGS_PLAN and not savings_plan_of(offer)


def _is_beyond_commitments(offer: Offer, policy: Policy, _: Freshness) -> bool:
    limits = policy.commitments
    if offer.price_kind is PriceKind.CAPACITY_BLOCK:
        return (
            offer.block is None
            or not limits.capacity_blocks
            or Payment.ALL_UPFRONT not in limits.payments
            or offer.block.lengths_h[0] > limits.max_term_months * HOURS_PER_MONTH
        )
    if offer.commitment is None:
        return offer.price_kind is PriceKind.CONTRACT
    return (
        offer.commitment.term_months > limits.max_term_months
        or offer.commitment.payment not in limits.payments
    )


_PLACE_FILTERS: tuple[tuple[str, Filter], ...] = (
    (EXAMPLE, _is_unasked_example),
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
)
_PART_OF_A_GPU: tuple[str, Filter] = (
    "part of a GPU only",
    lambda offer, _, __: offer.hardware.shape.gpu_count.denominator != 1,
)
_FILTERS: tuple[tuple[str, Filter], ...] = (
    *_PLACE_FILTERS,
    ("price too old", _is_stale),
    _PART_OF_A_GPU,
    (
        "price kind not planned with",
        lambda offer, _, __: offer.price_kind not in PLANNED_KINDS,
    ),
    ("savings plans are off in the policy", _is_unwanted_savings_plan),
    ("savings plan of unknown scope", _has_unknown_scope),
    ("commitment beyond the policy", _is_beyond_commitments),
    ("sold in larger numbers only", lambda offer, _, __: offer.limits.min_nodes > 1),
)
