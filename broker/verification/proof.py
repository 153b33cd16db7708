"""The proof: bound, gap and status of the plan, and of what it is compared with."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType

from broker.domain.offer import PriceKind
from broker.domain.plan import SMALLEST_GAP, Comparison, Status
from broker.domain.strategies import StrategyName, split_name
from broker.verification.facts import TOLERANCE, Facts, Finding
from broker.verification.scenarios import every_course

_GAP_SLACK = 1e-9
_STATUS_SLACK = 1e-12


def proof(facts: Facts) -> Iterator[Finding]:
    """Put the bound at or under the total, the gap between them, and the status by the gap.

    Over scenarios it is their objective that stands for the total, here and in comparisons.
    An infeasible plan has no cost, so there is nothing that its bound would be under.
    """
    plan = facts.plan
    if plan.status is Status.INFEASIBLE:
        return
    yield from _arithmetic("plan", plan.objective_usd, plan.bound_usd, plan.gap_fraction)
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
    """Hold each comparison to its own arithmetic, to the bound of the plan, and to the plan.

    A narrower strategy is a plan under the same rules, so none costs less than the plan's bound;
    one that the plan itself keeps to costs no more than the plan. Each strategy stands once.
    """
    yield from _kept_strategies(facts)
    names = Counter(one.strategy.partition(": ")[0] for one in facts.plan.comparisons)
    for name, count in names.items():
        if count > 1:
            yield Finding(name, f"is compared {count} times; once is right")
    for one in facts.plan.comparisons:
        has_plan = one.status is not Status.INFEASIBLE
        if any((figure is not None) != has_plan for figure in (one.total_usd, one.gap_fraction)):
            figures = f"a total_usd of {one.total_usd} and a gap_fraction of {one.gap_fraction}"
            right = "both figures are" if has_plan else "none is"
            yield Finding(one.strategy, f"is {one.status} with {figures}; {right} right")
        yield from _compared(one, facts)


def _kept_strategies(facts: Facts) -> Iterator[Finding]:
    """Let no strategy be dearer than a plan that keeps to it."""
    plan = facts.plan
    if plan.status is Status.INFEASIBLE:
        return
    for one in plan.comparisons:
        name, _ = split_name(one.strategy)
        keeps = _KEEPS.get(name) if name else None
        is_dearer = one.total_usd is None or one.total_usd > plan.objective_usd
        if keeps is not None and is_dearer and all(keeps(own) for _, own in every_course(facts)):
            message = f"total_usd is {one.total_usd}; the plan keeps to it at {plan.objective_usd}"
            yield Finding(one.strategy, message)


def _buys_from_one(facts: Facts) -> bool:
    return len({one.offer.provider for one in facts.bought if not one.is_owned}) <= 1


def _runs_on_one(facts: Facts) -> bool:
    return len({one.offer.hardware.shape.gpu for one in facts.bought}) <= 1


def _bids_for_none(facts: Facts) -> bool:
    return all(one.purchase.price_kind is not PriceKind.SPOT for one in facts.bought)


def _commits_to_none(facts: Facts) -> bool:
    return not any(one.is_committed or one.purchase.savings for one in facts.bought)


def _shares_none(facts: Facts) -> bool:
    serving = {one.assignment.machine for one in facts.groups}
    return serving.isdisjoint(one.assignment.machine for one in facts.gangs)


_KEEPS: Mapping[StrategyName, Callable[[Facts], bool]] = MappingProxyType(
    {
        StrategyName.SINGLE_PROVIDER: _buys_from_one,
        StrategyName.ONE_GPU_MODEL: _runs_on_one,
        StrategyName.NO_SPOT: _bids_for_none,
        StrategyName.NO_COMMITMENTS: _commits_to_none,
        StrategyName.ON_DEMAND_ONLY: lambda facts: (
            _bids_for_none(facts) and _commits_to_none(facts)
        ),
        StrategyName.NO_SHARING: _shares_none,
    }
)
"""How to see that a plan keeps to a strategy; of the others that cannot be told from a plan."""


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
