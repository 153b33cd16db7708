"""What to tell whom: tonight's alerts against those that stand and what each sink heard of them.

Nothing here touches a database, so a dry run decides as a real one does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from broker.alerts.finding import Looked
from broker.alerts.news import (
    NOTED_WHEN_MENDED,
    TOLD_THOUGH_OVER,
    Event,
    Message,
    News,
    title_of,
)
from broker.domain.alert import Alert, AlertKind

Key = tuple[AlertKind, str, str]
"""What says whether two alerts are about the same thing: kind, scope, subject."""


@dataclass(frozen=True, slots=True)
class Episode:
    """An alert that stands, since it was first found; `told` is the state each sink heard last.

    One that is not in the database yet has the id 0.
    """

    alert: Alert
    opened_at: datetime
    changed_at: datetime
    id: int = 0
    told: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that has not arrived yet; its sink may be hearing it now if it is claimed."""

    id: int
    message: Message
    is_claimed: bool = False


def episodes(
    before: Sequence[Episode], alerts: Iterable[Alert], looked: Looked | None, now: datetime
) -> tuple[tuple[Episode, ...], tuple[Episode, ...]]:
    """Go on with what stood, begin what is new, and set apart what is over.

    Without `looked` the alerts are all that there is: what is absent is over.
    """
    tonight: dict[Key, Alert] = {}
    for alert in alerts:
        tonight.setdefault(_key(alert), alert)
    stood = {_key(one.alert): one for one in before}
    found = [_gone_on(stood.get(key), alert, now) for key, alert in tonight.items()]
    absent = [one for key, one in stood.items() if key not in tonight]
    over = [one for one in absent if looked is None or looked.covers(one.alert)]
    return (*found, *(one for one in absent if one not in over)), tuple(over)


def news_for(
    sink: str,
    standing: Iterable[Episode],
    mended: Iterable[Episode],
    waiting: Sequence[Waiting],
) -> tuple[tuple[News, ...], tuple[Waiting, ...]]:
    """Say what one sink is to be told, and which waiting messages to that sink are changed by it.

    What waits and is no longer so is taken out of its message: nobody hears of what came and went
    while a sink was down, but of a plan that was taken.
    """
    queue = {one.id: one for one in waiting}
    news = [*_of_standing(sink, standing, queue), *_of_mended(sink, mended, queue)]
    before = {one.id: one for one in waiting}
    return tuple(news), tuple(one for number, one in queue.items() if one != before[number])


def _key(alert: Alert) -> Key:
    return alert.kind, alert.scope, alert.subject


def _gone_on(before: Episode | None, alert: Alert, now: datetime) -> Episode:
    if before is None:
        return Episode(alert, opened_at=now, changed_at=now)
    since = min(before.alert.since, alert.since)
    changed_at = before.changed_at if before.alert.state == alert.state else now
    return replace(before, alert=alert.model_copy(update={"since": since}), changed_at=changed_at)


def _of_standing(
    sink: str, standing: Iterable[Episode], queue: dict[int, Waiting]
) -> Iterator[News]:
    for one in standing:
        state = one.alert.state
        coming = [news for each in queue.values() for news in _about(each, one)]
        if any(news.alert.state == state for news in coming):
            continue
        _withdraw(one, queue)
        heard = [*filter(None, [one.told.get(sink)]), *_claimed_states(one, queue)]
        if not heard:
            yield News(event=Event.RAISED, alert=one.alert, episode=one.id)
        elif heard[-1] != state:
            yield News(event=Event.CHANGED, alert=one.alert, episode=one.id)


def _of_mended(sink: str, mended: Iterable[Episode], queue: dict[int, Waiting]) -> Iterator[News]:
    for one in mended:
        if one.alert.kind in TOLD_THOUGH_OVER:
            continue
        _withdraw(one, queue)
        was_told = sink in one.told or _claimed_states(one, queue)
        if was_told and one.alert.kind in NOTED_WHEN_MENDED:
            yield News(event=Event.MENDED, alert=one.alert, episode=one.id)


def _about(waiting: Waiting, episode: Episode) -> Sequence[News]:
    return [news for news in waiting.message.news if episode.id and news.episode == episode.id]


def _claimed_states(episode: Episode, queue: Mapping[int, Waiting]) -> Sequence[str]:
    """List the states that the sink is hearing of now: what is claimed is not withdrawn."""
    return [news.alert.state for one in queue.values() for news in _about(one, episode)]


def _withdraw(episode: Episode, queue: dict[int, Waiting]) -> None:
    """Take what is said of an episode out of all that waits and nobody is sending."""
    for number, one in queue.items():
        out = _about(one, episode)
        if out and not one.is_claimed:
            rest = tuple(news for news in one.message.news if news not in out)
            title = title_of(rest) if rest else one.message.title
            message = one.message.model_copy(update={"news": rest, "title": title})
            queue[number] = replace(one, message=message)
