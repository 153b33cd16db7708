"""`gpubroker export`: a plan in the form that another tool takes, or as a report for people."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from broker.domain.errors import ConfigurationError
from cli.entry import open_planning
from cli.files import check_writable, write_whole
from cli.output import Terminal
from cli.plan_options import ExplainTimeLimitOption, PlanArgument, check_time_limit
from cli.sources import AsOfOption, RecordedOption, SheetOption, SnapshotOption, source_or_none

if TYPE_CHECKING:
    from broker.domain.explanation import Explanation
    from broker.exports.files import ExportFile
    from broker.planning.catalog_view import CatalogSource


_FORM_HELP = (
    "The form to write: skypilot, dstack, terraform, kubernetes, focus, focus-1.2, csv, html or "
    "markdown."
)
_SHOWN = 3
_KINDS = frozenset({".yaml", ".yml", ".tf"})
_OF_A_LINE = re.compile(r"# (gpubroker plan|Plan) line ")


def export(  # noqa: PLR0913 - the options of a command are the parameters of its function
    context: typer.Context,
    plan: PlanArgument,
    *,
    to: Annotated[str, typer.Option("--to", metavar="FORM", help=_FORM_HELP)],
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
            help="What `explain --format json` wrote about the plan, to tell in html or markdown.",
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Explain the plan first, to tell it in html or markdown."),
    ] = False,
    time_limit: ExplainTimeLimitOption = 60,
    recorded: RecordedOption = False,
    sheet: SheetOption = None,
    snapshot: SnapshotOption = None,
    as_of: AsOfOption = None,
) -> None:
    """Write a plan in the form that another tool takes, or as a report for people.

    `html` is a page with charts that opens offline; it has the price history of its offers, where
    the catalog knows it. `markdown` is for a pull request, `csv` for a spreadsheet.

    With --explain the plan is explained as `explain` does, and its catalog found so; the time limit
    and the options of catalogs are for that alone.

    One file goes to stdout unless --out names a path; several files need a folder.
    """
    from broker.exports.forms import FORMS  # noqa: PLC0415 - keeps `--help` quick
    from broker.planning.exporting import executed_lines, export_plan  # noqa: PLC0415 - the same
    from broker.planning.given_plan import given_plan  # noqa: PLC0415 - the same
    from broker.settings import load_settings  # noqa: PLC0415 - the same

    if to not in FORMS:
        raise ConfigurationError(f"--to {to!r} is no form", hint=f"there are: {', '.join(FORMS)}")
    terminal = Terminal.of(context)
    settings = load_settings(terminal.note)
    found: Explanation | Path | None = explanation
    if explain:
        _check_explain(to, explanation, time_limit)
        source = source_or_none(recorded=recorded, sheet=sheet, snapshot=snapshot, as_of=as_of)
        found = _explained(plan, source, time_limit, terminal)
    files = export_plan(plan, to, settings, found)
    for line, why in executed_lines(given_plan(plan, settings), to, settings).items():
        terminal.note(f"left out: {line}: {why}")
    if out is None and len(files) == 1:
        terminal.write(files[0].text)
    else:
        _write(files, out, terminal, inputs=(plan, *([explanation] if explanation else [])))


def _check_explain(to: str, explanation: Path | None, time_limit_s: float) -> None:
    from broker.planning.exporting import check_explainable  # noqa: PLC0415 - keeps `--help` quick

    check_explainable(to)
    check_time_limit(time_limit_s)
    if explanation is not None:
        raise ConfigurationError(
            "--explain and --explanation are two explanations", hint="give one of them"
        )


def _explained(
    plan: Path, source: "CatalogSource | None", time_limit_s: float, terminal: Terminal
) -> "Explanation":
    """Explain a plan; one that buys nothing is asked what would have to change."""
    from broker.domain.plan import Status  # noqa: PLC0415 - keeps `--help` quick
    from broker.planning.explaining.asked import Asked  # noqa: PLC0415 - the same
    from broker.planning.given_plan import given_plan  # noqa: PLC0415 - the same

    service = open_planning(terminal)
    has_none = given_plan(plan, service.settings).status is Status.INFEASIBLE
    asked = Asked(relax=has_none, time_limit_s=time_limit_s)
    with terminal.working("explaining") as progress:
        return service.explain(plan, asked, source, progress)


def _left_before(files: "tuple[ExportFile, ...]", out: Path) -> list[str]:
    """Name the files of an earlier export in the folder that launch lines and are not of this one.

    They begin with the line that they are of.
    """
    written = {file.name for file in files}
    others = sorted(one for one in out.iterdir() if one.suffix in _KINDS)
    return [one.name for one in others if one.name not in written and _is_of_a_line(one)]


def _is_of_a_line(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8") as file:
            return _OF_A_LINE.match(file.readline()) is not None
    except (OSError, UnicodeDecodeError):
        return False


def _write(
    files: "tuple[ExportFile, ...]", out: Path | None, terminal: Terminal, *, inputs: Sequence[Path]
) -> None:
    if out is None:
        raise ConfigurationError(
            f"the export has {len(files)} files", hint="name a folder for them with --out"
        )
    if len(files) == 1 and not out.is_dir() and out.suffix:
        check_writable(out, inputs=inputs)
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
    if others := _left_before(files, out):
        shown = ", ".join(others[:_SHOWN]) + " ..." * (len(others) > _SHOWN)
        terminal.note(f"not of this export, left in {out} by an earlier one: {shown}")
    terminal.note(f"{len(files)} file{'s' * (len(files) > 1)} written to {out}")
