"""`gpubroker reconcile`: planned against billed, line by line."""

from pathlib import Path
from typing import Annotated

import typer

from cli.approve import KeptPlanArgument
from cli.entry import open_purchasing
from cli.output import FormatOption, Terminal


def reconcile(
    context: typer.Context,
    plan: KeptPlanArgument,
    *,
    bill: Annotated[
        Path,
        typer.Option(
            "--bill", metavar="FOCUS.csv", help="Bill in FOCUS 1.0 or later: CSV, or gzip of it."
        ),
    ],
    form: FormatOption = "table",
) -> None:
    """Hold a plan to a bill: planned, effective, list, contracted and billed cost by line.

    A charge is of a line by its tag gpubroker-line, or by the reference that execute noted. What is
    of no line is told as unexplained. Planned is what falls into the time of the bill.

    All costs are in USD; off by is effective less planned, and saved is the effective savings
    rate, 1 − effective / list. --format json has every digit.
    """
    from broker.planning.purchase_rows import (  # noqa: PLC0415 - keeps `--help` quick
        reconcile_facts,
        reconcile_rows,
    )
    from broker.planning.reconciliation import reconcile_plan  # noqa: PLC0415 - the same
    from broker.reports.reconcile_view import reconcile_report  # noqa: PLC0415 - the same

    terminal = Terminal.of(context)
    found = reconcile_plan(open_purchasing(terminal), plan, bill)
    terminal.show(reconcile_report(reconcile_rows(found), reconcile_facts(found)), form)
    terminal.note(f"{found.from_at:%Y-%m-%d %H:%M} to {found.to_at:%Y-%m-%d %H:%M} UTC")
