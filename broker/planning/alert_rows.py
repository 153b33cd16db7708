"""The rows that are shown of alerts and of what became of messages."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from broker.alerts.announcer import Delivery
from broker.alerts.book import Logged, Queued
from broker.reports.alerts_view import AlertRow, DeliveryRow, WaitingRow

_HOUR = timedelta(hours=1)


def alert_rows(found: Iterable[Logged], now: datetime) -> tuple[AlertRow, ...]:
    """Make a row of each alert; its age counts to its end, or to now."""
    return tuple(
        AlertRow(
            kind=one.alert.kind.value,
            scope=one.alert.scope,
            subject=one.alert.subject,
            state=one.alert.state,
            title=one.alert.title,
            since=one.alert.since,
            age_h=max(0.0, ((one.mended_at or now) - one.alert.since) / _HOUR),
            usd_per_day=one.alert.usd_per_day,
            facts=one.alert.facts,
            action=one.alert.action,
            opened_at=one.opened_at,
            changed_at=one.changed_at,
            mended_at=one.mended_at,
            told=one.told,
        )
        for one in found
    )


def waiting_rows(queue: Iterable[Queued]) -> tuple[WaitingRow, ...]:
    """Make a row of each message that waits."""
    return tuple(
        WaitingRow(
            sink=one.sink,
            key=one.message.key,
            title=one.message.title,
            made_at=one.message.made_at,
            attempts=one.attempts,
            error=one.error,
        )
        for one in queue
    )


def delivery_rows(deliveries: Iterable[Delivery]) -> tuple[DeliveryRow, ...]:
    """Make a row of each message that was sent, or would be."""
    return tuple(
        DeliveryRow(
            sink=one.sink,
            outcome=one.outcome.value,
            title=one.title,
            key=one.key,
            error=one.error,
            hint=one.hint,
            preview=one.preview,
        )
        for one in deliveries
    )
