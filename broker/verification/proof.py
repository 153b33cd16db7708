"""The proof: bound, gap and status of the plan, and of what it is compared with."""

import math
from collections.abc import Iterator
from decimal import Decimal

from broker.domain.plan import SMALLEST_GAP, Comparison, Status
from broker.verification.facts import TOLERANCE, Facts, Finding

_GAP_SLACK = 1e-9
_STATUS_SLACK = 1e-12


def proof(facts: Facts) -> Iterator[Finding]:
    """Put the bound at or under the total, the gap between them, and the status by the gap.

    An infeasible plan has no cost, so there is nothing that its bound would be under.
    """
    plan = facts.plan
    if plan.status is Status.INFEASIBLE:
        return
    yield from _arithmetic("plan", plan.total_usd, plan.bound_usd, plan.gap_fraction)
    asked = plan.settings.gap_fraction
    enough = max(asked, SMALLEST_GAP) + _STATUS_SLACK
    right = Status.OPTIMAL if plan.gap_fraction <= enough else Status.FEASIBLE
    if plan.status is not right:
        message = f"status is {plan.status}; a gap of {plan.gap_fraction} with {asked} asked"
        yield Finding("plan", f"{message} is {right}")


def infeasible(facts: Facts) -> Iterator[Finding]:
    """Leave a plan empty that is infeasible."""
    plan = facts.plan
    if plan.status is Status.INFEASIBLE:
        parts = (plan.purchases, plan.serving, plan.training, plan.cost_lines)
        count = sum(len(part) for part in parts)
        if count:
            message = f"is infeasible with {count} purchases, assignments and lines; 0 are right"
            yield Finding("plan", message)


def comparisons(facts: Facts) -> Iterator[Finding]:
    """Hold each comparison to its own arithmetic, and to the bound of the plan.

    A narrower strategy is a plan under the same rules, so none costs less than the plan's bound.
    """
    yield from _single_provider(facts)
    for one in facts.plan.comparisons:
        has_plan = one.status is not Status.INFEASIBLE
        if any((figure is not None) != has_plan for figure in (one.total_usd, one.gap_fraction)):
            figures = f"a total_usd of {one.total_usd} and a gap_fraction of {one.gap_fraction}"
            right = "both figures are" if has_plan else "none is"
            yield Finding(one.strategy, f"is {one.status} with {figures}; {right} right")
        yield from _compared(one, facts)


def _single_provider(facts: Facts) -> Iterator[Finding]:
    """Let no best single provider be dearer than a plan that buys from one provider itself."""
    plan = facts.plan
    providers = {one.offer.provider for one in facts.bought if not one.is_owned}
    if plan.status is Status.INFEASIBLE or len(providers) != 1:
        return
    for one in plan.comparisons:
        is_single = one.strategy.startswith("best single provider")
        if is_single and (one.total_usd is None or one.total_usd > plan.total_usd):
            message = f"total_usd is {one.total_usd}; the plan buys from {min(providers)} alone, at"
            yield Finding(one.strategy, f"{message} {plan.total_usd}")


def _compared(one: Comparison, facts: Facts) -> Iterator[Finding]:
    if one.total_usd is None or one.gap_fraction is None:
        return
    if one.bound_usd is None:
        yield Finding(one.strategy, f"has a gap_fraction of {one.gap_fraction} and no bound_usd")
        return
    yield from _arithmetic(one.strategy, one.total_usd, one.bound_usd, one.gap_fraction)
    # Rounding of cost lines may differ between two plans of one cost.
    least = facts.plan.bound_usd * (1 - Decimal(str(TOLERANCE)))
    if facts.plan.status is not Status.INFEASIBLE and one.total_usd < least:
        message = f"total_usd is {one.total_usd}, under the plan's bound {facts.plan.bound_usd}"
        yield Finding(one.strategy, message)


def _arithmetic(subject: str, total: Decimal, bound: Decimal, gap: float) -> Iterator[Finding]:
    if bound > total:
        yield Finding(subject, f"bound_usd is {bound}, above total_usd {total}")
    right = float((total - bound) / total) if total else 0.0
    if not math.isclose(gap, right, rel_tol=0, abs_tol=_GAP_SLACK):
        yield Finding(subject, f"gap_fraction is {gap}; {right} is right")
