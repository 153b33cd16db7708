"""What is sent: alerts that are new, that changed, or that are over; or a digest of a time."""

from enum import StrEnum

from broker.alerts.phrases import dollars, instant
from broker.domain.alert import Alert, AlertKind
from broker.domain.quantities import Frozen, Instant

NOTED_WHEN_MENDED = frozenset(
    {
        AlertKind.NIGHT_FAILED,
        AlertKind.DEADLINE_AT_RISK,
        AlertKind.OBJECTIVE_AT_RISK,
        AlertKind.PROVIDER_FAILING,
        AlertKind.PROVIDER_STALE,
    }
)
"""Kinds whose end is told: somebody may be at work on them. The others end by being acted on, or
by the next day's catalog; a digest has them all."""

TOLD_THOUGH_OVER = frozenset({AlertKind.BETTER_PLAN})
"""Kinds that a sink hears of though they were over before it could be reached: a plan that was
taken is in force from then on, and somebody is to buy by it."""


class Event(StrEnum):
    """What became of an alert."""

    RAISED = "raised"
    CHANGED = "changed"
    MENDED = "mended"


class News(Frozen):
    """An alert, and what became of it. `episode` is one number from its first word to its end."""

    event: Event
    alert: Alert
    episode: int = 0


class Message(Frozen):
    """What goes to one sink at once. `key` is the same however often it is sent.

    A digest has its `text`; other messages have `news`.
    """

    key: str
    made_at: Instant
    title: str
    news: tuple[News, ...] = ()
    text: str = ""


def title_of(news: tuple[News, ...]) -> str:
    """Say in one line what a message is about: the first alert, and how many more there are."""
    first = news[0]
    more = f" (and {len(news) - 1} more)" if len(news) > 1 else ""
    return f"{heading(first)}{more}"


def heading(news: News) -> str:
    """Write the heading of one alert; one that is over says so."""
    before = {Event.RAISED: "", Event.CHANGED: "Changed: ", Event.MENDED: "Mended: "}
    return f"{before[news.event]}{news.alert.title}"


def details(news: News) -> tuple[str, ...]:
    """List what is told under the heading: since when, what it costs a day, the facts."""
    alert = news.alert
    lines = [f"since {instant(alert.since)}"]
    if news.event is Event.MENDED:
        return tuple(lines)
    if alert.usd_per_day is not None:
        word = "could save" if alert.kind is AlertKind.BETTER_PLAN else "costs"
        lines.append(f"{word} {dollars(alert.usd_per_day)} a day")
    if alert.scope and alert.scope != alert.subject:
        lines.append(f"in {alert.scope}")
    return (*lines, *alert.facts)


def plain_text(message: Message) -> str:
    """Write a message as text, as a mail or a terminal shows it."""
    if message.text:
        return message.text
    return "\n\n".join(_plain(one) for one in message.news) + "\n"


def _plain(news: News) -> str:
    lines = [heading(news), *(f"  {line}" for line in details(news))]
    if news.event is not Event.MENDED:
        lines.append(f"  to mend it: {news.alert.action}")
    return "\n".join(lines)
