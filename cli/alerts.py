"""`gpubroker alerts`: what is worth knowing, whom it reached, and a trial of each way to tell."""

from typing import TYPE_CHECKING, Annotated

import typer

from broker.domain.errors import ProviderError
from cli.entry import open_alerts
from cli.output import FormatName, FormatOption, Terminal

if TYPE_CHECKING:
    from broker.alerts.announcer import Delivery

alerts = typer.Typer(help="Show alerts, and try how they reach people.", no_args_is_help=True)

DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Print what would be sent; send nothing.")
]


@alerts.command(name="list")
def list_alerts(
    context: typer.Context,
    *,
    every: Annotated[
        bool, typer.Option("--all", help="Show those that are over, too; default: what stands.")
    ] = False,
    form: FormatOption = "table",
) -> None:
    """List the alerts that stand: what, since when, what it costs a day, and what mends it."""
    # Imported here, so that `--help` is quick.
    from broker.planning.alert_rows import alert_rows, waiting_rows  # noqa: PLC0415 - see above
    from broker.reports.alerts_view import alerts_report  # noqa: PLC0415 - see above

    terminal = Terminal.of(context)
    service = open_alerts(terminal)
    rows = alert_rows(service.listed(ended=every), service.clock())
    waiting = waiting_rows(service.queue())
    if rows or form != "table":
        terminal.show(alerts_report(rows, waiting), form)
    else:
        terminal.note("there is no alert")
    for one in waiting:
        why = f": {one.error}" if one.error else ""
        terminal.note(f"not told to {one.sink} yet{why}; gpubroker alerts flush tries again")


@alerts.command(name="test")
def try_sinks(
    context: typer.Context, *, dry_run: DryRunOption = False, form: FormatOption = "table"
) -> None:
    """Send a sample alert through each way that the settings name."""
    terminal = Terminal.of(context)
    _report(open_alerts(terminal).test(dry_run=dry_run), terminal, form)


@alerts.command()
def flush(context: typer.Context, *, form: FormatOption = "table") -> None:
    """Send what could not be sent before; each night does so, too."""
    terminal = Terminal.of(context)
    deliveries = open_alerts(terminal).flush()
    if deliveries or form != "table":
        _report(deliveries, terminal, form)
    else:
        terminal.note("nothing waits")


def _report(deliveries: "tuple[Delivery, ...]", terminal: Terminal, form: FormatName) -> None:
    """Print what became of messages; the exit code is 3 where one did not arrive."""
    from broker.planning.alert_rows import delivery_rows  # noqa: PLC0415 - keeps `--help` quick
    from broker.reports.alerts_view import deliveries_report  # noqa: PLC0415 - the same

    rows = delivery_rows(deliveries)
    if rows or form != "table":
        terminal.show(deliveries_report(rows), form)
    else:
        terminal.note("the settings name no way to tell anybody; see docs/alerts.md")
    for row in rows:
        if form == "table" and row.preview:
            terminal.write(f"\n{row.sink}\n{row.preview}")
        if row.error:
            terminal.note(f"{row.sink}: {row.error}")
    failed = [row for row in rows if row.error]
    if failed:
        names = ", ".join(sorted({row.sink for row in failed}))
        raise ProviderError(
            f"{len(failed)} of {len(rows)} messages did not arrive: {names}", hint=failed[0].hint
        )
