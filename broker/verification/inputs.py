"""The plan was made from these inputs: workloads, catalog, offers, owned nodes."""

from collections import Counter
from collections.abc import Iterator

from broker.domain.offer import PriceKind
from broker.verification.facts import Facts, Finding, first_difference


def inputs(facts: Facts) -> Iterator[Finding]:
    """Hold the plan to the workloads and the catalog that it says it was made from."""
    plan = facts.plan
    if plan.workloads != facts.case.workloads:
        difference = first_difference(plan.workloads, facts.case.workloads)
        yield Finding("workloads", f"the plan is for other workloads: {difference[1:]}")
    if facts.workloads_sha256 not in (None, plan.workloads_sha256):
        message = f"workloads_sha256 is {plan.workloads_sha256}, not {facts.workloads_sha256}"
        yield Finding("workloads_sha256", message)
    if facts.snapshot not in (None, plan.catalog.snapshot):
        message = f"the catalog snapshot is {plan.catalog.snapshot}, not {facts.snapshot}"
        yield Finding("catalog", message)


def offers(facts: Facts) -> Iterator[Finding]:
    """Hold every offer that the plan embeds to the case's offer of the same key."""
    for offer in facts.plan.offers:
        right = facts.sold.get(offer.key)
        if right is None:
            yield Finding(offer.key, "the catalog has no plannable offer of this key")
        elif offer != right:
            message = f"the offer differs from the catalog's in {first_difference(offer, right)}"
            yield Finding(offer.key, message)
    yield from _twice([offer.key for offer in facts.plan.offers], "offers")


def purchases(facts: Facts) -> Iterator[Finding]:
    """Let each purchase name an offer that the case has and the plan embeds, by its price kind."""
    embedded = {offer.key for offer in facts.plan.offers}
    joined = {id(one.purchase): one.offer for one in facts.bought}
    for purchase in facts.plan.purchases:
        offer = joined.get(id(purchase))
        is_owned = purchase.price_kind is PriceKind.OWNED
        if offer is None:
            where = "stands for an owned machine" if is_owned else "is plannable in the catalog"
            yield Finding(purchase.id, f"no offer {purchase.offer!r} {where}")
        elif not is_owned and purchase.price_kind is not offer.price_kind:
            message = f"price_kind is {purchase.price_kind}, its offer's is {offer.price_kind}"
            yield Finding(purchase.id, message)
        if purchase.offer not in embedded:
            message = f"its offer {purchase.offer!r} is not among the plan's offers"
            yield Finding(purchase.id, message)
    yield from _twice([purchase.id for purchase in facts.plan.purchases], "purchases")


def _twice(names: list[str], what: str) -> Iterator[Finding]:
    for name, count in Counter(names).items():
        if count > 1:
            yield Finding(name, f"stands {count} times among the {what}; once is right")
