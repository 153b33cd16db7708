"""Two plans for the same demand, side by side."""

from collections.abc import Sequence
from decimal import Decimal

from broker.domain.explanation import OtherPlan, Outcome, UsdRange
from broker.domain.plan import SMALLEST_GAP, Plan, Purchase, Status
from solver.milp.optimum import Optimum


def other_plan(plan: Plan, optimum: Optimum, *, least_usd: Decimal = Decimal(0)) -> OtherPlan:
    """Hold another plan against this one; none under its rules costs less than `least_usd`."""
    if optimum.status is Status.INFEASIBLE:
        ended = Outcome.UNKNOWN if optimum.ran_out_of_time else Outcome.NONE
        return OtherPlan(outcome=ended)
    return OtherPlan(
        outcome=Outcome.FOUND,
        total_usd=optimum.objective_usd,
        dearer=dearer(plan, optimum, least_usd=least_usd),
        buys=_more(_every(optimum), _every(plan)),
        drops=less_bought(plan, optimum),
    )


def dearer(plan: Plan, optimum: Optimum, *, least_usd: Decimal = Decimal(0)) -> UsdRange:
    """Say how much more another plan costs than this one, at least and at most."""
    most = optimum.objective_usd
    least = min(max(proven_usd(optimum), least_usd), most)
    return UsdRange(least_usd=least - plan.objective_usd, most_usd=most - plan.objective_usd)


def proven_usd(optimum: Optimum | Plan) -> Decimal:
    """Give what a plan costs at least; a gap of the solver's own tolerance is none."""
    is_exact = optimum.gap_fraction <= SMALLEST_GAP
    return optimum.objective_usd if is_exact else optimum.bound_usd


def less_bought(plan: Plan, optimum: Optimum) -> tuple[str, ...]:
    """List the lines of the plan of which the other one buys less."""
    return _more(_every(plan), _every(optimum))


def _every(plan: Plan | Optimum) -> tuple[Purchase, ...]:
    """List what is bought, in all scenarios."""
    told = plan.scenarios.scenarios if plan.scenarios else ()
    return (*plan.purchases, *(one for course in told for one in course.purchases))


def _more(first: Sequence[Purchase], second: Sequence[Purchase]) -> tuple[str, ...]:
    """List the lines of which the first plan has more node-hours, those with the most first."""
    more: dict[str, Decimal] = {}
    for purchases, sign in ((first, 1), (second, -1)):
        for one in purchases:
            more[one.id] = more.get(one.id, Decimal(0)) + sign * one.node_hours
    found = [name for name, extra in more.items() if extra > 0]
    return tuple(sorted(found, key=lambda name: (-more[name], name)))
