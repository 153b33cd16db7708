"""Tells whoever wants to hear of it that a job failed, once, and that it works again.

What goes wrong with a provider, or in a night, is told by the job itself, as part of what it does.
"""

import re
from collections.abc import Callable
from datetime import datetime

import structlog

from broker.alerts.announcer import Announcer
from broker.alerts.finding import Looked
from broker.domain.alert import Alert, AlertKind
from broker.domain.errors import BrokerError
from broker.planning.alerting import AlertService, scrub_from
from broker.scheduler.records import Ended, RunState, Scheduled

_FIGURES = re.compile(r"[0-9]+(\.[0-9]+)?")
_log = structlog.get_logger(__name__)

Teller = Callable[[Scheduled, Ended], None]
"""Is told of each run that ended."""


def teller(alerts: AlertService) -> Teller:
    """Make what tells the sinks of the settings of jobs that fail, or work again."""

    def tell(scheduled: Scheduled, ended: Ended) -> None:
        is_failure = ended.state is RunState.FAILED
        if ended.state is RunState.INTERRUPTED or (is_failure and ended.is_told):
            return
        now = alerts.clock()
        looked = Looked(_scope(scheduled), frozenset({AlertKind.NIGHT_FAILED}))
        found = [failed_job(scheduled, ended, since=now)] if is_failure else []
        try:
            scrub = scrub_from(alerts.settings)
            announcer = Announcer(alerts.engine, alerts.sinks, alerts.clock, scrub=scrub)
            announcer.tell(found, now=now, looked=looked)
        except BrokerError as error:
            _log.warning("failure_not_told", job=scheduled.job.name, error=str(error))

    return tell


def failed_job(scheduled: Scheduled, ended: Ended, *, since: datetime) -> Alert:
    """Say that a job of the schedule failed; the same failure with other figures is one state."""
    job = scheduled.job
    return Alert(
        kind=AlertKind.NIGHT_FAILED,
        scope=_scope(scheduled),
        subject=_scope(scheduled),
        state=_FIGURES.sub("#", ended.error),
        title=f"The job {job.name} of the schedule failed",
        since=since,
        facts=(ended.error, f"it runs {job.rule.told}"),
        action=ended.hint or "gpubroker status --jobs",
    )


def _scope(scheduled: Scheduled) -> str:
    return f"the job {scheduled.job.name}"
