"""The command `gpubroker`: global options, the list of commands, and what an error ends in.

A command is one module with one function, and one line here. Its module imports little at its
top, as all of them are loaded for every `--help`.
"""

import copy
import gc
import os
import sys
from collections.abc import Sequence
from itertools import takewhile
from types import TracebackType
from typing import Annotated

import typer

from broker.domain.errors import BrokerError, ConfigurationError
from cli.alerts import alerts
from cli.approve import approve
from cli.audit import audit
from cli.catalog import catalog
from cli.compare import compare
from cli.diff import diff
from cli.doctor import doctor
from cli.examples import examples
from cli.execute import execute
from cli.explain import explain
from cli.export import export
from cli.history import history
from cli.init import init
from cli.measurements import measurements
from cli.nightly import nightly
from cli.offers import offers
from cli.output import LogFormat, Terminal, print_error
from cli.plan import plan
from cli.plans import plans
from cli.profile import profile
from cli.quarantine import quarantine
from cli.reconcile import reconcile
from cli.record import record
from cli.refresh import refresh
from cli.schedule import schedule
from cli.schema import schema
from cli.size import size
from cli.status import status
from cli.streams import end_stdout, open_stdout, refused
from cli.sweep import sweep
from cli.verify import verify

_COLLECT = (50_000, 20, 50)
"""New values between two searches for cycles: far more than by default, as what a command loads and
makes holds hardly any, and to look for them takes a tenth of a short command's time."""

app = typer.Typer(
    name="gpubroker",
    help="Find the cheapest GPU capacity that meets your workloads, across providers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes would double the time that --help takes
)
app.command()(plan)
app.command()(compare)
app.command()(sweep)
app.command()(verify)
app.command()(diff)
app.command()(explain)
app.command()(export)
app.command()(approve)
app.command()(execute)
app.command()(reconcile)
app.command()(plans)
app.command()(audit)
app.command()(init)
app.command()(doctor)
app.command()(profile)
app.command()(examples)
app.command()(schema)
app.command()(offers)
app.command()(size)
app.add_typer(measurements, name="measurements")
app.command()(refresh)
app.command()(nightly)
app.command()(status)
app.add_typer(schedule, name="schedule")
app.command()(history)
app.add_typer(quarantine, name="quarantine")
app.add_typer(alerts, name="alerts")
app.add_typer(catalog, name="catalog")
app.command()(record)


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
    gc.set_threshold(*_COLLECT)
    # Pydantic would read the metadata of every installed package to look for plugins of its own.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # noqa: TID251 - not a setting
    open_stdout()
    code = run(sys.argv[1:])
    lost = end_stdout()
    sys.exit(_end(lost) if lost and not code else code)


_NO_NUMBER = {
    "Input should be a valid number, unable to parse string as a number": ("number", "0.5"),
    "Input should be a valid integer, unable to parse string as an integer": ("whole number", "4"),
}
"""How typer tells of what is no number, without the value; our words for it, and an example."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and give its exit code; a bug is raised."""
    command = typer.main.get_command(_only_asked(arguments))
    try:
        # Not standalone: typer would end the process and report usage errors in words of its own.
        code = command.main(list(arguments), prog_name="gpubroker", standalone_mode=False)
    except BrokerError as error:
        print_error(error)
        return error.exit_code
    except typer.TyperException as error:
        return _report_usage(error, arguments)
    except OSError as error:
        return _end(error)
    except KeyboardInterrupt:  # the second one; typer gives 130 for the first
        return 130
    except SystemExit as end:  # how typer ends where nobody reads what is printed any more
        code = end.code
    return code if isinstance(code, int) else 0


def _end(error: OSError) -> int:
    """Tell what the system refused, and give the exit code; where nobody reads, tell nothing."""
    if isinstance(error, BrokenPipeError):
        return 1
    print_error(refused(error))
    return ConfigurationError.exit_code


def _only_asked(arguments: Sequence[str]) -> typer.Typer:
    """Leave out the commands that are not asked for: to lay out all takes longer than many run."""
    commands = {
        one.name or typer.main.get_command_name(one.callback.__name__): one
        for one in app.registered_commands
        if one.callback is not None
    }
    groups = {one.name: one for one in app.registered_groups}
    before = list(takewhile(lambda word: word not in commands and word not in groups, arguments))
    if len(before) == len(arguments) or "--help" in before:
        return app
    name = arguments[len(before)]
    alone = copy.copy(app)
    alone.registered_commands = [commands[name]] if name in commands else []
    alone.registered_groups = [groups[name]] if name in groups else []
    return alone


def _report_usage(error: typer.TyperException, arguments: Sequence[str]) -> int:
    """Say what is wrong with a command line; an empty one is answered with the help."""
    if not arguments:
        typer.echo(error.format_message(), err=True)
        return ConfigurationError.exit_code
    command = getattr(getattr(error, "ctx", None), "command_path", "gpubroker")
    message = error.format_message().replace("Value error, ", "")
    for what, (noun, example) in _NO_NUMBER.items():
        value = _value_of(message, arguments) if message.endswith(what) else None
        if value is not None:
            message = f"{message.removesuffix(what)}{value!r} is no {noun} like {example}"
    print_error(ConfigurationError(message, hint=f"see what there is: {command} --help"))
    return ConfigurationError.exit_code


def _value_of(message: str, arguments: Sequence[str]) -> str | None:
    """Find the value of the option that a message names in quotes; None where it is not there."""
    option = message.split("'")[1]
    for at, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name == option:
            return value if equals else arguments[at + 1]
    return None


def _report_bug(
    kind: type[BaseException], error: BaseException, _trace: TracebackType | None
) -> None:
    """Say in two lines that this is our fault; Python ends with exit code 1 after it."""
    typer.echo(f"error: gpubroker has a bug: {kind.__name__}: {error}", err=True)
    typer.echo("hint: run it again with --debug before the command, and report it", err=True)
