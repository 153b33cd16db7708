"""`gpubroker examples`: workloads files of real situations, to read and to start from."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from broker.domain.errors import ConfigurationError
from cli.output import FormatOption, Terminal

if TYPE_CHECKING:
    from broker.examples.catalog import Example
    from broker.reports.formats import Report


def examples(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Print this example.")] = None,
    *,
    copy: Annotated[
        str | None, typer.Option("--copy", metavar="NAME", help="Copy this example to a file.")
    ] = None,
    to: Annotated[
        Path,
        typer.Option("--to", metavar="PATH", help="Folder, or name of the new file, for --copy."),
    ] = Path(),
    form: FormatOption = "table",
) -> None:
    """List the example workloads files, print one, or copy one to start from.

    An existing file is never overwritten.
    """
    from broker.examples.catalog import copy_example, examples, find_example  # noqa: PLC0415 - lazy

    terminal = Terminal.of(context)
    if copy is not None and name is not None:
        raise ConfigurationError(
            f"{name!r} is to be printed and {copy!r} to be copied",
            hint=f"copy it with: gpubroker examples --copy {copy}",
        )
    if copy is not None:
        written = copy_example(copy, to)
        terminal.note(f"written to {written}; plan it: gpubroker plan {written} --recorded")
    elif name is not None:
        terminal.write(find_example(name).text)
    else:
        terminal.show(_report(examples()), form)


def _report(found: "tuple[Example, ...]") -> "Report[Example]":
    from broker.examples.catalog import Example  # noqa: PLC0415 - keeps `--help` quick
    from broker.reports.formats import Column, Report  # noqa: PLC0415 - the same
    from broker.reports.layout import Fit  # noqa: PLC0415 - the same

    return Report(
        schema="gpubroker.examples/1",
        name="examples",
        row_type=Example,
        rows=found,
        columns=(
            Column("example", lambda row: row.name),
            Column("what it shows", lambda row: row.summary, fit=Fit.WRAP),
        ),
        facts={},
    )
