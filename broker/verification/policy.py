"""Policy: what may be bought, where, on what terms, for how much."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from broker.domain.certifications import certification_code
from broker.domain.offer import UNKNOWN_REGION, Evidence, Offer
from broker.domain.plan import NOT_BILLED
from broker.domain.policy import AllowDeny
from broker.domain.quantities import HOURS_PER_MONTH
from broker.verification.costs import to_micro_usd
from broker.verification.facts import FIRM, SPOT, TOLERANCE, Facts, Finding
from broker.verification.isolation import sold_tier


def price_kinds(facts: Facts) -> Iterator[Finding]:
    """Buy only what the program knows how to use: whole GPUs, placed, for a known length.

    A savings plan is no nodes: `savings_plans` holds it to what it says of itself.
    """
    for purchase in facts.plan.purchases:
        if purchase.price_kind not in FIRM | SPOT and purchase.savings is None:
            known = ", ".join(sorted(FIRM | SPOT))
            yield Finding(purchase.id, f"price_kind is {purchase.price_kind}; {known} are right")
    for one in facts.bought:
        if one.is_committed and not one.is_block and one.offer.commitment is None:
            message = f"is {one.purchase.price_kind}, and its offer states no term to commit to"
            yield Finding(one.purchase.id, message)


def whole_nodes(facts: Facts) -> Iterator[Finding]:
    """Buy only nodes with whole GPUs in a known region."""
    for one in facts.bought:
        gpus = one.offer.hardware.shape.gpu_count
        if gpus.denominator != 1:
            yield Finding(one.purchase.id, f"a node has {gpus} GPUs; a whole number is right")
        if one.offer.place.region == UNKNOWN_REGION:
            yield Finding(
                one.purchase.id, f"its region is {UNKNOWN_REGION!r}; a known one is right"
            )


def places(facts: Facts) -> Iterator[Finding]:
    """Buy only from providers and in regions that the policy allows and does not deny."""
    policy = facts.case.workloads.policy
    for one in facts.bought:
        provider = one.offer.provider
        for names, rule, what in (
            (_provider_names(one.offer), policy.providers, f"provider {provider!r}"),
            (_region_names(one.offer), policy.regions, f"region {one.offer.place.region!r}"),
        ):
            problem = _refusal(names, rule)
            if problem:
                yield Finding(one.purchase.id, f"{what} {problem}")


def examples(facts: Facts) -> Iterator[Finding]:
    """Buy an example, which nobody sells, only where the policy allows it by its name."""
    allowed = {entry.casefold() for entry in facts.case.workloads.policy.providers.allow}
    for one in facts.bought:
        is_named = not allowed.isdisjoint(_provider_names(one.offer))
        if one.offer.provenance.evidence is Evidence.EXAMPLE and not is_named:
            message = f"is an example, and the policy does not name {one.offer.provider!r}"
            yield Finding(one.purchase.id, message)


def _provider_names(offer: Offer) -> set[str]:
    """Name an offer's provider, and its tier there as provider:tier."""
    provider, tier = offer.provider.casefold(), sold_tier(offer).casefold()
    return {provider, f"{provider}:{tier}"}


def certifications(facts: Facts) -> Iterator[Finding]:
    """Buy only where every certification that the policy asks for is held."""
    wanted = facts.case.workloads.policy.certifications
    for one in facts.bought:
        held = {certification_code(name) for name in one.offer.certifications}
        missing = [name for name in wanted if certification_code(name) not in held]
        if missing:
            found = ", ".join(one.offer.certifications) or "none"
            yield Finding(one.purchase.id, f"lacks {', '.join(missing)}; its offer has {found}")


def commitment_terms(facts: Facts) -> Iterator[Finding]:
    """Commit no longer, not otherwise and with no more upfront than the policy allows."""
    policy = facts.case.workloads.policy.commitments
    upfront = sum((one.purchase.upfront_usd for one in facts.bought), Decimal(0))
    for one in facts.bought:
        is_promised = one.is_committed or one.purchase.savings is not None
        commitment = one.offer.commitment if is_promised else None
        if commitment and commitment.term_months > policy.max_term_months:
            found = f"its term is {commitment.term_months} months"
            yield Finding(one.purchase.id, f"{found}; at most {policy.max_term_months} are allowed")
        if commitment and commitment.payment not in policy.payments:
            allowed = ", ".join(policy.payments)
            message = f"its payment is {commitment.payment}; {allowed} are allowed"
            yield Finding(one.purchase.id, message)
    if policy.max_upfront_usd is not None and upfront > policy.max_upfront_usd:
        message = f"upfront_usd add up to {upfront}; at most {policy.max_upfront_usd} are allowed"
        yield Finding("plan", message)


def new_commitments(facts: Facts) -> Iterator[Finding]:
    """Commit newly to no more an hour than the policy allows: nodes with their upfront parts.

    Σ nodes × effective usd_per_hour + Σ promised usd_per_hour, capacity blocks left out
    """
    limit = facts.case.workloads.policy.commitments.max_new_usd_per_hour
    if limit is None:
        return
    usd = Fraction(0)
    for one in facts.bought:
        if one.purchase.savings is not None:
            usd += Fraction(one.purchase.savings.usd_per_hour)
        elif one.is_committed and not one.is_block:
            usd += int(one.nodes.max(initial=0)) * Fraction(one.offer.effective_usd_per_hour)
    if float(usd) > float(limit) * (1 + TOLERANCE):
        message = f"new commitments cost {float(usd):,.6f} an hour; at most {limit} are allowed"
        yield Finding("plan", message)


def budget(facts: Facts) -> Iterator[Finding]:
    """Stay within the monthly budget, scaled to the horizon (a month has 730 hours).

    What soft budgets and churn count as is not paid.
    """
    workloads = facts.case.workloads
    monthly = workloads.policy.budget_usd_per_month
    if monthly is None:
        return
    months = Fraction(workloads.horizon.hours) / Fraction(HOURS_PER_MONTH)
    limit = to_micro_usd(Fraction(monthly) * months)
    lines = facts.plan.cost_lines
    unpaid = sum((line.usd for line in lines if line.term in NOT_BILLED), Decimal(0))
    if facts.plan.total_usd - unpaid > limit:
        message = f"total_usd is {facts.plan.total_usd}; the budget for the horizon is {limit}"
        yield Finding("plan", message)


def _refusal(names: set[str], rule: AllowDeny) -> str:
    denied = [entry for entry in rule.deny if entry.casefold() in names]
    if denied:
        return f"is denied by {denied[0]!r}"
    if rule.allow and not any(entry.casefold() in names for entry in rule.allow):
        return f"is not among the allowed: {', '.join(rule.allow)}"
    return ""


def _region_names(offer: Offer) -> set[str]:
    place = offer.place
    path = f"{offer.provider}/{place.region}"
    names = (place.continent, place.country, place.region, path, place.partition)
    return {name.casefold() for name in names if name}
