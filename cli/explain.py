"""`gpubroker explain`: why this plan, why not that offer, what is near, what to relax."""

from typing import TYPE_CHECKING, Annotated

import typer

from broker.domain.errors import ConfigurationError
from cli.entry import open_planning
from cli.output import FormatName, FormatOption, Terminal
from cli.plan_options import ExplainTimeLimitOption, PlanArgument, check_time_limit
from cli.sources import AsOfOption, RecordedOption, SheetOption, SnapshotOption, source_or_none

if TYPE_CHECKING:
    from broker.domain.explanation import Explanation

_MOST_NEAR = 50


def explain(  # noqa: PLR0913 - the options of a command are the parameters of its function
    context: typer.Context,
    plan: PlanArgument,
    *,
    why_not: Annotated[
        str | None,
        typer.Option(
            "--why-not",
            metavar="OFFER",
            help="Say what keeps this offer out, or at what price it would enter; an offer's key.",
        ),
    ] = None,
    near: Annotated[
        int,
        typer.Option("--near", metavar="N", help="Show so many plans that are nearly as good."),
    ] = 0,
    relax: Annotated[
        bool,
        typer.Option("--relax", help="Where there is no plan: the least changes that let one be."),
    ] = False,
    recorded: RecordedOption = False,
    sheet: SheetOption = None,
    snapshot: SnapshotOption = None,
    as_of: AsOfOption = None,
    time_limit: ExplainTimeLimitOption = 60,
    form: FormatOption = "table",
) -> None:
    """Explain a plan: each line, what each rule costs, and when each commitment pays.

    Every answer rests on plans made anew with one thing changed.

    Without an option the catalog is found by the hash in the plan; a plan from a sheet needs it.
    """
    if not 0 <= near <= _MOST_NEAR:
        raise ConfigurationError(
            f"--near {near} is not between 0 and {_MOST_NEAR}", hint="write 3 for three plans"
        )
    check_time_limit(time_limit)
    source = source_or_none(recorded=recorded, sheet=sheet, snapshot=snapshot, as_of=as_of)
    terminal = Terminal.of(context)
    service = open_planning(terminal)
    from broker.planning.explaining.asked import Asked  # noqa: PLC0415 - keeps `--help` quick

    asked = Asked(why_not=why_not, near=near, relax=relax, time_limit_s=time_limit)
    with terminal.working("explaining") as progress:
        found = service.explain(plan, asked, source, progress)
    _print(found, form, terminal)


def _print(found: "Explanation", form: FormatName, terminal: Terminal) -> None:
    if form == "table":
        from broker.reports.explain_view import explanation_page  # noqa: PLC0415 - see above

        terminal.page(explanation_page(found))
    elif form == "csv":
        from broker.reports.explain_rows import explanation_csv  # noqa: PLC0415 - see above

        terminal.write(explanation_csv(found))
    elif form == "json":
        terminal.write(found.model_dump_json(by_alias=True, indent=2) + "\n")
    else:
        import yaml  # noqa: PLC0415 - see above

        data = found.model_dump(mode="json", by_alias=True)  # money is text: no digit is lost
        terminal.write(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
