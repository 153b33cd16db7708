"""What comes of a search: the parts of a plan, what they cost, and the bound that proves how good.

Money is computed from the offers' prices, not from the solver's figures.
"""

from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal

from broker.domain.plan import (
    SMALLEST_GAP,
    CostLine,
    Purchase,
    ScenarioCosts,
    ServingAssignment,
    Status,
    TrainingAssignment,
)
from broker.domain.quantities import MICRO_USD
from solver.milp.extract_plan import Parts, parts_of
from solver.milp.extract_scenarios import scenario_costs
from solver.milp.first_plan import is_plan
from solver.milp.program import Program
from solver.milp.scenarios.search import JointSolution
from solver.milp.solve import Limits, Outcome, Solution


@dataclass(frozen=True, slots=True)
class Optimum:
    """The parts of a plan and its proof; without a feasible plan the parts are empty.

    `outbid` are machines that another one replaces in any plan for no more, so were not tried.
    """

    status: Status
    total_usd: Decimal
    bound_usd: Decimal
    gap_fraction: float
    purchases: tuple[Purchase, ...] = ()
    serving: tuple[ServingAssignment, ...] = ()
    training: tuple[TrainingAssignment, ...] = ()
    cost_lines: tuple[CostLine, ...] = ()
    ran_out_of_time: bool = False
    outbid: frozenset[str] = frozenset()
    scenarios: ScenarioCosts | None = None

    @property
    def objective_usd(self) -> Decimal:
        """Give what was minimized: the total, or the cost over all scenarios."""
        return self.total_usd if self.scenarios is None else self.scenarios.objective_usd

    @property
    def most_usd(self) -> Decimal:
        """Give the cost in the dearest scenario."""
        told = self.scenarios.scenarios if self.scenarios else ()
        return max((one.total_usd for one in told), default=self.total_usd)


def optimum_of(program: Program, solution: Solution, limits: Limits) -> Optimum:
    """Make the parts of a plan from a solution; money is computed from the offers' prices."""
    if not is_plan(solution):
        ran_out = solution.outcome is Outcome.NO_SOLUTION
        return none(solution.bound_usd, ran_out_of_time=ran_out)
    (parts,) = parts_of([(program, solution.values)])
    return proven(_found(parts), _down(solution.bound_usd), limits)


def over_scenarios(solved: JointSolution, limits: Limits) -> Optimum:
    """Make the parts of a plan for the forecast, and what it is in the other scenarios."""
    if not solved.values:
        ran_out = solved.outcome is Outcome.NO_SOLUTION
        return none(solved.bound_usd, ran_out_of_time=ran_out)
    joint = solved.joint
    programs = [one.program for one in joint.scenarios]
    parts = parts_of(list(zip(programs, solved.values, strict=True)))
    found = replace(_found(parts[0]), scenarios=scenario_costs(joint.robust, parts))
    return proven(found, _down(solved.bound_usd), limits)


def _found(parts: Parts) -> Optimum:
    return Optimum(
        status=Status.FEASIBLE,
        total_usd=parts.total_usd,
        bound_usd=parts.total_usd,
        gap_fraction=0.0,
        purchases=parts.purchases,
        serving=parts.serving,
        training=parts.training,
        cost_lines=parts.cost_lines,
    )


def proven(found: Optimum, bound_usd: Decimal, limits: Limits) -> Optimum:
    """Put a bound under what a plan costs; both are of what was minimized."""
    objective = found.objective_usd
    bound = min(bound_usd, objective)
    gap = float((objective - bound) / objective) if objective else 0.0
    is_proven = gap <= max(limits.gap_fraction, SMALLEST_GAP)
    return replace(
        found,
        status=Status.OPTIMAL if is_proven else Status.FEASIBLE,
        bound_usd=bound,
        gap_fraction=gap,
        ran_out_of_time=not is_proven,
    )


def none(bound_usd: float, *, ran_out_of_time: bool) -> Optimum:
    """Give what comes of a search without a plan; without a plan at all, if time was left."""
    return Optimum(
        status=Status.INFEASIBLE,
        total_usd=Decimal(0),
        bound_usd=_down(bound_usd),
        gap_fraction=1.0 if ran_out_of_time else 0.0,
        ran_out_of_time=ran_out_of_time,
    )


def _down(usd: float) -> Decimal:
    return Decimal(repr(max(0.0, float(usd)))).quantize(MICRO_USD, rounding=ROUND_FLOOR)
