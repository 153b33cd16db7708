"""`gpubroker approve`: a person's word that a plan may be bought."""

from typing import Annotated

import typer

from cli.entry import open_purchasing
from cli.output import FormatOption, Terminal
from cli.sources import AsOfOption, RecordedOption, SheetOption, SnapshotOption, source_from

KeptPlanArgument = Annotated[
    str,
    typer.Argument(
        metavar="PLAN",
        help="Plan file, or the first digits (8 or more) of a kept plan's hash.",
    ),
]
ByOption = Annotated[
    str, typer.Option("--by", metavar="NAME", help="Who answers for it; it is recorded.")
]
NoteOption = Annotated[
    str, typer.Option("--note", metavar="TEXT", help="Why; it is recorded. Default: none.")
]


def approve(  # noqa: PLR0913 - one option each
    context: typer.Context,
    plan: KeptPlanArgument,
    *,
    by: ByOption,
    note: NoteOption = "",
    workloads: Annotated[
        str,
        typer.Option(
            "--workloads",
            metavar="NAME",
            help="Workloads file that it is of. Default: as before, else the plan file's name.",
        ),
    ] = "",
    recorded: RecordedOption = False,
    sheet: SheetOption = None,
    snapshot: SnapshotOption = None,
    as_of: AsOfOption = None,
    form: FormatOption = "table",
) -> None:
    """Approve a plan; where its policy asks for two persons, it waits for the second.

    A plan that is not kept yet passes the independent check first. Its catalog is found by the hash
    in it, or named by an option.

    Approving ends the plans before it for the same workloads.
    """
    from broker.planning.purchase_rows import plan_row  # noqa: PLC0415 - keeps `--help` quick
    from broker.purchases.deciding import Answer  # noqa: PLC0415 - the same
    from broker.reports.purchases_view import plans_report  # noqa: PLC0415 - the same

    is_named = recorded or bool(sheet or snapshot or as_of)
    source = source_from(recorded=recorded, sheet=sheet, snapshot=snapshot, as_of=as_of)
    terminal = Terminal.of(context)
    service = open_purchasing(terminal)
    with terminal.working("checking"):
        found = service.approve(
            plan, by=by, note=note, workloads=workloads, source=source if is_named else None
        )
    terminal.show(plans_report((plan_row(found.plan, found.record),)), form)
    if found.answer is Answer.AGAIN:
        terminal.note(f"{by.strip()} had approved it before; nothing was changed")
    if found.answer is Answer.WAITS:
        terminal.note("it waits for another person: gpubroker approve PLAN --by NAME")
    for remark in found.remarks:
        terminal.note(remark)
