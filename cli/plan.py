"""`gpubroker plan`: the main job, from a workloads file to a purchase plan."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from broker.domain.errors import ConfigurationError, NoFeasiblePlanError
from cli.entry import open_planning, open_scenarios
from cli.files import check_writable, write_whole
from cli.output import FormatName, FormatOption, Terminal
from cli.plan_options import (
    GapOption,
    OutOption,
    SeedOption,
    TimeLimitOption,
    WorkloadsArgument,
    solve_settings,
)
from cli.sources import AsOfOption, RecordedOption, SheetOption, SnapshotOption, source_from

if TYPE_CHECKING:
    from broker.domain.plan import Plan, SolveSettings
    from broker.planning.catalog_view import CatalogSource
    from broker.settings import Settings

WhatIfOption = Annotated[
    list[str] | None,
    typer.Option(
        "--what-if",
        metavar="KEY=VALUE",
        help="Show what changes with this: traffic=1.3, deadline.RUN=DATE, provider.NAME=off, "
        "price.GPU=0.9x, or a path of the file; may be given again.",
    ),
]

InForceOption = Annotated[
    Path | None,
    typer.Option(
        "--in-force",
        metavar="PLAN",
        help="The plan in force, by file or hash: the search begins there, and nodes beside its "
        "own count as moved where policy.churn.in_plan is true.",
    ),
]


def plan(  # noqa: PLR0913 - the options of a command are the parameters of its function
    context: typer.Context,
    workloads: WorkloadsArgument,
    *,
    out: OutOption = None,
    recorded: RecordedOption = False,
    sheet: SheetOption = None,
    snapshot: SnapshotOption = None,
    as_of: AsOfOption = None,
    time_limit: TimeLimitOption = 40,
    gap: GapOption = 0.01,
    seed: SeedOption = 0,
    in_force: InForceOption = None,
    what_if: WhatIfOption = None,
    form: FormatOption = "table",
) -> None:
    """Find the cheapest purchases that meet the workloads, with a proof of how cheap.

    Prices come from the catalog, or from the recordings, a sheet or a snapshot.

    The plan has passed the independent check before it is shown. To compare it with the best
    single provider takes up to half of the time limit more.

    With --what-if the plan is made with and without the changes, and the difference is shown.

    Where no purchase meets every rule, the exit code is 4 and the reasons are told.
    """
    solve = solve_settings(gap, time_limit, seed)
    source = source_from(recorded=recorded, sheet=sheet, snapshot=snapshot, as_of=as_of)
    terminal = Terminal.of(context)
    if what_if:
        _check_alone(in_force)
        _show_what_if(what_if, workloads, source, solve, out=out, form=form, terminal=terminal)
        return
    if out is not None:
        check_writable(out, inputs=(workloads, *(one for one in (sheet, in_force) if one)))
    service = open_planning(terminal)
    start = _read(in_force, service.settings) if in_force else None
    with terminal.working("planning") as progress:
        made = service.plan(workloads, source, solve, progress, start=start)
    if out is not None:
        write_plan(made, out, terminal)
    _print(made, form, terminal)
    check_has_plan(made)


def write_plan(made: "Plan", out: Path, terminal: Terminal) -> None:
    """Write a plan file.

    Raises:
        ConfigurationError: it cannot be written.
    """
    write_whole(out, _json(made))
    terminal.note(f"plan written to {out}")


def check_has_plan(made: "Plan") -> None:
    """Say why there is no plan.

    Raises:
        NoFeasiblePlanError: there is none.
    """
    from broker.domain.plan import Status  # noqa: PLC0415 - keeps `--help` quick

    if made.is_undecided:
        raise NoFeasiblePlanError(
            "no plan was found before the time limit, nor was it proven that there is none",
            hint="give more time with --time-limit",
        )
    if made.status is Status.INFEASIBLE:
        reasons = "\n  ".join(made.warnings)
        raise NoFeasiblePlanError(
            f"no purchase meets every rule of the workloads file:\n  {reasons}",
            hint="loosen what is named here, or look at other offers: "
            "`rejected` in --format json has each reason with an example",
        )


def _read(in_force: Path, settings: "Settings") -> "Plan":
    from broker.planning.given_plan import given_plan  # noqa: PLC0415 - keeps `--help` quick

    return given_plan(in_force, settings)


def _check_alone(in_force: Path | None) -> None:
    """Refuse a plan in force beside changes.

    Raises:
        ConfigurationError: there is one.
    """
    if in_force is not None:
        raise ConfigurationError(
            "--in-force does not go with --what-if, which compares two plans made from nothing",
            hint="make the change in the workloads file or a price sheet, and plan that",
        )


def _show_what_if(
    texts: Sequence[str],
    workloads: Path,
    source: "CatalogSource",
    solve: "SolveSettings",
    *,
    out: Path | None,
    form: FormatName,
    terminal: Terminal,
) -> None:
    """Plan with and without the changes, and print the difference."""
    from broker.planning.what_if import parse_change  # noqa: PLC0415 - keeps `--help` quick
    from broker.reports.what_if_view import what_if_page, what_if_report  # noqa: PLC0415 - as above

    if out is not None:
        raise ConfigurationError(
            "--out does not go with --what-if: a plan file is made from the files as they are",
            hint="make the change in the workloads file or a price sheet, and plan that",
        )
    changes = [parse_change(text) for text in texts]
    service = open_scenarios(terminal)
    with terminal.working("planning") as progress:
        found = service.what_if(workloads, source, solve, changes, progress=progress)
    told = tuple(map(str, found.changes))
    if form == "table":
        terminal.page(what_if_page(found.base, found.changed, told, terminal.width))
    else:
        terminal.show(what_if_report(found.base, found.changed, told), form)
    check_has_plan(found.base)
    check_has_plan(found.changed)


def _json(made: "Plan") -> str:
    return made.model_dump_json(by_alias=True, indent=2) + "\n"


def _print(made: "Plan", form: FormatName, terminal: Terminal) -> None:
    from broker.reports.plan_view import plan_page, plan_report  # noqa: PLC0415 - as above

    if form == "table":
        terminal.page(plan_page(made))
    elif form == "csv":
        terminal.show(plan_report(made), form)
    else:
        terminal.write(_yaml(_json(made)) if form == "yaml" else _json(made))


def _yaml(text: str) -> str:
    """Write the data of a JSON text as YAML; money is text in it, so that no digit is lost."""
    import json  # noqa: PLC0415 - keeps `--help` quick

    import yaml  # noqa: PLC0415 - the same

    return yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True)
