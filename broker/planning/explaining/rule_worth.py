"""What each rule costs: the plan made anew under the loosest value of it, the rest as it is."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from decimal import Decimal

from broker.domain.case import Case
from broker.domain.explanation import Outcome, RuleWorth, UsdRange
from broker.domain.plan import SMALLEST_GAP, Plan, Status
from broker.domain.workload import Workloads
from broker.planning.explaining.compared import less_bought, proven_usd
from broker.planning.explaining.ground import Ground, Sources
from broker.planning.explaining.policy_rules import all_rules
from broker.planning.explaining.rules import Rule
from solver.milp.optimize import optimize, relaxed_bound_usd
from solver.milp.optimum import Optimum
from solver.milp.solve import Limits


@dataclass(frozen=True, slots=True)
class Looser:
    """A case with a looser rule; where options are sized anew, what it is built from."""

    case: Case
    sized_from: tuple[Workloads, Sources] | None
    known_usd: Decimal

    def built(self) -> Case:
        """Give the case, built anew where it has to be."""
        if self.sized_from is None:
            return self.case
        workloads, sources = self.sized_from
        return sources.case_of(workloads)


@dataclass(frozen=True, slots=True)
class Loosened:
    """What came of a looser case; no optimum where it is proven to save nothing."""

    optimum: Optimum | None


def loosened(looser: Looser, limits: Limits) -> Loosened:
    """Plan a looser case in the process that calls it, if it can be cheaper at all."""
    case = looser.built()
    if relaxed_bound_usd(case) >= float(looser.known_usd) * (1 - SMALLEST_GAP):
        return Loosened(None)
    return Loosened(optimize(case, limits))


def rules_in_force(ground: Ground) -> tuple[Rule, ...]:
    """List the rules that could make the plan cheaper."""
    rules = all_rules(ground.plan.workloads, ground.sources.view.offers)
    return tuple(rule for rule in rules if rule.can_save)


def start_loosening(
    ground: Ground, rules: Sequence[Rule], limits: Limits
) -> list[Future[Loosened]]:
    """Start to plan under the loosest value of each rule."""
    return [ground.pool.submit(loosened, _looser(ground, rule), limits) for rule in rules]


def rule_worth(plan: Plan, rule: Rule, found: Loosened | None) -> RuleWorth:
    """Say what a rule costs; None is that it was not looked at in the time."""
    text = rule.said(rule.steps)

    def worth(
        outcome: Outcome, saving: UsdRange | None = None, lines: tuple[str, ...] = ()
    ) -> RuleWorth:
        return RuleWorth(
            rule=rule.path,
            value=rule.value,
            loosened=text,
            outcome=outcome,
            saving=saving,
            lines=lines,
        )

    if found is None:
        return worth(Outcome.UNKNOWN)
    optimum = found.optimum
    if optimum is None:
        return worth(Outcome.NONE)
    if optimum.status is Status.INFEASIBLE:
        return worth(Outcome.UNKNOWN)
    least = max(Decimal(0), proven_usd(plan) - optimum.objective_usd)
    most = max(least, plan.objective_usd - proven_usd(optimum))
    if not most:
        return worth(Outcome.NONE)
    saving = UsdRange(least_usd=least, most_usd=most)
    return worth(Outcome.FOUND, saving, less_bought(plan, optimum) if least else ())


def _looser(ground: Ground, rule: Rule) -> Looser:
    workloads = rule.at(ground.plan.workloads, rule.steps)
    return Looser(
        case=ground.case if rule.is_sized else replace(ground.case, workloads=workloads),
        sized_from=(workloads, ground.sources) if rule.is_sized else None,
        known_usd=ground.plan.objective_usd,
    )
