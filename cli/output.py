"""What a command prints: data to stdout, everything else to stderr."""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal, Self

import typer

from broker.domain.errors import BrokerError
from broker.reports.steering import printable_lines

if TYPE_CHECKING:
    from rich.console import RenderableType

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

    @property
    def width(self) -> int:
        """Measure the terminal in characters; a file or a pipe has 80, or what COLUMNS says."""
        return _width()

    def show(self, report: "Report[RowT]", form: FormatName) -> None:
        """Print a report to stdout."""
        from broker.reports.formats import Format, as_table, as_text  # noqa: PLC0415 - see the class

        if form == "table":
            self.write(as_table(report, _width()))
        else:
            self.write(as_text(report, Format(form)))

    def page(self, page: "RenderableType") -> None:
        """Print what is laid out for people to stdout; names in it come from outside."""
        from rich.console import Console  # noqa: PLC0415 - see the class

        from broker.reports.printable import Printable  # noqa: PLC0415 - see the class

        Console(width=_width(), markup=False, emoji=False).print(Printable(page), crop=False)

    def write(self, text: str) -> None:
        """Print a text to stdout as it is."""
        sys.stdout.write(text)

    def note(self, text: str) -> None:
        """Print a remark to stderr."""
        if not self.quiet:
            typer.echo(printable_lines(text), err=True)

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Callable[[str], None]]:
        """Draw a bar on a terminal's stderr; call what is yielded with each thing that is done."""
        from rich.console import Console  # noqa: PLC0415 - see the class
        from rich.markup import escape  # noqa: PLC0415 - see the class
        from rich.progress import Progress  # noqa: PLC0415 - see the class

        console = Console(stderr=True)
        with Progress(
            console=console, transient=True, disable=self.quiet or not console.is_terminal
        ) as bar:
            task = bar.add_task(what, total=total)

            def advance(name: str) -> None:
                bar.update(task, advance=1, description=escape(f"{what} {name}"))

            yield advance

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[str], None]]:
        """Turn a spinner on a terminal's stderr; call what is yielded with what is being done."""
        from rich.console import Console  # noqa: PLC0415 - see the class
        from rich.markup import escape  # noqa: PLC0415 - see the class

        console = Console(stderr=True)
        if self.quiet or not console.is_terminal:
            yield lambda _: None
            return
        with console.status(escape(f"{what} …")) as spinner:
            yield lambda step: spinner.update(escape(f"{what}: {step} …"))


def _width() -> int:
    """Measure the terminal in characters; a file or a pipe has 80, or what COLUMNS says."""
    return shutil.get_terminal_size((80, 24)).columns


def print_error(error: BrokerError) -> None:
    """Say what happened and what to do, on stderr."""
    typer.echo(printable_lines(f"error: {error}\nhint: {error.hint}"), err=True)
