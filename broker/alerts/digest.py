"""A digest: what moved in a day or a week, and what costs most; nothing where all is quiet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from sqlalchemy import Engine

from broker.alerts.book import Logged, logged
from broker.alerts.phrases import dollars, instant, span
from broker.domain.alert import Alert, AlertKind
from broker.store.database import reading

_TOP = 3
_MOST_LINES = 20


@dataclass(frozen=True, slots=True)
class Digest:
    """A text for people. `key` names the time that it covers, so that it is sent once."""

    key: str
    title: str
    text: str


def digest_of(engine: Engine, *, since: datetime, now: datetime) -> Digest | None:
    """Sum up the alerts from `since` to `now`; None where nothing came, changed or went.

    Raises:
        ConfigurationError: the database cannot be read.
    """
    with reading(engine) as connection:
        found = logged(connection, since)
    return digest_text(found, since=since, now=now)


def digest_text(found: Sequence[Logged], *, since: datetime, now: datetime) -> Digest | None:
    """Sum up what stands and what ended; of these what moved after `since`, to `now`."""
    new = [one for one in found if since < one.opened_at <= now]
    over = [one for one in found if one.mended_at is not None and since < one.mended_at <= now]
    changed = [one for one in found if one not in new and since < one.changed_at <= now]
    changed = [one for one in changed if one not in over]
    if not (new or changed or over):
        return None
    begun = [one for one in found if one.opened_at <= now]
    standing = [one for one in begun if one.mended_at is None or one.mended_at > now]
    parts = f"{len(new)} new, {len(changed)} changed, {len(over)} over, {len(standing)} open"
    lines = [
        f"From {instant(since)} to {instant(now)}: {parts}.",
        *_top(standing),
        *_listed("New", new, now),
        *_listed("Changed", changed, now),
        *_listed("Over", over, now),
    ]
    key = f"digest/{since:%Y%m%dT%H%M%S}-{now:%Y%m%dT%H%M%S}"
    title = f"gpubroker, {span(now - since)}: {parts}"
    return Digest(key=key, title=title, text="\n".join(lines) + "\n")


def _top(standing: Sequence[Logged]) -> Iterator[str]:
    """Name the three open things that are worth most a day, with what mends them."""
    dear = sorted(standing, key=lambda one: -_worth(one.alert))
    dear = [one for one in dear if _worth(one.alert) > 0][:_TOP]
    if not dear:
        return
    yield from ("", "Worth most, of what is open:")
    for number, one in enumerate(dear, start=1):
        alert = one.alert
        word = "could save" if alert.kind is AlertKind.BETTER_PLAN else "costs"
        yield f"{number}. {alert.title}: {word} {dollars(_worth(alert))} a day"
        yield f"   {alert.action}"


def _listed(heading: str, found: Sequence[Logged], now: datetime) -> Iterator[str]:
    if not found:
        return
    yield from ("", f"{heading}:")
    for one in found[:_MOST_LINES]:
        end = one.mended_at or now
        lasted = span(max(timedelta(0), end - one.alert.since))
        yield f"- {one.alert.title} ({lasted})"
    if len(found) > _MOST_LINES:
        yield f"- and {len(found) - _MOST_LINES} more: gpubroker alerts list --all"


def _worth(alert: Alert) -> Decimal:
    return alert.usd_per_day or Decimal(0)
