"""From a case to its cheapest plan's parts, with the bound that proves how far it can be off."""

from concurrent.futures import Future
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal

from broker.domain.case import Case
from broker.domain.plan import (
    SMALLEST_GAP,
    CostLine,
    Purchase,
    ServingAssignment,
    Status,
    TrainingAssignment,
)
from broker.domain.quantities import MICRO_USD
from solver.milp.extract_nodes import cost_lines, purchases
from solver.milp.extract_work import read_work, serving_assignments, training_assignments
from solver.milp.program import Program, build_program
from solver.milp.prune import Pruned, prune
from solver.milp.sets import build_sets
from solver.milp.solve import Limits, Outcome, Solution, SolverPool

_HOPELESS = 1.0


@dataclass(frozen=True, slots=True)
class Optimum:
    """The parts of a plan and its proof; without a feasible plan the parts are empty."""

    status: Status
    total_usd: Decimal
    bound_usd: Decimal
    gap_fraction: float
    purchases: tuple[Purchase, ...] = ()
    serving: tuple[ServingAssignment, ...] = ()
    training: tuple[TrainingAssignment, ...] = ()
    cost_lines: tuple[CostLine, ...] = ()
    ran_out_of_time: bool = False


@dataclass(frozen=True, slots=True)
class Pending:
    """A solve under way: wait for its optimum."""

    program: Program
    pruned: Pruned
    limits: Limits
    solution: "Future[Solution] | None"

    def optimum(self) -> Optimum:
        """Wait for the solver, and make the parts of a plan from what it found."""
        if self.solution is None:
            return _none(Decimal(0), ran_out_of_time=False)
        return optimum_of(self.program, self.solution.result(), self.limits)


def start(case: Case, limits: Limits, pool: SolverPool) -> Pending:
    """Prune a case, build its program and start to solve it.

    A demand or run without any option has no plan at all; then no solver is asked.
    """
    pruned = prune(case)
    program = build_program(build_sets(pruned.case))
    future = None if has_hopeless_workload(program) else pool.submit(program, limits)
    return Pending(program, pruned, limits, future)


def has_hopeless_workload(program: Program) -> bool:
    """Say whether a demand has no group, or a run no option that finishes in its window."""
    sets = program.sets
    served = {group.demand for group in sets.groups}
    done = {option.run for option in sets.run_options}
    return len(served) < len(sets.demands) or len(done) < len(sets.runs)


def optimum_of(program: Program, solution: Solution, limits: Limits) -> Optimum:
    """Make the parts of a plan from a solution; money is computed from the offers' prices."""
    if solution.outcome is Outcome.INFEASIBLE:
        return _none(_down(solution.bound_usd), ran_out_of_time=False)
    if solution.outcome is Outcome.NO_SOLUTION:
        return _none(_down(solution.bound_usd), ran_out_of_time=True)
    sets = program.sets
    work = read_work(program, solution.values)
    training = training_assignments(sets, work)
    bought = purchases(program, solution.values, work)
    egress = {
        (one.option.run, one.option.machine, one.option.candidate.id): one.option.egress_usd
        for one in sets.run_options
    }
    offers = {offer.key: offer for offer in sets.case.offers}
    offers |= {offer.key: offer for offer in sets.case.machines.values()}
    lines = cost_lines(
        bought,
        offers,
        [(one.run, egress[one.run, one.machine, one.candidate.id]) for one in training],
    )
    total = sum((line.usd for line in lines), Decimal(0))
    bound = min(_down(solution.bound_usd), total)
    gap = float((total - bound) / total) if total else 0.0
    is_proven = gap <= max(limits.gap_fraction, SMALLEST_GAP)
    return Optimum(
        status=Status.OPTIMAL if is_proven else Status.FEASIBLE,
        total_usd=total,
        bound_usd=bound,
        gap_fraction=gap,
        purchases=bought,
        serving=serving_assignments(sets, work),
        training=training,
        cost_lines=lines,
        ran_out_of_time=not is_proven,
    )


def _none(bound: Decimal, *, ran_out_of_time: bool) -> Optimum:
    return Optimum(
        status=Status.INFEASIBLE,
        total_usd=Decimal(0),
        bound_usd=bound,
        gap_fraction=_HOPELESS if ran_out_of_time else 0.0,
        ran_out_of_time=ran_out_of_time,
    )


def _down(usd: float) -> Decimal:
    return Decimal(repr(max(0.0, usd))).quantize(MICRO_USD, rounding=ROUND_FLOOR)
