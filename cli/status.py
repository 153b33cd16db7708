"""`gpubroker status`: what the catalog holds, how old it is, what is held back."""

import typer

from cli.entry import open_planning
from cli.output import FormatOption, Terminal


def status(context: typer.Context, *, form: FormatOption = "table") -> None:
    """Show the catalog's coverage: offers by provider and price kind, ages, what is held back."""
    # Imported here, so that `--help` is quick.
    from broker.planning.shown import status_facts, status_rows  # noqa: PLC0415 - see above
    from broker.reports.views import status_report  # noqa: PLC0415 - see above

    terminal = Terminal.of(context)
    found = open_planning(terminal).status()
    rows = status_rows(found)
    terminal.show(status_report(rows, facts=status_facts(found)), form)
    for row in rows:
        if row.error:
            terminal.note(f"{row.provider}: {row.error}")
