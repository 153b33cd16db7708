"""Strategies side by side: what each costs, what the joint plan saves, and by which step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from rich.console import Group, RenderableType
from rich.text import Text

from broker.domain.plan import Comparison, Plan, Status
from broker.domain.strategies import StrategyName, split_name
from broker.reports.bars import bar
from broker.reports.formats import Column, Report, as_table
from broker.reports.layout import Fit, shorten
from broker.reports.plan_view import heading, without_plan

_NOTHING = Decimal(0)
_LONGEST_LABEL, _SHORTEST_BAR, _GAP = 40, 10, 2
_LADDERS: Sequence[Sequence[tuple[str, StrategyName]]] = (
    (
        ("", StrategyName.INVENTORY_KEPT),
        ("other providers and GPU models", StrategyName.ON_DEMAND_ONLY),
        ("commitments", StrategyName.NO_SPOT),
        ("spot", StrategyName.JOINT),
    ),
    (
        ("", StrategyName.ONE_GPU_MODEL),
        ("other models of one generation", StrategyName.ONE_GENERATION),
        ("all models together", StrategyName.JOINT),
    ),
    (("", StrategyName.SINGLE_PROVIDER), ("several providers", StrategyName.JOINT)),
    (("", StrategyName.NO_SHARING), ("training and serving on one node", StrategyName.JOINT)),
)
"""Strategies of which each allows all that the one before it does, and what it allows more."""


@dataclass(frozen=True, slots=True)
class StrategyRow:
    """One strategy: its cost and bound, and what the joint plan saves against it.

    `proven_saving_usd` is what it saves at least, whatever the gaps; None where there is no plan.
    """

    strategy: str
    choice: str
    status: str
    total_usd: Decimal | None
    bound_usd: Decimal | None
    gap_fraction: float | None
    saving_usd: Decimal | None
    saving_fraction: float | None
    proven_saving_usd: Decimal | None


@dataclass(frozen=True, slots=True)
class StepRow:
    """One freedom more: what it lowers the cost to, and by how much, at least by the proven part.

    The first row of a ladder has its strategy and no step.
    """

    step: str
    strategy: str
    total_usd: Decimal
    saving_usd: Decimal | None
    proven_saving_usd: Decimal | None


def compare_report(plan: Plan) -> Report[StrategyRow]:
    """Show the strategies that a plan is compared with, the joint plan first."""
    return Report(
        schema="gpubroker.comparison/1",
        name="strategies",
        row_type=StrategyRow,
        rows=strategy_rows(plan),
        columns=(
            Column("strategy", _label, fit=Fit.WRAP),
            Column("USD", lambda row: _usd(row.total_usd) or "no plan", "right"),
            Column("at least", lambda row: _usd(row.bound_usd), "right"),
            Column("joint saves", lambda row: _usd(row.saving_usd), "right"),
            Column("", lambda row: _percent(row.saving_fraction), "right"),
            Column("proven", lambda row: _usd(row.proven_saving_usd), "right", spare=1),
        ),
        facts={
            "status": plan.status.value,
            "snapshot": plan.catalog.snapshot,
            "workloads_sha256": plan.workloads_sha256,
        },
        beside={"steps": step_rows(plan)},
    )


def compare_page(plan: Plan, width: int) -> RenderableType:
    """Lay the comparison out for a terminal of `width` characters: table, bars, steps."""
    if plan.status is Status.INFEASIBLE:
        return Group(heading(plan, "Strategies"), without_plan(plan), *_notes(plan))
    return Group(
        heading(plan, "Strategies"),
        Text(),
        Text(as_table(compare_report(plan), width)),
        *_chart(strategy_rows(plan), width),
        *_steps(plan, width),
        *_notes(plan),
    )


def strategy_rows(plan: Plan) -> tuple[StrategyRow, ...]:
    """List the joint plan, then what it is compared with in the order of the plan."""
    has_plan = plan.status is not Status.INFEASIBLE
    joint = StrategyRow(
        strategy=StrategyName.JOINT.value,
        choice="",
        status=plan.status.value,
        total_usd=plan.objective_usd if has_plan else None,
        bound_usd=plan.bound_usd if has_plan else None,
        gap_fraction=plan.gap_fraction if has_plan else None,
        saving_usd=None,
        saving_fraction=None,
        proven_saving_usd=None,
    )
    return (joint, *(_row(plan, one) for one in plan.comparisons))


def step_rows(plan: Plan) -> tuple[StepRow, ...]:
    """List the ladders: each strategy with its cost, then what every freedom more saves."""
    known = {row.strategy: row for row in strategy_rows(plan) if row.total_usd is not None}
    return tuple(row for ladder in _LADDERS for row in _climbed(ladder, known))


def _climbed(
    ladder: Sequence[tuple[str, StrategyName]], known: dict[str, StrategyRow]
) -> Iterator[StepRow]:
    """Climb from strategy to strategy; one without a plan, or a dearer one, is left out.

    The best single GPU model may be none of NVIDIA's, and then the step to a generation is none.
    """
    steps: list[StepRow] = []
    below: StrategyRow | None = None
    freed: list[str] = []
    for word, name in ladder:
        row = known.get(name.value)
        freed += [word] if word and below is not None else []
        if row is None or row.total_usd is None:
            continue
        if below is None or below.total_usd is None or below.bound_usd is None:
            steps.append(StepRow("", _label(row), row.total_usd, None, None))
        elif row.total_usd <= below.total_usd:
            saving = below.total_usd - row.total_usd
            proven = max(_NOTHING, below.bound_usd - row.total_usd)
            step = ", ".join(freed)
            steps.append(StepRow(step, _label(row), row.total_usd, saving, proven))
        else:
            continue
        below, freed = row, []
    if len(steps) > 1:
        yield from steps


def _row(plan: Plan, one: Comparison) -> StrategyRow:
    name, choice = split_name(one.strategy)
    total, bound = one.total_usd, one.bound_usd
    saving = total - plan.objective_usd if total is not None else None
    return StrategyRow(
        strategy=name.value if name else one.strategy,
        choice=choice,
        status=one.status.value,
        total_usd=total,
        bound_usd=bound,
        gap_fraction=one.gap_fraction,
        saving_usd=saving,
        saving_fraction=float(saving / total) if saving is not None and total else None,
        proven_saving_usd=max(_NOTHING, bound - plan.objective_usd) if bound is not None else None,
    )


def _chart(rows: Sequence[StrategyRow], width: int) -> Iterator[Text]:
    """Draw the costs from the dearest to the joint plan, whose cost is the solid part of each."""
    joint = rows[0].total_usd or _NOTHING
    shown = [(_label(row), row.total_usd) for row in rows if row.total_usd is not None]
    most = max(usd for _, usd in shown)
    label = min(_LONGEST_LABEL, max(len(name) for name, _ in shown))
    amount = len(_usd(most))
    room = max(_SHORTEST_BAR, width - label - amount - 2 * _GAP)
    yield Text("Cost in USD: █ the joint plan's, ░ what it saves", style="bold")
    for name, usd in [*sorted(shown[1:], key=lambda one: -one[1]), shown[0]]:
        drawn = bar(joint, usd, most, room).ljust(room)
        yield Text(f"{shorten(name, label):<{label}}  {drawn}  {_usd(usd):>{amount}}")


def _steps(plan: Plan, width: int) -> Iterator[RenderableType]:
    rows = step_rows(plan)
    if not rows:
        return
    report = Report(
        schema="",
        name="steps",
        row_type=StepRow,
        rows=rows,
        columns=(
            Column(
                "where the saving comes from",
                lambda row: f"  + {row.step}" if row.step else row.strategy,
                fit=Fit.SHORTEN,
            ),
            Column("USD", lambda row: _usd(row.total_usd), "right"),
            Column("saves", lambda row: _usd(row.saving_usd), "right"),
            Column("proven", lambda row: _usd(row.proven_saving_usd), "right"),
        ),
        facts={},
    )
    yield Text()
    yield Text(as_table(report, width).rstrip("\n"))


def _notes(plan: Plan) -> Iterator[Text]:
    names = {split_name(one.strategy)[0] for one in plan.comparisons}
    yield Text()
    yield Text(
        "Each strategy is a plan of its own, with a bound of its own, that gives up some freedom "
        "of the joint plan; so what is saved against them does not add up. “Proven” is saved at "
        "least, whatever the gaps are."
    )
    if StrategyName.INVENTORY_KEPT not in names and not plan.workloads.inventory:
        yield Text("There is no inventory in the workloads file, so none is kept.")
    for warning in plan.warnings:
        yield Text(f"! {warning}", style="yellow")


def _label(row: StrategyRow) -> str:
    return f"{row.strategy}: {row.choice}" if row.choice else row.strategy


def _usd(amount: Decimal | None) -> str:
    return "" if amount is None else f"{amount:,.2f}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
