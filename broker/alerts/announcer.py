"""Tells each sink what it has not heard: into the outbox first, then out, then marked.

Where a process dies after a sink took a message and before that is marked, the message is sent
again by the next run: nobody can close that window from one side. It has the same key then, which
webhooks get as `Idempotency-Key` and mails as `Message-ID`; the file knows its keys itself, and
Slack knows none, so that there a message may be seen twice.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from uuid import uuid4

import structlog
from sqlalchemy import Engine

from broker.alerts import book
from broker.alerts.deciding import episodes, news_for
from broker.alerts.finding import Looked
from broker.alerts.news import Message, News, title_of
from broker.alerts.scrub import NO_SECRETS, Scrub
from broker.alerts.sink import DeliveryError, Sink
from broker.clock import Clock
from broker.domain.alert import Alert
from broker.store.database import reading, writing

_log = structlog.get_logger(__name__)


class Outcome(StrEnum):
    """What became of a message; what failed is kept for the next run."""

    DELIVERED = "delivered"
    FAILED = "failed"
    DRY_RUN = "dry_run"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message to a sink and what became of it; `preview` is what a dry run would have sent."""

    sink: str
    key: str
    title: str
    outcome: Outcome
    news: tuple[News, ...] = ()
    error: str = ""
    hint: str = ""
    preview: str = ""


class Announcer:
    """Tells sinks of alerts, each thing once. `scrub` keeps secrets out of all that is kept."""

    def __init__(
        self, engine: Engine, sinks: Sequence[Sink], clock: Clock, *, scrub: Scrub = NO_SECRETS
    ) -> None:
        self._engine = engine
        self._sinks = tuple(sinks)
        self._clock = clock
        self._scrub = scrub

    def tell(
        self,
        alerts: Iterable[Alert],
        *,
        now: datetime,
        dry_run: bool = False,
        looked: Looked | None = None,
    ) -> tuple[Delivery, ...]:
        """Tell what is new, what changed and what is over, and what earlier runs could not.

        An alert is over if it stood and is not among `alerts`, as far as was `looked` (without
        it: everywhere). A dry run neither sends nor writes anything.

        Raises:
            ConfigurationError: the database cannot be used.
        """
        clean = tuple(self._scrub.alert(alert) for alert in alerts)
        if dry_run:
            return self._shown(clean, looked, now)
        with writing(self._engine) as connection:
            before = book.standing(connection)
            stands, mended = episodes(before, clean, looked, now)
            stands = book.keep_episodes(connection, stands, mended, now)
            for sink in self._sinks:
                queue = book.waiting(connection, sink.name, self._clock())
                news, changed = news_for(sink.name, stands, mended, queue)
                book.change(connection, changed, now)
                if news:
                    book.put(connection, sink.name, _message(news, now))
        return self.flush()

    def send(self, title: str, text: str, *, key: str, now: datetime) -> tuple[Delivery, ...]:
        """Send a text to every sink, such as a digest; what has this key is sent once only.

        Raises:
            ConfigurationError: the database cannot be used.
        """
        title, text = self._scrub.text(title), self._scrub.text(text)
        with writing(self._engine) as connection:
            for sink in self._sinks:
                own_key = f"{key}/{sink.name}"
                if not book.has(connection, own_key):
                    message = Message(key=own_key, made_at=now, title=title, text=text)
                    book.put(connection, sink.name, message)
        return self.flush()

    def flush(self) -> tuple[Delivery, ...]:
        """Send all that waits, oldest first; where a sink is down, the rest of its queue waits on.

        Raises:
            ConfigurationError: the database cannot be used.
        """
        return tuple(delivery for sink in self._sinks for delivery in self._flush(sink))

    def _shown(
        self, alerts: Sequence[Alert], looked: Looked | None, now: datetime
    ) -> tuple[Delivery, ...]:
        found: list[Delivery] = []
        with reading(self._engine) as connection:
            stands, mended = episodes(book.standing(connection), alerts, looked, now)
            for sink in self._sinks:
                queue = book.waiting(connection, sink.name, self._clock())
                news, changed = news_for(sink.name, stands, mended, queue)
                instead = {one.id: one.message for one in changed}
                waiting = [instead.get(one.id, one.message) for one in queue]
                messages = [one for one in waiting if one.news or one.text]
                messages += [_message(news, now)] if news else []
                found += [self._previewed(sink, one) for one in messages]
        return tuple(found)

    def _flush(self, sink: Sink) -> list[Delivery]:
        with reading(self._engine) as connection:
            queue = book.waiting(connection, sink.name, self._clock())
        found: list[Delivery] = []
        for one in queue:
            with writing(self._engine) as connection:
                message = book.claim(connection, one.id, self._clock())
            if message is None:
                continue
            error = self._deliver(sink, one.id, message)
            found.append(_delivery(sink, message, error, self._scrub))
            if error is not None and error.is_down:
                break
        return found

    def _deliver(self, sink: Sink, number: int, message: Message) -> DeliveryError | None:
        """Send one message and write what became of it; an interruption lets it wait again."""
        try:
            sink.deliver(message)
        except DeliveryError as error:
            text = self._scrub.text(str(error))
            with writing(self._engine) as connection:
                book.failed(connection, number, text)
            _log.warning("alert_undelivered", sink=sink.name, key=message.key, error=text)
            return error
        except BaseException:  # Ctrl-C, SIGTERM, or a bug: whatever it is, the claim must not stay
            with writing(self._engine) as connection:
                book.release(connection, number)
            raise
        with writing(self._engine) as connection:
            book.delivered(connection, number, sink.name, message, at=self._clock())
        _log.info("alert_delivered", sink=sink.name, key=message.key, news=len(message.news))
        return None

    def _previewed(self, sink: Sink, message: Message) -> Delivery:
        one = Delivery(sink.name, message.key, message.title, Outcome.DRY_RUN, message.news)
        return replace(one, preview=self._scrub.text(sink.preview(message)))


def _message(news: tuple[News, ...], now: datetime) -> Message:
    return Message(key=uuid4().hex, made_at=now, title=title_of(news), news=news)


def _delivery(sink: Sink, message: Message, error: DeliveryError | None, scrub: Scrub) -> Delivery:
    outcome = Outcome.DELIVERED if error is None else Outcome.FAILED
    said = (scrub.text(str(error)), scrub.text(error.hint)) if error else ("", "")
    return Delivery(sink.name, message.key, message.title, outcome, message.news, *said)
