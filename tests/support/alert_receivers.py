"""Receivers of alerts on loopback that fail first, and alerts to send to them."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from broker.alerts.news import Event, Message, News, title_of
from broker.alerts.sink import DeliveryError
from broker.domain.alert import Alert, AlertKind

NIGHT = datetime(2026, 12, 2, 3, tzinfo=UTC)


@dataclass(frozen=True)
class Reply:
    """What a receiver answers; without a status it hangs up."""

    status: int | None = 200
    body: str = "ok"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Heard:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """Answers with its replies in turn, then with 200; it remembers what it heard."""

    url: str = ""
    replies: list[Reply] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)


@contextmanager
def receiver(replies: Sequence[Reply] = (), path: str = "/hook") -> Iterator[Receiver]:
    """Open a receiver on a free port."""
    state = Receiver(replies=list(replies))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.heard.append(Heard(self.path, dict(self.headers.items()), body))
            reply = state.replies.pop(0) if state.replies else Reply()
            if reply.status is None:
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in reply.headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body.encode())))
            self.end_headers()
            self.wfile.write(reply.body.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its signature
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}{path}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Listener:
    """A sink in memory: `down` is how often it fails before it listens, `final` how."""

    name: str = "listener"
    down: int = 0
    is_down: bool = True
    heard: list[Message] = field(default_factory=list)

    def deliver(self, message: Message) -> None:
        if self.down:
            self.down -= 1
            raise DeliveryError("nobody listens", hint="wait", is_down=self.is_down)
        self.heard.append(message)

    def preview(self, message: Message) -> str:
        return f"would hear {message.title}"

    @property
    def said(self) -> list[str]:
        """List what was heard: what became of it, and its subject and state."""
        return [
            f"{news.event} {news.alert.subject}: {news.alert.state}"
            for message in self.heard
            for news in message.news
        ]


def an_alert(
    subject: str = "chat",
    state: str = "near",
    kind: AlertKind = AlertKind.OBJECTIVE_AT_RISK,
    **more: object,
) -> Alert:
    """Make an alert; `more` changes fields of it."""
    alert = Alert(
        kind=kind,
        subject=subject,
        state=state,
        title=f"{subject} is {state}",
        since=NIGHT,
        usd_per_day=Decimal(12),
        facts=("first fact", "second fact"),
        action="gpubroker plan w.yaml",
        scope="w.yaml",
    )
    return alert.model_copy(update=more)


def a_message(*alerts: Alert, key: str = "k1", event: Event = Event.RAISED) -> Message:
    """Make a message of alerts."""
    news = tuple(News(event=event, alert=one) for one in alerts or (an_alert(),))
    return Message(key=key, made_at=NIGHT, title=title_of(news), news=news)
