"""From a solution to all parts of a plan, with the nodes as they are sold."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from broker.domain.plan import CostLine, Purchase, ServingAssignment, TrainingAssignment
from solver.milp.extract_budgets import overrun_lines
from solver.milp.extract_churn import churn_cost_lines
from solver.milp.extract_data import data_lines
from solver.milp.extract_nodes import cost_lines, needed_commitments, purchases
from solver.milp.extract_work import (
    Work,
    read_work,
    serving_assignments,
    training_assignments,
)
from solver.milp.program import Program
from solver.milp.sets import Floats, Sets
from solver.milp.tenants import lines_sold, purchases_sold, serving_sold, training_sold


@dataclass(frozen=True, slots=True)
class Parts:
    """What a plan buys, what runs where, and what that costs."""

    purchases: tuple[Purchase, ...]
    serving: tuple[ServingAssignment, ...]
    training: tuple[TrainingAssignment, ...]
    cost_lines: tuple[CostLine, ...]

    @property
    def total_usd(self) -> Decimal:
        """Add up the cost lines."""
        return sum((line.usd for line in self.cost_lines), Decimal(0))


def parts_of(solved: Sequence[tuple[Program, Floats]]) -> tuple[Parts, ...]:
    """Read the parts of programs that share their commitments, each with its solution.

    Money is computed from the offers' prices. Commitments that none of the programs needs are left
    out, and promises that cover nothing in any.
    """
    work = [read_work(program, values) for program, values in solved]
    committed = needed_commitments(solved, work)
    bought = [
        purchases(program, values, own, committed)
        for (program, values), own in zip(solved, work, strict=True)
    ]
    used = {one.id for some in bought for one in some if one.savings is None or one.savings.covers}
    return tuple(
        _parts(program.sets, own, tuple(one for one in some if one.id in used))
        for (program, _), own, some in zip(solved, work, bought, strict=True)
    )


def _parts(sets: Sets, work: Work, bought: tuple[Purchase, ...]) -> Parts:
    serving = serving_assignments(sets, work)
    training = training_assignments(sets, work)
    offers = {offer.key: offer for offer in sets.case.machines.values()}
    offers |= {offer.key: offer for offer in sets.case.offers} | dict(sets.case.listed)
    lines = cost_lines(bought, offers) + data_lines(sets.case, serving, training)
    lines += overrun_lines(sets.case, bought, (serving, training), lines)
    lines += churn_cost_lines(sets.case, bought)
    return Parts(
        purchases=purchases_sold(sets.case, bought),
        serving=serving_sold(sets.case, serving),
        training=training_sold(sets.case, training),
        cost_lines=lines_sold(sets.case, lines),
    )
