"""`gpubroker plans`: the plans that are kept, and how far each one is."""

from typing import Annotated

import typer

from cli.entry import open_purchasing
from cli.output import FormatOption, Terminal


def plans(
    context: typer.Context,
    *,
    workloads: Annotated[
        str,
        typer.Option("--workloads", metavar="NAME", help="Of this workloads file. Default: all."),
    ] = "",
    form: FormatOption = "table",
) -> None:
    """List the plans that are kept: draft, approved, executed or superseded; newest first."""
    from broker.planning.purchase_rows import plan_row  # noqa: PLC0415 - keeps `--help` quick
    from broker.reports.purchases_view import plans_report  # noqa: PLC0415 - the same

    terminal = Terminal.of(context)
    kept = open_purchasing(terminal).kept(workloads)
    terminal.show(plans_report(tuple(plan_row(plan, record) for plan, record in kept)), form)
    if not kept:
        terminal.note("no plan is kept; gpubroker approve PLAN --by NAME keeps one")
