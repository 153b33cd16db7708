"""`gpubroker nightly`: re-price, re-plan, decide whether to act, and tell someone; once a date."""

from datetime import date
from typing import TYPE_CHECKING, Annotated

import typer

from broker.domain.errors import ConfigurationError, NoFeasiblePlanError, ProviderError
from cli.entry import open_nightly
from cli.output import FormatName, FormatOption, Terminal
from cli.plan_options import (
    GapOption,
    SeedOption,
    TimeLimitOption,
    WorkloadsArgument,
    solve_settings,
)
from cli.sources import RecordedOption, SheetOption, source_from

if TYPE_CHECKING:
    from broker.planning.nightly.service import NightReport


def nightly(  # noqa: PLR0913 - the options of a command are the parameters of its function
    context: typer.Context,
    workloads: WorkloadsArgument,
    *,
    on: Annotated[
        str | None,
        typer.Option(
            "--date",
            metavar="DATE",
            help="The date of the night. Default: today's, in UTC. A past one is planned on the "
            "catalog as it stood then.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Ask no provider, keep nothing, tell nobody: show what would be decided and told.",
        ),
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Run a night that is done once more.")
    ] = False,
    recorded: RecordedOption = False,
    sheet: SheetOption = None,
    time_limit: TimeLimitOption = 40,
    gap: GapOption = 0.01,
    seed: SeedOption = 0,
    form: FormatOption = "table",
) -> None:
    """Ask the providers, plan anew, and tell people where that is worth acting on.

    The plan is made from the one in force, checked, and set against it. It takes its place where
    it saves more than the change is worth (`policy.churn` of the workloads file), or where the one
    in force cannot go on.

    A night is run once: a second run of that date does nothing, and one that was broken off goes
    on where it was. The journal keeps each step with its time, inputs and outcome.

    The exit code is 3 where someone could not be told, 4 where there is no plan.
    """
    from broker.planning.nightly.asked import NightWish  # noqa: PLC0415 - keeps `--help` quick

    solve = solve_settings(gap, time_limit, seed)
    source_from(recorded=recorded, sheet=sheet)  # refuses two catalogs
    wish = NightWish(
        solve=solve,
        recorded=recorded,
        sheet=sheet,
        on=_date(on) if on else None,
        again=again,
        dry_run=dry_run,
    )
    terminal = Terminal.of(context)
    service = open_nightly(terminal)
    with terminal.working("the night") as progress:
        report = service.night(workloads, wish, progress)
    _print(report, form, terminal)
    _end(report)


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as cause:
        raise ConfigurationError(
            f"--date {text!r} is no date", hint="write it as 2026-12-01"
        ) from cause


def _print(report: "NightReport", form: FormatName, terminal: Terminal) -> None:
    from broker.planning.nightly.rows import night_view  # noqa: PLC0415 - keeps `--help` quick
    from broker.reports.nightly_view import night_report, night_text  # noqa: PLC0415 - the same

    view = night_view(report)
    for remark in report.remarks:
        terminal.note(remark)
    if form != "table":
        terminal.show(night_report(view), form)
        return
    terminal.page(view.heading)
    if view.steps:
        terminal.show(night_report(view), form)
    terminal.page(night_text(view))
    for one in report.deliveries:
        if one.preview:
            terminal.write(f"\n{one.sink} would be told:\n{one.preview}\n")


def _end(report: "NightReport") -> None:
    """End with the code of what happened.

    Raises:
        NoFeasiblePlanError: there is no plan of tonight.
        ProviderError: someone could not be told.
    """
    if report.outcome is not None and not report.outcome.planned.is_plan:
        raise NoFeasiblePlanError(
            "; ".join(report.outcome.decided.why),
            hint="loosen what is named here; the plan in force, if there is one, stands",
        )
    failed = [one for one in report.deliveries if one.error]
    if failed:
        raise ProviderError(
            f"the night is done, but {failed[0].sink} could not be told: {failed[0].error}",
            hint=f"{failed[0].hint}; it is sent again tomorrow, or by gpubroker alerts flush",
        )
