"""What a command prints: data to stdout, everything else to stderr."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal, Self

import typer

from broker.domain.errors import BrokerError

if TYPE_CHECKING:
    from broker.reports.formats import Report, RowT

FormatName = Literal["table", "json", "csv", "yaml"]
LogFormat = Literal["console", "json"]
FormatOption = Annotated[FormatName, typer.Option("--format", help="How to print the data.")]


class Terminal:
    """Where a command prints; `quiet` leaves out all but data and errors, in logs too.

    What it needs is imported when it is needed, so that `--help` is quick.
    """

    def __init__(self, *, quiet: bool = False, log_format: LogFormat = "console") -> None:
        self.quiet = quiet
        self.log_format = log_format

    @classmethod
    def of(cls, context: typer.Context) -> Self:
        """Give the terminal that the global options made."""
        return context.find_object(cls) or cls()

    def show(self, report: "Report[RowT]", form: FormatName) -> None:
        """Print a report to stdout."""
        from rich.console import Console  # noqa: PLC0415 - see the class

        from broker.reports.formats import Format, as_table, as_text  # noqa: PLC0415 - see the class

        if form == "table":
            console = Console()
            console.print(as_table(report, console.width), crop=False)
        else:
            sys.stdout.write(as_text(report, Format(form)))

    def note(self, text: str) -> None:
        """Print a remark to stderr."""
        if not self.quiet:
            typer.echo(text, err=True)

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Callable[[str], None]]:
        """Draw a bar on a terminal's stderr; call what is yielded with each thing that is done."""
        from rich.console import Console  # noqa: PLC0415 - see the class
        from rich.progress import Progress  # noqa: PLC0415 - see the class

        console = Console(stderr=True)
        with Progress(
            console=console, transient=True, disable=self.quiet or not console.is_terminal
        ) as bar:
            task = bar.add_task(what, total=total)

            def advance(name: str) -> None:
                bar.update(task, advance=1, description=f"{what} {name}")

            yield advance


def print_error(error: BrokerError) -> None:
    """Say what happened and what to do, on stderr."""
    typer.echo(f"error: {error}", err=True)
    typer.echo(f"hint: {error.hint}", err=True)
