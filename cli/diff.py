"""`gpubroker diff`: what changed between two plans, why, what it is worth, and how to get there."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.entry import open_planning
from cli.output import FormatName, FormatOption, Terminal
from cli.sources import AsOfOption, RecordedOption, SheetOption, SnapshotOption, source_or_none

if TYPE_CHECKING:
    from broker.reports.diff_view import PlanDifference


def diff(  # noqa: PLR0913 - the options of a command are the parameters of its function
    context: typer.Context,
    old: Annotated[
        Path, typer.Argument(metavar="OLD", help="Plan to compare with: a file or a hash.")
    ],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Plan that would replace it.")],
    *,
    solve: Annotated[
        bool,
        typer.Option(
            "--solve/--no-solve",
            help="Plan again where that is needed to tell causes apart (on unless turned off).",
        ),
    ] = True,
    recorded: RecordedOption = False,
    sheet: SheetOption = None,
    snapshot: SnapshotOption = None,
    as_of: AsOfOption = None,
    old_sheet: Annotated[
        Path | None,
        typer.Option(
            "--old-sheet",
            metavar="FILE",
            help="The price sheet that OLD was made from, where it is another one.",
        ),
    ] = None,
    form: FormatOption = "table",
) -> None:
    """Show what changed between two plans, why, what it is worth, and how to get there.

    The change in cost is split into price, load, catalog and rules; the parts add up to it exactly.

    The steps add nodes first, wait until they serve, drain and then remove the others.

    Catalogs are found by the hashes in the plans; that of a plan from a sheet has to be named.

    The options of catalogs name that of NEW, --old-sheet names that of OLD.
    """
    source = source_or_none(recorded=recorded, sheet=sheet, snapshot=snapshot, as_of=as_of)
    old_source = source_or_none(recorded=False, sheet=old_sheet, snapshot=None, as_of=None)
    terminal = Terminal.of(context)
    service = open_planning(terminal)
    with terminal.working("comparing"):
        found = service.difference(old, new, source, old_source=old_source, solve=solve)
    _print(found, form, terminal)


def _print(found: "PlanDifference", form: FormatName, terminal: Terminal) -> None:
    from broker.reports.diff_view import (  # noqa: PLC0415 - keeps `--help` quick
        diff_report,
        heading,
        lines_table,
        notes_text,
        parts_table,
        steps_table,
    )

    if form != "table":
        terminal.show(diff_report(found), form)
        return
    terminal.write("".join(f"{line}\n" for line in heading(found)))
    lines, parts, steps = lines_table(found), parts_table(found), steps_table(found)
    if lines.rows:
        terminal.write("\nLines that differ\n")
        terminal.show(lines, form)
    terminal.write("\nWhy the cost changed\n")
    terminal.show(parts, form)
    if steps.rows:
        terminal.write("\nHow to get there\n")
        terminal.show(steps, form)
    if found.notes:
        terminal.write("\n")
        terminal.page(notes_text(found))
