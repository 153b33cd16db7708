"""`gpubroker doctor`: what is set, what works, and what to do about the rest."""

from typing import Annotated

import typer

from broker.domain.errors import ConfigurationError
from cli.output import FormatOption, Terminal


def doctor(
    context: typer.Context,
    *,
    online: Annotated[
        bool,
        typer.Option("--online", help="Ask each provider's host, without a key, for 5 s at most."),
    ] = False,
    form: FormatOption = "table",
) -> None:
    """Check settings, keys, database, clock, disk, providers and solver, and say what to do.

    Keys are named, never printed. Without --online nothing is sent. The exit code is 2 where
    something is broken.
    """
    # Imported here, so that `--help` is quick.
    from broker.clock import system_clock  # noqa: PLC0415 - see above
    from broker.planning.doctor import open_doctor  # noqa: PLC0415 - see above
    from broker.reports.doctor_view import doctor_report, providers_table  # noqa: PLC0415

    terminal = Terminal.of(context)
    with terminal.working("looking"):
        found = open_doctor(system_clock).examine(online=online)
    facts = {"broken": found.is_broken, "online": online}
    terminal.show(doctor_report(found.checks, found.providers, facts), form)
    if form == "table" and found.providers:
        terminal.write("\n")
        terminal.show(providers_table(found.providers), "table")
    if found.is_broken:
        raise typer.Exit(ConfigurationError.exit_code)
