"""The command `gpubroker`: global options, the list of commands, and what an error ends in.

A command is one module with one function, and one line here. Its module imports little at its
top, as all of them are loaded for every `--help`.
"""

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Annotated

import typer

from broker.domain.errors import BrokerError
from cli.offers import offers
from cli.output import LogFormat, Terminal, print_error
from cli.refresh import refresh
from cli.status import status

app = typer.Typer(
    name="gpubroker",
    help="Find the cheapest GPU capacity that meets your workloads, across providers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes would double the time that --help takes
)
app.command()(refresh)
app.command()(offers)
app.command()(status)


def _print_version(asked: bool) -> None:  # noqa: FBT001 - typer hands the value over alone
    if asked:
        from importlib.metadata import version  # noqa: PLC0415 - keeps `--help` quick

        typer.echo(version("gpubroker"))
        raise typer.Exit


@app.callback()
def start(
    context: typer.Context,
    *,
    log_format: Annotated[LogFormat, typer.Option(help="How to write logs to stderr.")] = "console",
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print data and errors only.")
    ] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", envvar="GPUBROKER_DEBUG", help="Print the traceback of a bug."),
    ] = False,
    show_version: Annotated[  # noqa: ARG001 - its callback acts
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    """Find the cheapest GPU capacity that meets your workloads, across providers."""
    context.obj = Terminal(quiet=quiet, log_format=log_format)
    if debug:
        sys.excepthook = sys.__excepthook__


def main() -> None:
    """Run the command line of this process and end it."""
    sys.excepthook = _report_bug
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and give its exit code; a bug is raised."""
    command = typer.main.get_command(app)
    try:
        command.main(list(arguments), prog_name="gpubroker")
    except BrokerError as error:
        print_error(error)
        return error.exit_code
    except SystemExit as end:  # how typer ends: 0, 2 for a usage error, 130 for Ctrl-C
        return end.code if isinstance(end.code, int) else 0
    return 0


def _report_bug(
    kind: type[BaseException], error: BaseException, _trace: TracebackType | None
) -> None:
    """Say in two lines that this is our fault; Python ends with exit code 1 after it."""
    typer.echo(f"error: gpubroker has a bug: {kind.__name__}: {error}", err=True)
    typer.echo("hint: run it again with --debug before the command, and report it", err=True)
