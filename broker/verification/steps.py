"""Steps: inside the horizon, on slot boundaries, in order."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from broker.domain.plan import ServingStep
from broker.verification.facts import COMMITTED, TOLERANCE, Facts, Finding
from broker.verification.timeline import Step, Timeline, node_hours_of


def steps(facts: Facts) -> Iterator[Finding]:
    """Put every step on slot boundaries inside the horizon, after the step before it.

    Commitments end with their terms, wherever that is: `commitment_span` asks for it.
    """
    plan, timeline = facts.plan, facts.timeline
    for purchase in plan.purchases:
        if purchase.savings is not None:
            continue
        ends_anywhere = purchase.price_kind in COMMITTED and purchase.block is None
        yield from _in_order(purchase.id, purchase.steps, timeline, ends_anywhere=ends_anywhere)
        counts = [step.nodes for step in purchase.steps]
        yield from _positive(purchase.id, counts, "nodes")
    for group in plan.serving:
        subject = f"{group.service}/{group.user_region}"
        yield from _in_order(subject, group.steps, timeline)
        yield from _positive(subject, [step.replicas for step in group.steps], "replicas")
    for run in plan.training:
        yield from _in_order(run.run, run.steps, timeline)


def size_classes(facts: Facts) -> Iterator[Finding]:
    """Give a count of requests/s, 0 or more, for each size class of the service in each step."""
    classes = {service.name: len(service.sizes) for service in facts.case.workloads.services}
    for group in facts.plan.serving:
        right = classes.get(group.service)
        bad = next((step for step in group.steps if not _is_routed(step, right)), None)
        if bad is not None:
            subject = f"{group.service}/{group.user_region}"
            found = f"requests_per_s from {bad.from_at:%Y-%m-%d %H:%M} is {bad.requests_per_s}"
            yield Finding(subject, f"{found}; {right} figures of 0 or more are right")


def node_hours(facts: Facts) -> Iterator[Finding]:
    """Sum nodes × hours over the steps of each purchase."""
    for purchase in facts.plan.purchases:
        exact = node_hours_of(purchase.steps)
        right = Decimal(exact.numerator) / exact.denominator
        slack = right * Decimal(str(TOLERANCE))
        # Only compared: arithmetic on an absurd figure of the plan could overflow.
        if not right - slack <= purchase.node_hours <= right + slack:
            message = f"node_hours is {purchase.node_hours}, its steps hold {right:f}"
            yield Finding(purchase.id, message)


def _in_order(
    subject: str, all_steps: Sequence[Step], timeline: Timeline, *, ends_anywhere: bool = False
) -> Iterator[Finding]:
    if not all_steps:
        yield Finding(subject, "has 0 steps; 1 or more are right")
    last_at = timeline.start_at
    for step in all_steps:
        problem = _problem(step, timeline, ends_anywhere=ends_anywhere)
        if not problem and step.from_at < last_at:
            problem = f"starts before {last_at:%Y-%m-%d %H:%M}, the end of the step before it"
        if problem:
            span = f"{step.from_at:%Y-%m-%d %H:%M} to {step.to_at:%Y-%m-%d %H:%M}"
            yield Finding(subject, f"the step {span} {problem}")
        last_at = step.to_at


def _problem(step: Step, timeline: Timeline, *, ends_anywhere: bool) -> str:
    if step.from_at >= step.to_at:
        return "does not end after it starts"
    if step.from_at < timeline.start_at or step.to_at > timeline.end_at:
        horizon = f"{timeline.start_at:%Y-%m-%d %H:%M} to {timeline.end_at:%Y-%m-%d %H:%M}"
        return f"is not inside the horizon, {horizon}"
    ends = ends_anywhere or timeline.is_boundary(step.to_at)
    if not (timeline.is_boundary(step.from_at) and ends):
        return f"is not on slot boundaries (slots of {timeline.slot})"
    return ""


def _positive(subject: str, counts: Sequence[int], what: str) -> Iterator[Finding]:
    if counts and min(counts) < 1:
        yield Finding(subject, f"a step has {min(counts)} {what}; 1 or more are right")


def _is_routed(step: ServingStep, classes: int | None) -> bool:
    figures = step.requests_per_s
    return len(figures) == classes and all(0 <= one < float("inf") for one in figures)
