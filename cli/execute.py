"""`gpubroker execute`: a line of an approved plan was bought."""

from typing import Annotated

import typer

from cli.approve import ByOption, KeptPlanArgument, NoteOption
from cli.entry import open_purchasing
from cli.output import FormatOption, Terminal


def execute(
    context: typer.Context,
    plan: KeptPlanArgument,
    line: Annotated[
        str, typer.Argument(metavar="LINE", help="Id of the line, or its gpubroker-line label.")
    ],
    *,
    by: ByOption,
    reference: Annotated[
        str,
        typer.Option(
            "--reference",
            metavar="ID",
            help="The provider's id of what was bought; several with commas. Default: none.",
        ),
    ] = "",
    note: NoteOption = "",
    form: FormatOption = "table",
) -> None:
    """Note that a line of an approved plan was bought; it buys nothing by itself.

    A line is bought once: noted again, nothing changes, and it is told who did it before.

    With its last line the plan is executed. Exports that launch leave out what was bought.
    """
    from broker.planning.purchase_rows import line_rows  # noqa: PLC0415 - keeps `--help` quick
    from broker.purchases.deciding import Answer  # noqa: PLC0415 - the same
    from broker.reports.purchases_view import lines_report  # noqa: PLC0415 - the same

    terminal = Terminal.of(context)
    found = open_purchasing(terminal).execute(plan, line, by=by, reference=reference, note=note)
    done, again = found.done, found.answer is Answer.AGAIN
    facts = {"plan": found.record.hash, "state": found.record.state.value, "was_noted": again}
    terminal.show(lines_report(line_rows(found.plan, found.record), facts), form)
    if done is not None and again:
        of = f", reference {done.reference}" if done.reference else ""
        terminal.note(
            f"nothing was changed: {done.line} was executed before by {done.actor} "
            f"on {done.at:%Y-%m-%d %H:%M} UTC{of}"
        )
    for remark in found.remarks:
        terminal.note(remark)
    terminal.note(f"the plan is {found.record.state.value}")
