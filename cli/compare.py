"""`gpubroker compare`: the same demand under each purchasing strategy."""

from typing import TYPE_CHECKING

import typer

from cli.entry import open_scenarios
from cli.files import check_writable
from cli.output import FormatName, FormatOption, Terminal
from cli.plan import check_has_plan, write_plan
from cli.plan_options import (
    AllTimeLimitOption,
    GapOption,
    OutOption,
    SeedOption,
    WorkloadsArgument,
    solve_settings,
)
from cli.sources import AsOfOption, RecordedOption, SheetOption, SnapshotOption, source_from

if TYPE_CHECKING:
    from broker.domain.plan import Plan


def compare(  # noqa: PLR0913 - the options of a command are the parameters of its function
    context: typer.Context,
    workloads: WorkloadsArgument,
    *,
    out: OutOption = None,
    recorded: RecordedOption = False,
    sheet: SheetOption = None,
    snapshot: SnapshotOption = None,
    as_of: AsOfOption = None,
    time_limit: AllTimeLimitOption = 120,
    gap: GapOption = 0.01,
    seed: SeedOption = 0,
    form: FormatOption = "table",
) -> None:
    """Plan the same workloads under each purchasing strategy, to show where the saving comes from.

    Beside the joint plan: no sharing of nodes, one provider, one GPU model or NVIDIA generation
    for all, on demand only, no spot, no commitments, and today's inventory kept.

    Each is solved with its own bound, unless the joint plan keeps its rules and so is its best
    plan, too. The strategies share the time that the joint plan leaves; for which it was too short
    is told.

    --out writes the joint plan, with the comparisons in it.
    """
    solve = solve_settings(gap, time_limit, seed)
    source = source_from(recorded=recorded, sheet=sheet, snapshot=snapshot, as_of=as_of)
    if out is not None:
        check_writable(out, inputs=(workloads, *([sheet] if sheet else [])))
    terminal = Terminal.of(context)
    service = open_scenarios(terminal)
    with terminal.working("comparing") as progress:
        made = service.compare(workloads, source, solve, progress)
    if out is not None:
        write_plan(made, out, terminal)
    _print(made, form, terminal)
    check_has_plan(made)


def _print(made: "Plan", form: FormatName, terminal: Terminal) -> None:
    from broker.reports.compare_view import (  # noqa: PLC0415 - keeps `--help` quick
        compare_page,
        compare_report,
    )

    if form == "table":
        terminal.page(compare_page(made, terminal.width))
    else:
        terminal.show(compare_report(made), form)
