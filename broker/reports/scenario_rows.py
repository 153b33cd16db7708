"""A plan over scenarios, for people: what it costs in each of them."""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from broker.domain.plan import Plan


def measure_cells(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Say what the costs of all scenarios come to, and which of that the bound is under."""
    told = plan.scenarios
    for name, usd in told.measures if told else ():
        is_minimized = told is not None and usd == told.objective_usd
        said = "USD, minimized" if is_minimized else "USD"
        yield f"{name[:1].upper()}{name[1:]}", f"{usd:,.2f}", said


def add_scenarios(plan: Plan, table: Table) -> None:
    """Fill a table with a row for each scenario."""
    table.add_column("if this comes")
    table.add_column("probability", justify="right")
    table.add_column("USD", justify="right")
    table.add_column("rented node-hours", justify="right")
    table.add_column("most nodes rented", justify="right")
    for one in plan.scenarios.scenarios if plan.scenarios else ():
        table.add_row(
            Text(one.name),
            f"{one.probability:.0%}",
            f"{one.total_usd:,.2f}",
            f"{one.rented_node_hours:,.0f}",
            f"{one.most_rented_nodes}",
        )
