"""The door to alerts: sinks from the settings, nights, digests, a trial, what waits."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from ipaddress import ip_address
from typing import TypeVar
from urllib.parse import SplitResult, parse_qsl, urlsplit
from uuid import uuid4

import httpx
from pydantic import SecretStr
from sqlalchemy import Engine

from broker.alerts.announcer import Announcer, Delivery, Outcome
from broker.alerts.book import Logged, Queued, logged, queued
from broker.alerts.digest import digest_of
from broker.alerts.finding import alerts_of, looked_at
from broker.alerts.news import Event, Message, News, title_of
from broker.alerts.night import Night
from broker.alerts.scrub import Scrub, scrub_of
from broker.alerts.sink import DeliveryError, Sink
from broker.alerts.sinks.file import AlertFile
from broker.alerts.sinks.mail import Mail, MailServer
from broker.alerts.sinks.slack import Slack
from broker.alerts.sinks.webhook import Webhook
from broker.clock import Clock, system_clock
from broker.domain.alert import Alert, AlertKind
from broker.domain.errors import ConfigurationError
from broker.settings import Settings
from broker.store.database import open_store, reading

Sleep = Callable[[float], None]
_Value = TypeVar("_Value")
_MAIL_WORDS = {"smtp_host": "host", "mail_from": "sender", "mail_to": "recipient"}
_LONG_PART = 12
"""A shorter part of an address is a word, no secret."""


class AlertService:
    """Tells people; nothing is opened before a method needs it."""

    def __init__(self, settings: Settings, clock: Clock, *, sleep: Sleep = time.sleep) -> None:
        self.settings = settings
        self.clock = clock
        self._sleep = sleep

    @cached_property
    def sinks(self) -> tuple[Sink, ...]:
        """Make the sinks that the settings name.

        Raises:
            ConfigurationError: a sink's settings are not complete, or not safe.
        """
        return sinks_from(self.settings, self.clock, sleep=self._sleep)

    @cached_property
    def engine(self) -> Engine:
        """Open the database, once.

        Raises:
            ConfigurationError: it cannot be used.
        """
        return open_store(self.settings)

    def tell(self, night: Night, *, dry_run: bool = False) -> tuple[Delivery, ...]:
        """Tell what is worth telling of a night, each thing once; a dry run shows it instead.

        Raises:
            ConfigurationError: the database or a sink's settings cannot be used.
        """
        announcer, looked = self._announcer(), looked_at(night)
        return announcer.tell(alerts_of(night), now=night.now, dry_run=dry_run, looked=looked)

    def digest(
        self, since: datetime, *, until: datetime | None = None, dry_run: bool = False
    ) -> tuple[Delivery, ...]:
        """Send what moved since an instant, once for each such time; nothing if all was quiet.

        Raises:
            ConfigurationError: the database or a sink's settings cannot be used.
        """
        now = until or self.clock()
        digest = digest_of(self.engine, since=since, now=now)
        if digest is None:
            return ()
        if not dry_run:
            return self._announcer().send(digest.title, digest.text, key=digest.key, now=now)
        message = Message(key=digest.key, made_at=now, title=digest.title, text=digest.text)
        return tuple(_shown(sink, message) for sink in self.sinks)

    def test(self, *, dry_run: bool = False) -> tuple[Delivery, ...]:
        """Send a sample through each sink at once, or show it; nothing of it is kept.

        Raises:
            ConfigurationError: a sink's settings are not complete, or not safe.
        """
        now = self.clock()
        news = (News(event=Event.RAISED, alert=_sample(now)),)
        message = Message(key=uuid4().hex, made_at=now, title=title_of(news), news=news)
        send = _shown if dry_run else _tried
        return tuple(send(sink, message) for sink in self.sinks)

    def flush(self) -> tuple[Delivery, ...]:
        """Send all that waits.

        Raises:
            ConfigurationError: the database or a sink's settings cannot be used.
        """
        return self._announcer().flush()

    def listed(self, *, ended: bool = False) -> tuple[Logged, ...]:
        """List the alerts that stand, and those that are over where `ended` asks for them."""
        with reading(self.engine) as connection:
            found = logged(connection)
        return tuple(one for one in found if ended or one.mended_at is None)

    def queue(self) -> tuple[Queued, ...]:
        """List the messages that wait to be sent."""
        with reading(self.engine) as connection:
            return queued(connection)

    def _announcer(self) -> Announcer:
        scrub = scrub_from(self.settings)
        return Announcer(self.engine, self.sinks, self.clock, scrub=scrub)


def open_alerts(settings: Settings, clock: Clock = system_clock) -> AlertService:
    """Make the service; it opens what it needs when it needs it."""
    return AlertService(settings, clock)


def scrub_from(settings: Settings) -> Scrub:
    """Gather every secret of the settings, to be kept out of what is told."""
    database = settings.database
    own = (settings.slack_webhook_url, settings.webhook_secret, settings.smtp_password)
    place = _split(database.get_secret_value()) if database else None
    password = place.password if place else None
    parts = (*_telling_parts(settings.webhook_url or ""), *([password] if password else []))
    return scrub_of([*settings.keys.values(), *own, *map(SecretStr, parts)])


def _telling_parts(url: str) -> Iterator[str]:
    """Give what of a webhook's address may be a secret: long parts of its path, and its query."""
    parts = _split(url)
    if parts is None:
        return
    yield from (part for part in parts.path.split("/") if len(part) >= _LONG_PART)
    yield from (value for _, value in parse_qsl(parts.query))
    if parts.password:
        yield parts.password


def sinks_from(settings: Settings, clock: Clock, *, sleep: Sleep = time.sleep) -> tuple[Sink, ...]:
    """Make the sinks that the settings name, in a fixed order.

    Raises:
        ConfigurationError: a sink's settings are not complete, or not safe.
    """
    scrub = scrub_from(settings)
    sinks: list[Sink] = []
    if settings.alert_file is not None:
        sinks.append(AlertFile(settings.alert_file))
    if settings.slack_webhook_url is not None:
        url = settings.slack_webhook_url
        _check_address("slack_webhook_url", url.get_secret_value(), needs_tls=True)
        sinks.append(Slack(url, clock=clock, scrub=scrub, sleep=sleep))
    if settings.webhook_url is not None:
        _check_address("webhook_url", settings.webhook_url, needs_tls=False)
        secret = _needed(settings.webhook_secret, "webhook_secret", "webhook_url")
        sinks.append(Webhook(settings.webhook_url, secret, clock=clock, scrub=scrub, sleep=sleep))
    if settings.smtp_host is not None:
        sinks.append(_mail(settings, settings.smtp_host, scrub, sleep))
    return tuple(sinks)


def _mail(settings: Settings, host: str, scrub: Scrub, sleep: Sleep) -> Mail:
    sender = _needed(settings.mail_from, "mail_from", "smtp_host")
    to = _needed(settings.mail_to or None, "mail_to", "smtp_host")
    _check_mail(host, sender, to)
    user, password = settings.smtp_user, settings.smtp_password
    if user is not None:
        password = _needed(password, "smtp_password", "smtp_user")
    if password is not None and not settings.smtp_starttls and not _is_loopback(host):
        raise ConfigurationError(
            "GPUBROKER_SMTP_STARTTLS is off: the password of the mail server would be readable",
            hint="leave it on, or set no GPUBROKER_SMTP_USER and GPUBROKER_SMTP_PASSWORD",
        )
    starttls, port = settings.smtp_starttls, settings.smtp_port
    server = MailServer(host, port, user=user, password=password, starttls=starttls)
    return Mail(server, sender, to, scrub=scrub, sleep=sleep)


def _needed(value: _Value | None, name: str, because: str) -> _Value:
    if value is None:
        raise ConfigurationError(
            f"GPUBROKER_{because.upper()} is set, and GPUBROKER_{name.upper()} is not",
            hint=f"set GPUBROKER_{name.upper()}, or unset GPUBROKER_{because.upper()}",
        )
    return value


def _check_address(name: str, url: str, *, needs_tls: bool) -> None:
    """Refuse an address that nothing can be posted to, or a secret one that others could read."""
    parts = _split(url)
    host = (parts.hostname if parts else None) or ""
    schemes = ("https",) if needs_tls and not _is_loopback(host) else ("https", "http")
    if parts is None or parts.scheme not in schemes or not (_is_host(host) and _is_line(url)):
        raise ConfigurationError(
            f"GPUBROKER_{name.upper()} is no {'https' if needs_tls else 'http or https'} address",
            hint="copy the whole address, with https:// at its start and no line break",
        )


def _check_mail(host: str, sender: str, to: Sequence[str]) -> None:
    """Refuse what no header of a mail takes, and a host that no name server knows."""
    named = [("smtp_host", host), ("mail_from", sender), *(("mail_to", one) for one in to)]
    for name, value in named:
        if not (value.strip() and _is_line(value)) or (name == "smtp_host" and not _is_host(value)):
            raise ConfigurationError(
                f"GPUBROKER_{name.upper()}: {value!r} is no {_MAIL_WORDS[name]}",
                hint="write it without a line break",
            )


def _split(url: str) -> SplitResult | None:
    """Take an address apart; None where that cannot be done."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # which may be none
    except ValueError:
        return None
    return parts


def _is_line(text: str) -> bool:
    return text.isprintable()


def _is_host(name: str) -> bool:
    """Tell whether a name, or an address of IPv4 or IPv6, may be asked for."""
    try:
        return bool(name.encode("idna") and httpx.URL(scheme="https", host=name).host)
    except (UnicodeError, httpx.InvalidURL):
        return False


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _tried(sink: Sink, message: Message) -> Delivery:
    one = Delivery(sink.name, message.key, message.title, Outcome.DELIVERED, message.news)
    try:
        sink.deliver(message)
    except DeliveryError as error:
        return replace(one, outcome=Outcome.FAILED, error=str(error), hint=error.hint)
    return one


def _shown(sink: Sink, message: Message) -> Delivery:
    one = Delivery(sink.name, message.key, message.title, Outcome.DRY_RUN, message.news)
    return replace(one, preview=sink.preview(message))


def _sample(now: datetime) -> Alert:
    return Alert(
        kind=AlertKind.BETTER_PLAN,
        subject="sample",
        state="sample",
        title="A sample: this is how gpubroker tells of a better plan",
        since=now - timedelta(hours=1),
        usd_per_day=Decimal("123.45"),
        facts=("1. nothing is to be done: a person asked for this message",),
        action="gpubroker alerts list",
    )
