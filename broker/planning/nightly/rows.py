"""What is told of a night, as the reports show it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from broker.journal.records import NightStep, Opening, State, Step
from broker.planning.nightly.deciding import Verdict
from broker.planning.nightly.outcomes import (
    DecideOutcome,
    DiffOutcome,
    NightOutcome,
    PlanOutcome,
    PriceOutcome,
    TellOutcome,
    VerifyOutcome,
)
from broker.planning.nightly.service import NightReport
from broker.reports.formats import Plain, plain
from broker.reports.nightly_view import NightStepRow, NightView

_DIGITS = 12
_VERDICTS: Mapping[Verdict, str] = MappingProxyType(
    {
        Verdict.FIRST: "The first plan: {plan} is in force until a person approves one.",
        Verdict.NEEDED: "A new plan is needed: {plan}.",
        Verdict.BETTER: "A better plan: {plan}.",
        Verdict.KEEP: "The plan in force stays: {in_force}.",
        Verdict.NO_PLAN: "There is no plan.",
    }
)


def night_view(report: NightReport) -> NightView:
    """Tell of a night that was run, gone on with, or found done."""
    return NightView(
        facts=_facts(report),
        heading=_heading(report),
        steps=tuple(map(_row, report.steps)),
        verdict=_verdict(report.outcome),
        why=report.outcome.decided.why if report.outcome else (),
    )


def _facts(report: NightReport) -> dict[str, Plain]:
    run, outcome = report.run, report.outcome
    facts: dict[str, Plain] = {
        "workloads": report.name,
        "date": run.asked.on_date.isoformat() if run else None,
        "run": run.number if run else None,
        "found": report.opening.value if report.opening else "dry_run",
        "state": run.state.value if run else None,
        "error": run.error if run else "",
    }
    if outcome is None:
        return facts
    planned = outcome.planned
    return facts | {
        "verdict": outcome.decided.verdict.value,
        "why": outcome.decided.why,
        "plan": planned.plan,
        "in_force": planned.in_force,
        "status": planned.status.value,
        "total_usd": plain(planned.total_usd),
        "bound_usd": plain(planned.bound_usd),
        "gap_fraction": planned.gap_fraction,
    }


def _heading(report: NightReport) -> str:
    run = report.run
    if run is None or report.opening is None:
        return f"Night of {report.name}, as it would be: nothing is kept, nobody is told"
    name = f"Night of {report.name}, {run.asked.on_date}"
    return f"{name}: {_FOUND[report.opening].format(at=run.finished_at or run.started_at)}"


_FOUND: Mapping[Opening, str] = MappingProxyType(
    {
        Opening.BEGUN: "done",
        Opening.RESUMED: "it was broken off; done from where it was",
        Opening.DONE: "it was done at {at:%Y-%m-%d %H:%M} UTC, so nothing is done; --again runs it",
        Opening.HELD: "another process works on it since {at:%Y-%m-%d %H:%M} UTC; nothing is done",
    }
)


def _verdict(outcome: NightOutcome | None) -> str:
    if outcome is None:
        return "Nothing is decided yet."
    plan, in_force = outcome.planned.plan[:_DIGITS], outcome.planned.in_force[:_DIGITS]
    return _VERDICTS[outcome.decided.verdict].format(plan=plan, in_force=in_force)


def _row(step: NightStep) -> NightStepRow:
    elapsed = step.elapsed
    return NightStepRow(
        step=step.step.value,
        attempt=step.attempt,
        state=step.state.value,
        started_at=step.started_at,
        finished_at=step.finished_at,
        elapsed_s=None if elapsed is None else round(elapsed.total_seconds(), 3),
        said=_SAID[step.step](step.outcome) if step.state is State.DONE else _broken(step),
        inputs=step.inputs,
        outcome=step.outcome,
    )


def _broken(step: NightStep) -> str:
    return f"{step.state}: {step.error}" if step.error else step.state.value


def _price_said(text: str) -> str:
    of = PriceOutcome.model_validate_json(text)
    said = f"{of.offers:,} offer{'s' * (of.offers != 1)}, catalog {of.snapshot[:_DIGITS]}"
    return f"{said}; could not be read: {', '.join(of.failed)}" if of.failed else said


def _plan_said(text: str) -> str:
    of = PlanOutcome.model_validate_json(text)
    if not of.is_plan:
        return "no purchase meets every rule"
    return f"{of.total_usd:,.2f} USD, gap {of.gap_fraction:.2%}: plan {of.plan[:_DIGITS]}"


def _verify_said(text: str) -> str:
    return f"accepted, {VerifyOutcome.model_validate_json(text).rules} rules checked"


def _diff_said(text: str) -> str:
    of = DiffOutcome.model_validate_json(text)
    if not of.of_nodes:
        return "there is nothing to compare with"
    saves = f"saves {of.saving_usd:,.2f} USD of {of.before_usd:,.2f} from now on"
    if of.saving_usd < 0:
        saves = f"costs {-of.saving_usd:,.2f} USD beside {of.before_usd:,.2f} from now on"
    nodes = f"{of.disturbed_nodes} node{'s' * (of.disturbed_nodes != 1)}"
    return f"{saves}, disturbs {nodes}, of {of.of_nodes} in force"


def _decide_said(text: str) -> str:
    return DecideOutcome.model_validate_json(text).verdict.replace("_", " ")


def _tell_said(text: str) -> str:
    of = TellOutcome.model_validate_json(text)
    stand = f"{of.alerts} alert{'s' * (of.alerts != 1)} stand{'s' * (of.alerts == 1)}"
    told = f"{stand}, {of.messages} new message{'s' * (of.messages != 1)}"
    return f"{told}; not reached: {', '.join(of.undelivered)}" if of.undelivered else told


_SAID: Mapping[Step, Callable[[str], str]] = MappingProxyType(
    {
        Step.PRICE: _price_said,
        Step.PLAN: _plan_said,
        Step.VERIFY: _verify_said,
        Step.DIFF: _diff_said,
        Step.DECIDE: _decide_said,
        Step.TELL: _tell_said,
    }
)
