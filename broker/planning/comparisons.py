"""The same demand under narrower strategies, to show where the saving comes from.

Every strategy is solved with a bound of its own. As each is solved to a gap, a narrower search may
end a little lower than a wider one; so each strategy, the joint plan too, takes the cheapest plan
that any search has found and that keeps its rules, as the independent check sees them
(docs/decisions/0014-strategies-take-each-others-plans.md).
"""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal

from broker.domain.case import Case
from broker.domain.errors import BrokerError
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import SMALLEST_GAP, Comparison, Status
from broker.domain.policy import Sharing
from broker.domain.strategies import StrategyName
from broker.planning.bare_plan import keeps_rules, violations
from broker.planning.searches import Budget, run_all
from broker.planning.strategies import Choice, Strategy, why_none
from broker.planning.strategy_search import Compared, JointSearch, StrategySearches
from broker.planning.watching import Watched
from solver.milp.optimum import Optimum
from solver.milp.pool import SolverPool
from solver.milp.solve import Limits

Progress = Callable[[str], None]
WORKERS = 2
_GRACE_S = 5.0
"""How long a strategy's solve may go on after the time is up: solvers end a little late."""


@dataclass(frozen=True, slots=True)
class Solved:
    """The joint plan's parts, and what is told of the strategies beside it.

    `unknown` names the strategies for which the time was up before a plan was found; `remarks` say
    why others have none. `was_ended` tells that a person ended the search.
    """

    joint: Optimum
    comparisons: tuple[Comparison, ...] = ()
    unknown: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    was_ended: bool = False


def solve_beside(
    case: Case,
    strategies: Sequence[Strategy],
    limits: Limits,
    *,
    gap: float,
    budget_s: float,
    progress: Progress,
) -> Solved:
    """Solve a case and each strategy, in two processes; `gap` is where a strategy's search ends.

    The limits are the joint plan's; the strategies share what is left then of `budget_s`.

    Raises:
        BrokerError: the independent check refuses a strategy's plan, which is a bug of ours.
    """
    joint = Strategy(StrategyName.JOINT, (Choice("", case),))
    every = (joint, *strategies)
    alike = [_alike(one, every[:at]) for at, one in enumerate(every)]
    narrower = [one for one, same in zip(every, alike, strict=True) if same is None][1:]
    watched = Watched(progress)
    with closing(watched), SolverPool(WORKERS, watched.watcher) as pool, watched.interrupts():
        budget = Budget(time.monotonic() + budget_s, WORKERS, len(narrower))
        watched.on_end = budget.end
        first = JointSearch(joint, limits, pool, budget)
        beside = StrategySearches(first, replace(limits, gap_fraction=gap), pool, budget)
        searches = [first.run(), *(beside.run(one) for one in narrower)]
        found = run_all(
            searches,
            lambda done: progress(f"solved: {done.name}"),
            lambda: budget.ends_at_s + _GRACE_S,
        )
    solved, *compared = _with_each_others_plans(_of_every(every, alike, found))
    return Solved(
        joint=_joint_optimum(solved, limits),
        was_ended=watched.was_ended,
        comparisons=tuple(_comparison(one, gap) for one in compared if _is_known(one)),
        unknown=tuple(one.strategy.name.value for one in compared if not _is_known(one)),
        remarks=_remarks(compared),
    )


def _remarks(compared: Sequence[Compared]) -> tuple[str, ...]:
    """Say of each strategy that settled without a plan why there is none."""
    return tuple(
        remark
        for one in compared
        if one.optimum is None and one.is_settled and (remark := why_none(one.strategy))
    )


def _of_every(
    every: Sequence[Strategy],
    alike: Sequence[tuple[StrategyName, Choice] | None],
    found: Sequence[Compared],
) -> list[Compared]:
    """Give what was found to every strategy: its own, or that of the one that it is alike to."""
    by_name = {one.strategy.name: one for one in found}
    return [
        by_name[one.name]
        if same is None
        else replace(by_name[same[0]], strategy=one, choice=same[1])
        for one, same in zip(every, alike, strict=True)
    ]


def _is_known(compared: Compared) -> bool:
    return compared.optimum is not None or compared.is_settled


def _comparison(compared: Compared, gap: float) -> Comparison:
    """State what came of a strategy; it counts as optimal within the gap that was asked for."""
    if compared.optimum is None:
        return Comparison(
            strategy=compared.name,
            status=Status.INFEASIBLE,
            total_usd=None,
            bound_usd=None,
            gap_fraction=None,
        )
    total = compared.optimum.objective_usd
    reached = _gap(total, compared.bound_usd)
    return Comparison(
        strategy=compared.name,
        status=_status(reached, gap),
        total_usd=total,
        bound_usd=compared.bound_usd,
        gap_fraction=reached,
    )


def _alike(strategy: Strategy, earlier: Sequence[Strategy]) -> tuple[StrategyName, Choice] | None:
    """Find what need not be solved again: the joint case, or one that an earlier strategy has."""
    for other in earlier:
        is_joint = other.name is StrategyName.JOINT
        if not is_joint and (len(strategy.choices), len(other.choices)) != (1, 1):
            continue
        for choice in strategy.choices:
            if _is_the_same(choice.case, other.choices[0].case):
                return other.name, choice
    return None


def _is_the_same(one: Case, other: Case) -> bool:
    """Compare what can be part of a plan; offers that no option stands on cannot."""
    return (
        (one.serving, one.training, one.owned) == (other.serving, other.training, other.owned)
        and _is_split(one) == _is_split(other)
        and _usable(one) == _usable(other)
    )


def _is_split(case: Case) -> bool:
    """Say whether nodes are kept apart that could be shared."""
    both = bool(case.serving and case.training)
    return both and case.workloads.policy.sharing is Sharing.SPLIT


def _usable(case: Case) -> list[Offer]:
    used = {(one.machine, one.on_spot) for one in case.serving}
    used |= {(one.machine, one.candidate.on_spot) for one in case.training}
    return [one for one in case.offers if (one.machine, one.price_kind is PriceKind.SPOT) in used]


def _with_each_others_plans(results: Sequence[Compared]) -> list[Compared]:
    """Give each strategy the cheapest plan that keeps its rules; the first is the joint plan.

    None costs less than the joint plan's bound, as its plans are plans of the joint case.
    """
    plans = sorted(
        (one.optimum for one in results if one.optimum is not None),
        key=lambda one: one.objective_usd,
    )
    taken = [_taking(one, plans) for one in results]
    least = taken[0].bound_usd
    return [
        replace(one, bound_usd=min(max(one.bound_usd, least), one.optimum.objective_usd))
        if one.optimum is not None
        else one
        for one in taken
    ]


def _taking(compared: Compared, plans: Iterable[Optimum]) -> Compared:
    """Take the first of some plans that keeps the rules and costs less than the own one."""
    for plan in plans:
        if compared.optimum is not None and plan.objective_usd >= compared.optimum.objective_usd:
            break
        for choice in compared.strategy.choices:
            if keeps_rules(plan, choice.case):
                return replace(compared, choice=choice, optimum=plan)
    _check(compared)
    return compared


def _check(compared: Compared) -> None:
    """Hold a strategy's own plan to the independent check; the joint plan is checked in whole."""
    if compared.optimum is None or compared.choice is None:
        return
    found = violations(compared.optimum, compared.choice.case)
    if found:
        raise BrokerError(
            f"the plan for {compared.name!r} failed its independent check: {found[0].rule} of "
            f"{found[0].subject}: {found[0].message} ({len(found)} in all)",
            hint="this is a bug; please report it with the workloads file",
        )


def _joint_optimum(joint: Compared, limits: Limits) -> Optimum:
    """State the proof of the joint plan anew, as its plan may be one of a narrower search."""
    if joint.optimum is None:
        return Optimum(
            status=Status.INFEASIBLE,
            total_usd=Decimal(0),
            bound_usd=joint.bound_usd,
            gap_fraction=0.0 if joint.is_settled else 1.0,
            ran_out_of_time=not joint.is_settled,
        )
    reached = _gap(joint.optimum.objective_usd, joint.bound_usd)
    status = _status(reached, limits.gap_fraction)
    return replace(
        joint.optimum,
        status=status,
        bound_usd=joint.bound_usd,
        gap_fraction=reached,
        ran_out_of_time=status is not Status.OPTIMAL,
    )


def _gap(total: Decimal, bound: Decimal) -> float:
    return float((total - bound) / total) if total else 0.0


def _status(reached: float, asked: float) -> Status:
    return Status.OPTIMAL if reached <= max(asked, SMALLEST_GAP) else Status.FEASIBLE
