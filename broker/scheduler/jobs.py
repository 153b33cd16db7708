"""What each kind of job does: one call of one service, and what came of it in a line."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import structlog

from broker.alerts.announcer import Delivery, Outcome
from broker.clock import system_clock
from broker.domain.alert import AlertKind
from broker.domain.errors import BrokerError
from broker.domain.plan import SolveSettings
from broker.journal.records import Opening
from broker.planning.alerting import AlertService, open_alerts
from broker.planning.nightly.asked import NightWish
from broker.planning.nightly.service import NightReport, open_nightly
from broker.planning.refresh import RefreshReport
from broker.planning.service import open_service
from broker.scheduler.records import Ended, JobKind, RunState
from broker.scheduler.rules import LocalTime
from broker.scheduler.work import Work

NIGHT_SOLVE = SolveSettings(gap_fraction=0.01, time_limit_s=40.0, seed=0)
"""What a nightly plan is solved with where the schedule does not say."""

_LOOK_S = 15.0
_log = structlog.get_logger(__name__)
_DAY = timedelta(days=1)
_HALF_A_DAY = timedelta(hours=12)
_WEEK = timedelta(weeks=1)


def perform(work: Work) -> Ended:
    """Do the work of a job.

    Raises:
        BrokerError: it cannot be done; the message and the hint are those of the service.
    """
    return _DOES[work.job.kind](work)


def _reprice(work: Work) -> Ended:
    names = [work.job.subject] if work.job.subject else None
    report = open_service(work.settings).refresh(names, recorded=work.job.recorded)
    told = _told_of_refresh(report)
    if not report.failed:
        return Ended(RunState.DONE, told)
    errors = "; ".join(one.error for one in report.failed)
    return Ended(RunState.FAILED, told, errors, report.failed[0].hint)


def _told_of_refresh(report: RefreshReport) -> str:
    """Say in a line what a refresh brought: 1,204 offers, 12 new, 3 held back."""
    of = report.outcomes
    counts = {
        "new": sum(one.new for one in of),
        "changed": sum(one.changed for one in of),
        "gone": sum(one.vanished for one in of),
        "held back": sum(sum(one.quarantined.values()) for one in of),
        "read in part": len(report.partial),
        "failed": len(report.failed),
    }
    said = [f"{sum(one.offers for one in of):,} offers"]
    said += [f"{count:,} {word}" for word, count in counts.items() if count]
    return ", ".join(said)


def _nightly(work: Work) -> Ended:
    """Run the night, or wait for whoever runs it and see what came of it.

    A night has the date of its instant in UTC. Where the one before had the same date, it is run
    again.
    """
    solve = work.job.solve or NIGHT_SOLVE
    again = is_another_night(work, system_clock())
    wish = NightWish(solve, recorded=work.job.recorded, again=again)
    nightly = open_nightly(work.settings)
    try:
        report = nightly.night(Path(work.job.subject), wish)
        while report.opening is Opening.HELD:
            _log.info("night_held", job=work.job.name, by=report.run and report.run.claim.by)
            time.sleep(_LOOK_S)
            report = nightly.night(Path(work.job.subject), replace(wish, again=False))
    except BrokerError as error:
        return Ended(
            RunState.FAILED,
            error=str(error),
            hint=error.hint,
            is_told=_is_told(nightly.alerts, work.job.subject),
        )
    return _told_of_night(report)


def is_another_night(work: Work, now: datetime) -> bool:
    """Say whether the night before had the date of this one, so that it hides it.

    Local times near midnight UTC have it when the clock changes; and so does a night that began
    late, after midnight, long before the next one is due. One that was made up for shortly before
    the regular one is that night.
    """
    if work.done_at is None:
        return False
    if work.done_at.date() == work.due_at.date():
        return True
    began_at = work.began_at or work.done_at
    return began_at.date() == now.date() and work.due_at - began_at >= _HALF_A_DAY


def _is_told(alerts: AlertService, workloads: str) -> bool:
    """Tell whether the night told people of its failure itself, as it does of most."""
    with suppress(BrokerError):  # the database, or the sinks, may be what is wrong
        found = (one.alert for one in alerts.listed())
        return any(one.kind is AlertKind.NIGHT_FAILED and one.scope == workloads for one in found)
    return False


def _told_of_night(report: NightReport) -> Ended:
    if report.outcome is None:
        return Ended(RunState.DONE, "it was run already")
    planned, decided = report.outcome.planned, report.outcome.decided
    if not planned.is_plan:
        hint = "gpubroker explain says what to relax"
        return Ended(RunState.FAILED, error="; ".join(decided.why), hint=hint, is_told=True)
    unsent = [one.sink for one in report.deliveries if one.outcome is Outcome.FAILED]
    said = [
        f"{decided.verdict}",
        f"${planned.total_usd:,.2f}, gap {planned.gap_fraction:.2%}",
        "it was run already" if report.opening is Opening.DONE else "",
        f"not told yet: {', '.join(unsent)}" if unsent else "",
    ]
    detail = "; ".join(part for part in said if part)
    return Ended(RunState.DONE, detail, usd=planned.total_usd, gap_fraction=planned.gap_fraction)


def _digest(work: Work) -> Ended:
    """Sum up the time since the last digest; its ends are instants of the schedule.

    So a digest that is broken off and made again is the same one, and is sent once.
    """
    rule = work.job.rule
    is_weekly = isinstance(rule, LocalTime) and rule.weekday is not None
    since = work.done_at or work.due_at - (_WEEK if is_weekly else _DAY)
    alerts = open_alerts(work.settings)
    sent = alerts.digest(since, until=work.due_at)
    if not sent:
        return Ended(RunState.DONE, "nothing to tell" if alerts.sinks else "nobody is to be told")
    return _told_of_messages(sent)


def _told_of_messages(sent: Iterable[Delivery]) -> Ended:
    went = [one.sink for one in sent if one.outcome is Outcome.DELIVERED]
    stuck = [one for one in sent if one.outcome is Outcome.FAILED]
    told = f"sent by {', '.join(went)}" if went else "sent by nobody"
    if not stuck:
        return Ended(RunState.DONE, told)
    error = "; ".join(f"{one.sink}: {one.error}" for one in stuck)
    return Ended(RunState.FAILED, told, error, stuck[0].hint, is_told=True)


_DOES: Mapping[JobKind, Callable[[Work], Ended]] = {
    JobKind.REPRICE: _reprice,
    JobKind.NIGHTLY: _nightly,
    JobKind.DIGEST: _digest,
}
