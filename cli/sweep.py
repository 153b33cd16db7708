"""`gpubroker sweep`: plans over the values of one or two keys."""

from typing import TYPE_CHECKING, Annotated

import typer

from broker.domain.errors import NoFeasiblePlanError
from cli.entry import open_scenarios
from cli.output import FormatName, FormatOption, Terminal
from cli.plan_options import (
    GapOption,
    SeedOption,
    TimeLimitOption,
    WorkloadsArgument,
    solve_settings,
)
from cli.sources import AsOfOption, RecordedOption, SheetOption, SnapshotOption, source_from

if TYPE_CHECKING:
    from broker.planning.sweep import Sweep

VaryOption = Annotated[
    list[str],
    typer.Option(
        "--vary",
        metavar="KEY=A,B,C",
        help="A key of --what-if of `gpubroker plan` and its values; may be given twice.",
    ),
]
JobsOption = Annotated[
    int, typer.Option("--jobs", metavar="NUMBER", min=1, max=64, help="Plans made at a time.")
]


def sweep(  # noqa: PLR0913 - the options of a command are the parameters of its function
    context: typer.Context,
    workloads: WorkloadsArgument,
    *,
    vary: VaryOption,
    recorded: RecordedOption = False,
    sheet: SheetOption = None,
    snapshot: SnapshotOption = None,
    as_of: AsOfOption = None,
    time_limit: TimeLimitOption = 40,
    gap: GapOption = 0.01,
    seed: SeedOption = 0,
    jobs: JobsOption = 2,
    form: FormatOption = "table",
) -> None:
    """Plan the workloads for every combination of the values of one or two keys.

    The time limit holds for each plan. A point without a plan is shown as such; where none has
    one, the exit code is 4.
    """
    from broker.planning.sweep import parse_axes  # noqa: PLC0415 - keeps `--help` quick

    solve = solve_settings(gap, time_limit, seed)
    source = source_from(recorded=recorded, sheet=sheet, snapshot=snapshot, as_of=as_of)
    axes = parse_axes(vary)
    total = 1
    for axis in axes:
        total *= len(axis.values)
    terminal = Terminal.of(context)
    service = open_scenarios(terminal, workers=jobs)
    with terminal.progress("planning", total) as advance:
        made = service.sweep(workloads, source, solve, axes, on_done=advance)
    _print(made, form, terminal)
    _check_has_plan(made)


def _print(made: "Sweep", form: FormatName, terminal: Terminal) -> None:
    from broker.reports.sweep_view import sweep_page, sweep_report  # noqa: PLC0415 - as above

    keys = [axis.key for axis in made.axes]
    points = tuple(zip(made.points, made.plans, strict=True))
    report = sweep_report(keys, points, made.snapshot)
    if form == "table":
        terminal.page(sweep_page(report, made.plans[0], terminal.width))
    else:
        terminal.show(report, form)


def _check_has_plan(made: "Sweep") -> None:
    from broker.domain.plan import Status  # noqa: PLC0415 - as above

    if any(plan.is_undecided for plan in made.plans) and all(
        plan.status is Status.INFEASIBLE for plan in made.plans
    ):
        raise NoFeasiblePlanError(
            "no plan was found before the time limit at any point",
            hint="give more time with --time-limit",
        )
    if all(plan.status is Status.INFEASIBLE for plan in made.plans):
        reasons = "\n  ".join(dict.fromkeys(one for plan in made.plans for one in plan.warnings))
        raise NoFeasiblePlanError(
            f"no purchase meets every rule at any point:\n  {reasons}",
            hint="loosen what is named here, or vary something else",
        )
