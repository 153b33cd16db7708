"""`gpubroker verify`: the independent check of a plan."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from broker.domain.errors import ConfigurationError
from cli.entry import open_planning
from cli.output import FormatName, FormatOption, Terminal
from cli.plan_options import PlanArgument, WorkloadsArgument
from cli.sources import AsOfOption, RecordedOption, SheetOption, SnapshotOption, source_from

if TYPE_CHECKING:
    from broker.domain.plan import Plan
    from broker.reports.formats import Report
    from broker.verification.check import Violation

_MOST_SHOWN = 20
"""Violations in a table; other formats have all."""


def verify(
    context: typer.Context,
    plan: PlanArgument,
    workloads: WorkloadsArgument,
    *,
    recorded: RecordedOption = False,
    sheet: SheetOption = None,
    snapshot: SnapshotOption = None,
    as_of: AsOfOption = None,
    form: FormatOption = "table",
) -> None:
    """Check a plan against its workloads and prices; it shares no code with the solver.

    Every cost is computed again to the micro-dollar, and every rule is checked.

    Without an option the catalog is found by the hash in the plan.

    A plan that breaks a rule ends with exit code 2.
    """
    from broker.planning.given_plan import given_plan  # noqa: PLC0415 - keeps `--help` quick

    is_named = recorded or bool(sheet or snapshot or as_of)
    source = source_from(recorded=recorded, sheet=sheet, snapshot=snapshot, as_of=as_of)
    terminal = Terminal.of(context)
    service = open_planning(terminal)
    given = given_plan(plan, service.settings)
    with terminal.working("checking"):
        violations = service.verify(plan, workloads, source if is_named else None)
    _print(given, violations, form, terminal)
    if violations:
        first = violations[0]
        count = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
        raise ConfigurationError(
            f"the plan is refused: {first.rule} of {first.subject}: {first.message}{count}",
            hint="do not buy by it; make it again with `gpubroker plan`",
        )


def _print(
    plan: "Plan", violations: Sequence["Violation"], form: FormatName, terminal: Terminal
) -> None:
    if form != "table":
        terminal.show(_report(plan, violations), form)
    elif violations:
        terminal.show(_report(plan, violations[:_MOST_SHOWN]), form)
        if len(violations) > _MOST_SHOWN:
            terminal.note(f"{len(violations) - _MOST_SHOWN} more; --format json has all")
    else:
        terminal.write(f"accepted: {_claim(plan)}; {_rules(plan)} rules checked\n")


def _claim(plan: "Plan") -> str:
    from broker.domain.plan import Status  # noqa: PLC0415 - keeps `--help` quick

    if plan.status is Status.INFEASIBLE:
        return "it buys nothing (that no plan exists is the solver's word)"
    return f"{plan.total_usd:,.2f} USD in total, gap {plan.gap_fraction:.2%}"


def _rules(plan: "Plan") -> int:
    from broker.domain.plan import Status  # noqa: PLC0415 - keeps `--help` quick
    from broker.verification.check import DEMAND_RULES, RULES  # noqa: PLC0415 - the same

    return len(RULES) + (0 if plan.status is Status.INFEASIBLE else len(DEMAND_RULES))


def _report(plan: "Plan", violations: Sequence["Violation"]) -> "Report[Violation]":
    from broker.reports.formats import Column, Report, plain  # noqa: PLC0415 - as above
    from broker.reports.layout import Fit  # noqa: PLC0415 - the same
    from broker.verification.check import Violation  # noqa: PLC0415 - the same

    return Report(
        schema="gpubroker.verification/1",
        name="violations",
        row_type=Violation,
        rows=tuple(violations),
        columns=(
            Column("rule", lambda row: row.rule),
            Column("of", lambda row: row.subject, fit=Fit.SHORTEN),
            Column("what is wrong", lambda row: row.message, fit=Fit.WRAP),
        ),
        facts={
            "verdict": "refused" if violations else "accepted",
            "status": plan.status.value,
            "total_usd": plain(plan.total_usd),
            "rules": _rules(plan),
            "snapshot": plan.catalog.snapshot,
        },
    )
