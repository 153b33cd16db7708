"""`gpubroker export`: a plan in the form that another tool takes, or as a report for people."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from broker.domain.errors import ConfigurationError
from cli.files import write_whole
from cli.output import Terminal

if TYPE_CHECKING:
    from broker.exports.files import ExportFile


def export(
    context: typer.Context,
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="Plan file of `plan --out`.")],
    *,
    to: Annotated[str, typer.Option("--to", metavar="FORM", help="The form to write.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="PATH", help="Folder to write to, or a file where it is one file."
        ),
    ] = None,
    explanation: Annotated[
        Path | None,
        typer.Option(
            "--explanation",
            metavar="FILE",
            help="What `explain --format json` wrote about the plan, to tell in --to html.",
        ),
    ] = None,
) -> None:
    """Write a plan in the form that another tool takes, or as a report for people.

    `html` is a page with charts that opens offline; it has the price history of its offers, where
    the catalog knows it. `markdown` is for a pull request, `csv` for a spreadsheet.

    One file goes to stdout unless --out names a path; several files need a folder.
    """
    from broker.exports.forms import FORMS  # noqa: PLC0415 - keeps `--help` quick
    from broker.planning.exporting import export_plan  # noqa: PLC0415 - the same
    from broker.settings import load_settings  # noqa: PLC0415 - the same

    if to not in FORMS:
        raise ConfigurationError(f"--to {to!r} is no form", hint=f"there are: {', '.join(FORMS)}")
    files = export_plan(plan, to, load_settings(), explanation)
    terminal = Terminal.of(context)
    if out is None and len(files) == 1:
        terminal.write(files[0].text)
    else:
        _write(files, out, terminal)


def _write(files: "tuple[ExportFile, ...]", out: Path | None, terminal: Terminal) -> None:
    if not files:
        raise ConfigurationError(
            "the plan has no line that this form can take", hint="see `gpubroker export --help`"
        )
    if out is None:
        raise ConfigurationError(
            f"the export has {len(files)} files", hint="name a folder for them with --out"
        )
    if len(files) == 1 and not out.is_dir() and out.suffix:
        write_whole(out, files[0].text)
        terminal.note(f"written to {out}")
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise ConfigurationError(
            f"--out {str(out)!r} is no folder: {cause.strerror}", hint="name a folder"
        ) from cause
    for file in files:
        write_whole(out / file.name, file.text)
    terminal.note(f"{len(files)} file{'s' * (len(files) > 1)} written to {out}")
