"""Why a plan is as it is, how sure its figures are, and where its prices come from.

All of it is read off the plan; nothing is solved again. What `explain` finds comes beside it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from broker.domain.candidate import BatchCandidate, ErrorBand, Label
from broker.domain.offer import Evidence, PriceKind
from broker.domain.plan import (
    Plan,
    Purchase,
    RejectedCount,
    SavingsPlan,
    ServingAssignment,
    Status,
    TrainingAssignment,
)
from broker.exports.buying import Bought, Kind, bought
from broker.exports.extras import Told

_SHOWN_REASONS = 10


@dataclass(frozen=True, slots=True)
class Reason:
    """What speaks for one purchase. `subject` is the id of its line."""

    subject: str
    heading: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Certainty:
    """How far the rate of a workload on a machine can be trusted, and what it assumes."""

    workload: str
    machine: str
    rate: str
    label: Label
    band: ErrorBand
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Removed:
    """One reason that removed offers: how many at most for one of the workloads, and an example."""

    reason: str
    offers: int
    example: str
    workloads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """One text, and all that it is said of; nothing where it is of the plan as a whole."""

    text: str
    subjects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PriceSource:
    """Where the price of an offer comes from. `age_h` counts to the instant of the catalog."""

    offer: str
    usd_per_hour: Decimal
    stated: str
    observed_at: datetime
    age_h: float
    evidence: Evidence
    source: str


def reasons(plan: Plan, told: Sequence[Told] = ()) -> tuple[Reason, ...]:
    """Say of each purchase what the plan itself holds for it, and what else is told of it."""
    rents = {
        one.machine: one.usd_per_hour
        for one in plan.offers
        if one.price_kind is PriceKind.ON_DEMAND
    }
    return tuple(
        Reason(one.purchase.id, f"{one.action.capitalize()} {one.name}, {one.where}", found)
        for one in bought(plan)
        if (
            found := (
                *_sentences(one, rents.get(one.offer.machine)),
                *(
                    text
                    for said in told
                    if said.subject == one.purchase.id
                    for text in said.sentences
                ),
            )
        )
    )


def proof(plan: Plan) -> str:
    """Say how good the plan is proven to be."""
    if plan.status is Status.OPTIMAL:
        return "Proven optimal: no plan under the same rules and prices costs less."
    if plan.is_undecided:
        return "No plan was found in the time, nor was it proven that there is none."
    if plan.status is Status.INFEASIBLE:
        return "There is no plan: no purchase meets every rule."
    return (
        f"Proven within {plan.gap_fraction:.2%} of the least possible: no plan under the same "
        f"rules and prices costs less than {plan.bound_usd:,.2f} USD."
    )


def removed(plan: Plan) -> tuple[Removed, ...]:
    """List the reasons that removed the most offers; those of several workloads are one."""
    names = {one.name for one in plan.workloads.services}
    names |= {one.name for one in plan.workloads.training}
    names |= {one.name for one in plan.workloads.batch}
    found: dict[str, list[tuple[RejectedCount, str]]] = {}
    for one in sorted(plan.rejected, key=lambda one: (-one.offers, one.reason)):
        name, _, rest = one.reason.partition(": ")
        reason, workload = (rest, name) if name in names else (one.reason, "")
        found.setdefault(reason, []).append((one, workload))
    return tuple(
        Removed(reason, some[0][0].offers, some[0][0].example, tuple(who for _, who in some if who))
        for reason, some in list(found.items())[:_SHOWN_REASONS]
    )


def certainties(plan: Plan) -> tuple[Certainty, ...]:
    """List the rates that the plan rests on, each once."""
    found = [
        *(_serving(one) for one in plan.serving),
        *(_training(one) for one in plan.training),
    ]
    return tuple(dict.fromkeys(found))


def assumptions(plan: Plan) -> tuple[Shared, ...]:
    """List what the rates assume, each once, with the workloads that it is assumed of."""
    return _shared((text, one.workload) for one in certainties(plan) for text in one.assumptions)


def warnings(plan: Plan) -> tuple[Shared, ...]:
    """List the warnings; those that say the same of several machines are one."""
    offers = {one.key: one.machine for one in plan.offers}
    found = []
    for warning in plan.warnings:
        key = next((key for key in offers if warning.startswith(f"{key}: ")), "")
        text = warning.removeprefix(f"{key}: ") if key else warning
        is_code = " " not in text
        found.append((text.replace("_", " ") if is_code else text, offers.get(key, "")))
    return _shared(found)


def price_sources(plan: Plan) -> tuple[PriceSource, ...]:
    """List the offers that are paid for, the oldest price first."""
    used = paid_offers(plan)
    found = []
    for offer in plan.offers:
        if offer.key not in used:
            continue
        quote, seen = offer.quote, offer.provenance.observed_at
        converted = f" at {quote.usd_per_unit.normalize():f} USD" if quote.currency != "USD" else ""
        found.append(
            PriceSource(
                offer=offer.key,
                usd_per_hour=offer.effective_usd_per_hour,
                stated=f"{quote.amount.normalize():f} {quote.currency}{converted}",
                observed_at=seen,
                age_h=(plan.catalog.as_of - seen).total_seconds() / 3600,
                evidence=offer.provenance.evidence,
                source=offer.provenance.source,
            )
        )
    return tuple(sorted(found, key=lambda one: (one.observed_at, one.offer)))


def paid_offers(plan: Plan) -> frozenset[str]:
    """Name the offers whose price is paid: all that are bought, but not what is owned."""
    return frozenset(one.offer for one in plan.purchases if one.price_kind is not PriceKind.OWNED)


def _shared(pairs: Iterable[tuple[str, str]]) -> tuple[Shared, ...]:
    found: dict[str, list[str]] = {}
    for text, subject in pairs:
        known = found.setdefault(text, [])
        if subject and subject not in known:
            known.append(subject)
    return tuple(Shared(text, tuple(subjects)) for text, subjects in found.items())


def _sentences(one: Bought, rent: Decimal | None) -> Iterator[str]:
    purchase, offer = one.purchase, one.offer
    if purchase.savings is not None:
        yield from _promise(purchase, purchase.savings)
        return
    if one.workloads:
        yield f"Its nodes carry {', '.join(one.workloads)}."
    if one.kind is Kind.OWNED:
        yield "It is owned already, so its hours cost nothing more."
        return
    gpus = offer.hardware.shape.gpu_count
    per_gpu = offer.effective_usd_per_hour * gpus.denominator / gpus.numerator
    whole = "" if offer.commitment is None else " with the upfront part spread over the term"
    yield (
        f"A node-hour costs {offer.effective_usd_per_hour:,.4f} USD "
        f"({per_gpu:,.4f} a GPU){whole}{_against_rent(one, rent)}; "
        f"{purchase.node_hours:,.0f} node-hours are paid for."
    )
    if purchase.covered_node_hours:
        yield f"Of these, {purchase.covered_node_hours:,.0f} are paid for by savings plans."
    if purchase.breakeven_utilization is not None:
        yield (
            f"The commitment pays off where a node is needed more than "
            f"{purchase.breakeven_utilization:.0%} of the time."
        )
    if purchase.later_usd:
        yield f"{purchase.later_usd:,.2f} USD of its cost fall after the horizon."
    if one.kind is Kind.SPOT:
        yield _spot(one)


def _promise(purchase: Purchase, savings: SavingsPlan) -> Iterator[str]:
    """Say what a savings plan promises, and what that is used for."""
    yield (
        f"{savings.usd_per_hour:,.3f} USD are promised for every hour of its term, used or not; "
        f"{savings.utilization:.0%} of that is used in the horizon."
    )
    for one in savings.covers:
        yield f"It pays for {one.node_hours:,.0f} node-hours of {one.line}: {one.usd:,.2f} USD."
    if purchase.breakeven_utilization is not None:
        even = f"{purchase.breakeven_utilization:.0%}"
        yield f"It pays off where more than {even} of the promise is used."
    if purchase.later_usd:
        yield f"{purchase.later_usd:,.2f} USD of its cost fall after the horizon."


def _spot(one: Bought) -> str:
    terms = one.offer.spot
    notice = f" with {terms.notice_s:g} s of notice" if terms and terms.notice_s else ""
    return f"Spot nodes can be taken away{notice}."


def _against_rent(one: Bought, rent: Decimal | None) -> str:
    """Compare a price with what the same machine costs on demand, where that is bought too."""
    if not rent or one.kind in {Kind.ON_DEMAND, Kind.OWNED}:
        return ""
    less = 1 - one.offer.effective_usd_per_hour / rent
    return f", {abs(less):.0%} {'less' if less >= 0 else 'more'} than on demand"


def _serving(one: ServingAssignment) -> Certainty:
    rates = "/".join(f"{rate.requests_per_s:.3g}" for rate in one.candidate.rates)
    return Certainty(
        workload=one.service,
        machine=one.machine,
        rate=f"{rates} requests/s a replica",
        label=one.candidate.label,
        band=one.candidate.band,
        assumptions=one.candidate.assumptions,
    )


def _training(one: TrainingAssignment) -> Certainty:
    candidate = one.candidate
    if isinstance(candidate, BatchCandidate):
        each = f"{candidate.replicas} replica{'s' * (candidate.replicas > 1)} a node"
    else:
        each = f"MFU {candidate.mfu:.0%}"
    return Certainty(
        workload=one.workload,
        machine=one.machine,
        rate=f"{candidate.tokens_per_s:,.0f} tokens/s, {each}",
        label=candidate.label,
        band=candidate.band,
        assumptions=candidate.assumptions,
    )
