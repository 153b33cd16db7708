"""A deadline at risk: a run of the plan in force ends late, tight, or on spot near its deadline."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from broker.alerts.night import Night
from broker.alerts.phrases import adopt, instant, replan, span
from broker.domain.alert import Alert, AlertKind
from broker.domain.batch import BatchRun
from broker.domain.plan import Plan, TrainingAssignment
from broker.domain.workload import Run

_TIGHT_SHARE = 0.05
"""Slack below this share of the run's work is tight: an hour of trouble in twenty is late."""

_SPOT_SHARE = 0.25
"""On spot the work needs this share of itself as slack, to be done again after reclaims."""

_NOT_ALL = 1 - 1e-6
_NOTHING = timedelta(0)


class Risk(StrEnum):
    """What is wrong, the worst first."""

    UNPLANNED = "unplanned"
    LATE = "late"
    TIGHT = "tight"
    ON_SPOT = "on spot near the deadline"


@dataclass(frozen=True, slots=True)
class _Schedule:
    """What a plan has of a run: its work, the tokens of it, its end, whether the last is spot."""

    work: timedelta
    tokens: float
    ends_at: datetime
    on_spot: bool


def deadline_at_risk(night: Night) -> Iterator[Alert]:
    """Hold each run of tonight's file that is not done against the plan that people act on.

    Of a daily batch job the first day at risk stands for all; that one is tight is not told, as
    its nodes are chosen to fill its window, with the safety margin in it.
    """
    plan, demand = night.acted_on, night.demand
    if plan is None or demand is None:
        return
    told: set[str] = set()
    for run in demand.runs:
        schedule = _schedule(plan, run)
        is_done = schedule is not None and schedule.ends_at <= night.now
        if (is_done and _is_whole(schedule, run)) or run.window.deadline <= night.now:
            continue
        risk = _risk(plan, run, schedule)
        is_needless = _is_daily(run) and (risk is Risk.TIGHT or _name(run) in told)
        if risk is not None and not is_needless:
            told.add(_name(run))
            yield _alert(night, run, schedule, risk)


def _is_daily(run: Run) -> bool:
    return isinstance(run, BatchRun) and run.job.is_daily


def _name(run: Run) -> str:
    """Name what is told of: the run, or the job of which it is a day."""
    return run.job.name if isinstance(run, BatchRun) else run.name


def _schedule(plan: Plan, run: Run) -> _Schedule | None:
    parts = [one for one in plan.training if one.run == run.name and one.steps]
    if not parts:
        return None
    last = max(parts, key=_end)
    steps = [step for one in parts for step in one.steps]
    work = sum((step.to_at - step.from_at for step in steps), _NOTHING)
    return _Schedule(work, sum(one.tokens for one in parts), _end(last), last.on_spot)


def _end(one: TrainingAssignment) -> datetime:
    return max(step.to_at for step in one.steps)


def _is_whole(schedule: _Schedule | None, run: Run) -> bool:
    return schedule is not None and schedule.tokens >= run.tokens * _NOT_ALL


def _risk(plan: Plan, run: Run, schedule: _Schedule | None) -> Risk | None:
    if schedule is None:
        return Risk.UNPLANNED if _is_of(plan, run) else None
    slack = run.window.deadline - schedule.ends_at
    if slack < _NOTHING or not _is_whole(schedule, run):
        return Risk.LATE
    if slack < schedule.work * _TIGHT_SHARE:
        return Risk.TIGHT
    if schedule.on_spot and slack < schedule.work * _SPOT_SHARE:
        return Risk.ON_SPOT
    return None


def _is_of(plan: Plan, run: Run) -> bool:
    """Say whether a plan had to do a run: not if it starts after the horizon.

    A day of a batch job that the horizon cuts is left to the next plan.
    """
    end = plan.workloads.horizon.end
    if _is_daily(run):
        return run.window.deadline <= end
    return run.window.earliest < end


def _alert(night: Night, run: Run, schedule: _Schedule | None, risk: Risk) -> Alert:
    return Alert(
        kind=AlertKind.DEADLINE_AT_RISK,
        scope=night.workloads,
        subject=_name(run),
        state=f"{risk} for {run.window.deadline:{'%H:%M' if _is_daily(run) else '%Y-%m-%d %H:%M'}}",
        title=f"The run {run.name} may miss its deadline: {risk.value}",
        since=night.now,
        facts=(f"deadline {instant(run.window.deadline)}", *_facts(run, schedule)),
        action=_action(night, run, schedule),
    )


def _facts(run: Run, schedule: _Schedule | None) -> Iterator[str]:
    if schedule is None:
        yield "the plan in force has no hour of work on it"
        return
    slack = run.window.deadline - schedule.ends_at
    when = f"the plan in force ends it {instant(schedule.ends_at)}"
    how = "before" if slack >= _NOTHING else "after"
    yield f"{when}, {span(abs(slack))} {how} that, with {span(schedule.work)} of work"
    if not _is_whole(schedule, run):
        share = schedule.tokens / run.tokens
        yield f"and does {share:.0%} of the tokens that the workloads file now asks for"
    if schedule.on_spot:
        need = span(schedule.work * _SPOT_SHARE)
        yield f"the last of it is on spot nodes, which may be reclaimed: {need} of slack is prudent"


def _action(night: Night, run: Run, schedule: _Schedule | None) -> str:
    """Take tonight's plan if it cures this; else plan for an earlier deadline, with more slack."""
    made = night.made
    is_new = night.in_force is not None and night.adopted
    if is_new and made is not None and _risk(made, run, _schedule(made, run)) is None:
        return adopt(night)
    if schedule is None or not _is_whole(schedule, run):
        return replan(night)
    share = _SPOT_SHARE if schedule.on_spot else _TIGHT_SHARE
    aim = run.window.deadline - schedule.work * share
    at = f"{aim:%H:00}" if _is_daily(run) else f"{aim:%Y-%m-%dT%H:00}"
    return replan(night, f"deadline.{_name(run)}={at}")
