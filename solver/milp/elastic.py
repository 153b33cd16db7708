"""Rules with give: how little the numbers of the workloads file must grow for a plan to exist.

The quotas, the cap on cash and the budgets are rows whose limit is a number. Here each may be
raised, and what is minimized is the raising alone, each as a part of its rule's own size.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from broker.domain.case import Case
from broker.domain.quantities import HOURS_PER_MONTH
from solver.milp.build import build_sets
from solver.milp.objective.terms import TermCost
from solver.milp.program import Program, build_program, to_proto
from solver.milp.prune import prune
from solver.milp.rows import Rows, entries
from solver.milp.sets import Floats, has_hopeless_workload
from solver.milp.solve import Limits, Outcome, solve_model
from solver.milp.variables import Block, Columns

_LARGEST = 1e9


@dataclass(frozen=True, slots=True)
class Raisable:
    """The rules that may be raised: quotas and budgets by their numbers in the file, the cap.

    `budget` is that of the month for the whole plan.
    """

    quotas: tuple[int, ...] = ()
    upfront: bool = False
    budget: bool = False
    budgets: tuple[int, ...] = ()

    @property
    def amounts(self) -> tuple[str | int, ...]:
        """List the rules that are dollars, in the order of their columns."""
        return (*["upfront"] * self.upfront, *["budget"] * self.budget, *self.budgets)


@dataclass(frozen=True, slots=True)
class Raised:
    """By how much each rule is raised: GPUs a quota, dollars of cash, dollars of the budget.

    The budget is that of a month; `budgets_usd` are in the units of their own keys. `is_least`
    tells that no smaller raising exists; else the time was up and this is one that is enough.
    """

    quota_gpus: dict[int, int]
    upfront_usd: float
    budget_usd_per_month: float
    is_least: bool
    budgets_usd: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ElasticColumns(Columns):
    """All blocks, and raised[r] for each rule that may be raised, in the order of `Raisable`."""

    raised_gpus: Block
    raised_usd: Block

    def blocks(self) -> tuple[Block, ...]:
        """List the blocks in column order."""
        return (*Columns.blocks(self), self.raised_gpus, self.raised_usd)


def least_raise(case: Case, may: Raisable, limits: Limits) -> Raised | None:
    """Find the least raising of some rules that lets the case have a plan.

    None says that no raising of them is enough, or that none was found in the time.
    Pruning keeps it exact: what stands for something else costs no more, binds no more cash and
    is under no quota that the other is not under.
    """
    program = elastic_program(prune(case).case, may)
    if has_hopeless_workload(program.sets):
        return None
    solution = solve_model(to_proto(program).SerializeToString(), limits)
    if solution.outcome not in (Outcome.OPTIMAL, Outcome.FEASIBLE):
        return None
    columns = program.columns
    if not isinstance(columns, ElasticColumns):
        return None
    gpus = _values(solution.values, columns.raised_gpus)
    usd = dict(zip(may.amounts, _values(solution.values, columns.raised_usd), strict=True))
    return Raised(
        quota_gpus={
            number: round(float(more)) for number, more in zip(may.quotas, gpus, strict=True)
        },
        upfront_usd=float(usd.get("upfront", 0.0)),
        budget_usd_per_month=float(usd.get("budget", 0.0)),
        is_least=solution.outcome is Outcome.OPTIMAL,
        budgets_usd={number: float(usd[number]) for number in may.budgets},
    )


def elastic_program(case: Case, may: Raisable) -> Program:
    """Build the program of a case in which some rules give, and only that is charged."""
    sets = build_sets(case)
    program = build_program(sets)
    parts = {name: getattr(program.columns, name) for name in Columns.__slots__}
    start = program.columns.size
    gpus = _block("raised_gpus", start, len(may.quotas), integer=True)
    usd = _block("raised_usd", start + gpus.size, len(may.amounts), integer=False)
    columns = ElasticColumns(**parts, raised_gpus=gpus, raised_usd=usd)
    return replace(
        program,
        columns=columns,
        families=tuple(_with_give(family, case, may, columns) for family in program.families),
        terms=(_charge(case, may, columns),),
    )


def _block(name: str, start: int, size: int, *, integer: bool) -> Block:
    return Block(name, start, np.zeros(size), np.full(size, _LARGEST), integer)


def _with_give(family: Rows, case: Case, may: Raisable, columns: ElasticColumns) -> Rows:
    """Let the rows of a family that may be raised be exceeded by what they are raised."""
    given = [
        entries(row, np.array([column]), -factor)
        for row, key in enumerate(family.keys)
        for column, factor in _gives(family.family, key, case, may=may, columns=columns)
    ]
    if not given:
        return family
    own = family.entries
    return replace(
        family,
        entries=replace(
            own,
            row=np.concatenate([own.row, *(one.row for one in given)]),
            column=np.concatenate([own.column, *(one.column for one in given)]),
            coefficient=np.concatenate([own.coefficient, *(one.coefficient for one in given)]),
        ),
    )


def _gives(
    family: str, key: Sequence[object], case: Case, *, may: Raisable, columns: ElasticColumns
) -> Iterator[tuple[int, float]]:
    if family == "quota" and key[0] in may.quotas:
        yield columns.raised_gpus.start + may.quotas.index(int(str(key[0]))), 1.0
    months = case.workloads.horizon.hours / float(HOURS_PER_MONTH)
    for place, amount in enumerate(may.amounts, start=columns.raised_usd.start):
        if family == "upfront_cap" and amount == "upfront":
            yield place, 1.0
        if family == "budget" and amount == "budget":
            yield place, months
        if family in ("budgets", "month_budgets") and amount == key[0]:
            is_monthly = case.workloads.policy.budgets[int(str(amount))].usd_per_month is not None
            yield place, months if is_monthly else 1.0


def _charge(case: Case, may: Raisable, columns: ElasticColumns) -> TermCost:
    """Charge each rule's raising as a part of the rule: a quota of 8 raised by 8 counts 1."""
    policy = case.workloads.policy
    sizes = [float(case.workloads.quotas[number].gpus) for number in may.quotas]
    sizes += [float(policy.commitments.max_upfront_usd or 0)] * may.upfront
    sizes += [float(policy.budget_usd_per_month or 0)] * may.budget
    sizes += [float(policy.budgets[number].amount_usd) for number in may.budgets]
    column = np.arange(len(sizes)) + columns.raised_gpus.start
    return TermCost("raised", column, np.array([1 / max(size, 1.0) for size in sizes]))


def _values(values: Floats, block: Block) -> Floats:
    return values[block.start : block.start + block.size]
