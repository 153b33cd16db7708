"""A plan for people: at a glance what to buy, what runs where, at what cost, and the proof."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from broker.domain.pauses import told_pauses
from broker.domain.plan import Plan, Status, Term
from broker.reports import words
from broker.reports.formats import Column, Report, plain
from broker.reports.plan_rows import BuyRow, WorkRow, buy_rows, work_rows
from broker.reports.scenario_rows import add_scenarios, measure_cells

_SHOWN_REASONS = 8
_TERMS = {
    Term.ON_DEMAND: "on-demand",
    Term.SPOT: "spot",
    Term.COMMITMENT_HOURS: "commitments, by the hour",
    Term.UPFRONT: "commitments, upfront share",
    Term.SAVINGS_PLAN: "savings plans, by the hour",
    Term.CAPACITY_BLOCK: "capacity blocks, whole",
    Term.OWNED: "owned nodes",
    Term.EGRESS: "egress of data and weights",
    Term.STORAGE: "storage of data and weights",
    Term.SURCHARGE: "surcharges on nodes",
    Term.OVER_BUDGET: "over soft budgets, not billed",
    Term.CHURN: "moved nodes, not billed",
}


def plan_report(plan: Plan) -> Report[BuyRow]:
    """Show the purchases as rows, for CSV."""
    return Report(
        schema=plan.schema_,
        name="purchases",
        row_type=BuyRow,
        rows=buy_rows(plan),
        columns=(Column("offer", lambda row: row.offer),),
        facts={"status": plan.status.value, "total_usd": plain(plan.total_usd)},
    )


def without_plan(plan: Plan) -> Text:
    """Say that nothing is bought: there is no plan, or none was found in the time."""
    said = "No plan was found in the time." if plan.is_undecided else "There is no plan."
    return Text(said, style="bold")


def plan_page(plan: Plan) -> RenderableType:
    """Lay a plan out for a terminal of 80 characters or more."""
    if plan.status is Status.INFEASIBLE:
        return Group(heading(plan), without_plan(plan), *_warnings(plan))
    return Group(
        heading(plan),
        _proof(plan),
        Text(),
        _purchases(plan),
        Text(),
        _work(plan),
        Text(),
        _costs(plan),
        *_scenarios(plan),
        *_rejected(plan),
        *_warnings(plan),
    )


def heading(plan: Plan, title: str = "Purchase plan", snapshot: str = "") -> Text:
    """Head a page: when, for how many workloads, over which catalog, the plan's by default."""
    horizon = plan.workloads.horizon
    names = [run.name for run in plan.workloads.training]
    names += [service.name for service in plan.workloads.services]
    names += [job.name for job in plan.workloads.batch]
    text = Text(title, style="bold")
    text.append(
        f"  {horizon.start:%Y-%m-%d} to {horizon.end:%Y-%m-%d}, "
        f"{len(names)} workload{'s' * (len(names) != 1)}, "
        f"catalog {(snapshot or plan.catalog.snapshot)[:12]}",
        style="not bold",
    )
    return text


def _proof(plan: Plan) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    days = plan.workloads.horizon.days
    oldest = plan.catalog.oldest_price_at
    seen = f", prices seen since {oldest:%Y-%m-%d}" if oldest else ""
    course = ", as forecast" if plan.scenarios else ""
    told = f"USD for {days} days{course}{seen}"
    table.add_row("Total", _usd(plan.total_usd), told, style="bold")
    for cells in measure_cells(plan):
        table.add_row(*cells)
    gap = f"gap {plan.gap_fraction:.2%}"
    table.add_row("Bound", _usd(plan.bound_usd), f"no plan under these rules costs less ({gap})")
    for one in plan.comparisons:
        if one.total_usd is None:
            table.add_row(_sentence(one.strategy), "–", "has no plan")
            continue
        more = one.total_usd - plan.objective_usd
        share = f"{more / plan.objective_usd:+.1%}" if plan.objective_usd else "–"
        cannot = f"at least {_usd(one.bound_usd)}" if one.bound_usd is not None else ""
        table.add_row(_sentence(one.strategy), _usd(one.total_usd), f"{share} ({cannot})")
    return table


def _purchases(plan: Plan) -> Table:
    table = _table("What to buy")
    table.add_column("do")
    table.add_column("nodes", justify="right")
    table.add_column("what and where", overflow="fold")
    table.add_column("when (UTC)")
    table.add_column("for", overflow="fold")
    table.add_column("USD", justify="right")
    for row in buy_rows(plan):
        if row.promised_usd_per_hour is not None:
            table.add_row(*_promise(row))
            continue
        terms = words.price_kind(row.price_kind, row.term_months, row.payment)
        name = f"{row.instance_type}:{row.tier}" if row.tier else row.instance_type
        place = row.zone or row.region
        table.add_row(
            Text(row.action, style="bold"),
            _range(row.fewest_nodes, row.most_nodes),
            Text(f"{name}\n{row.gpus_per_node}×{row.gpu}, {row.provider} {place}"),
            Text("\n".join(filter(None, (_span(row.from_at, row.to_at), _pauses(row), terms)))),
            row.workloads,
            _usd(row.usd),
        )
    return table


def _pauses(row: BuyRow) -> str:
    return told_pauses(row.up_h, row.from_at, row.to_at) if row.most_nodes else ""


def _promise(row: BuyRow) -> Iterator[RenderableType]:
    """Show a savings plan: what is promised an hour, for which machines, and how much is used."""
    terms = words.price_kind(row.price_kind, row.term_months, row.payment)
    place = row.provider if row.instance_type == "all machines" else f"{row.provider} {row.region}"
    yield Text(row.action, style="bold")
    yield "–"
    yield Text(f"{row.promised_usd_per_hour:.3f} USD/h on\n{row.instance_type}, {place}")
    used, due = row.utilization or 0.0, row.breakeven_utilization or 0.0
    yield Text(f"{terms}\n{used:.0%} used, {due:.0%} is even")
    yield row.workloads
    yield _usd(row.usd)


def _work(plan: Plan) -> Table:
    table = _table("What runs where")
    table.add_column("workload", overflow="fold")
    table.add_column("units", justify="right")
    table.add_column("each", overflow="fold")
    table.add_column("on", overflow="fold")
    for row in work_rows(plan):
        used = f"{row.memory_gib:.0f} of {row.memory_available_gib:.0f} GiB"
        kind = f"{row.gpus} GPU" + "s" * (row.gpus > 1)
        precision = f" {row.precision}" if row.precision else ""
        model = f"{row.model}\n" if row.model else ""
        users = f"\nfor {row.user_region}" if row.user_region else f"\n{_when(row)}"
        table.add_row(
            Text(f"{row.workload}{users}"),
            _range(row.fewest, row.most),
            Text(f"{model}{kind}, {row.layout}{precision}, {used}\n{row.rate}\n{row.latency}"),
            Text(f"{row.machine}\n{row.market}, {row.label}"),
        )
    return table


def _costs(plan: Plan) -> Table:
    table = _table("What it costs")
    table.add_column("part")
    table.add_column("USD", justify="right")
    table.add_column("share", justify="right")
    for term in Term:
        usd = sum((line.usd for line in plan.cost_lines if line.term is term), Decimal(0))
        if usd:
            table.add_row(_TERMS[term], _usd(usd), f"{usd / plan.total_usd:.1%}")
    cash = sum((one.upfront_usd for one in plan.purchases), Decimal(0))
    if cash:
        table.add_row("cash due at the start", _usd(cash), "")
    return table


def _scenarios(plan: Plan) -> Iterator[RenderableType]:
    if plan.scenarios is not None:
        table = _table("What it costs in each scenario")
        add_scenarios(plan, table)
        yield Text()
        yield table


def _rejected(plan: Plan) -> Iterator[RenderableType]:
    if not plan.rejected:
        return
    table = _table("Why not the others")
    table.add_column("offers", justify="right")
    table.add_column("reason", overflow="fold")
    table.add_column("such as", overflow="fold")
    for one in sorted(plan.rejected, key=lambda one: -one.offers)[:_SHOWN_REASONS]:
        table.add_row(f"{one.offers:,}", one.reason, one.example)
    yield Text()
    yield table


def _warnings(plan: Plan) -> Iterator[Text]:
    if plan.warnings:
        yield Text()
    for warning in plan.warnings:
        of, colon, text = warning.rpartition(": ")
        told = f"{of}{colon}{text.replace('_', ' ')}" if " " not in text else warning  # a code
        yield Text(f"! {told}", style="yellow")


def _table(title: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )


def _usd(amount: Decimal) -> str:
    return f"{amount:,.2f}"


def _range(fewest: int, most: int) -> str:
    return f"{fewest}" if fewest == most else f"{fewest}–{most}"


def _span(start: datetime, end: datetime) -> str:
    return f"{_moment(start)} → {_moment(end)}"


def _moment(at: datetime) -> str:
    return f"{at:%m-%d}" if (at.hour, at.minute) == (0, 0) else f"{at:%m-%d %Hh}"


def _when(row: WorkRow) -> str:
    return _span(row.from_at, row.to_at)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
