import shutil
import smtplib
import ssl
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import default
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session
from alert_receivers import a_message, an_alert
from pydantic import SecretStr

from broker.alerts.news import Event, Message
from broker.alerts.sink import DeliveryError
from broker.alerts.sinks.mail import Mail, MailServer, mail_of

pytestmark = [pytest.mark.local_server, pytest.mark.allow_hosts(["127.0.0.1"])]

PASSWORD = SecretStr("canary-of-the-mail-server")
TO = ("ann@example.org", "bob@example.org")
Sleep = Callable[[float], None]


@dataclass
class Mailbox:
    """A mail server's mind: what it answers to each mail in turn, then 250."""

    replies: list[str] = field(default_factory=list)
    refused: tuple[str, ...] = ()
    mails: list[bytes] = field(default_factory=list)
    logins: list[bytes] = field(default_factory=list)
    tries: int = 0

    async def handle_RCPT(  # noqa: N802, PLR0917 - the library's signature
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        del server, session, options
        if address in self.refused:
            return "550 nobody here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802 - the library's name
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        del server, session
        self.tries += 1
        reply = self.replies.pop(0) if self.replies else "250 OK"
        if reply.startswith("250"):
            assert isinstance(envelope.content, bytes)
            self.mails.append(envelope.content)
        return reply


class OnFreePort(Controller):
    """Learns which port it got before it knocks at it."""

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@contextmanager
def mail_server(
    replies: Sequence[str] = (), refused: tuple[str, ...] = (), tls: ssl.SSLContext | None = None
) -> Iterator[tuple[Mailbox, int]]:
    """Open a mail server on a free port of loopback; with TLS it asks for it, and for a login."""
    box = Mailbox(list(replies), refused)

    def login(  # noqa: PLR0917 - the library's signature
        server: SMTP, session: Session, envelope: Envelope, mechanism: str, auth_data: object
    ) -> AuthResult:
        del server, session, envelope, mechanism
        password = getattr(auth_data, "password", b"")
        box.logins.append(password)
        is_right = password == PASSWORD.get_secret_value().encode()
        return AuthResult(success=is_right, handled=False)

    needs = {
        "tls_context": tls,
        "require_starttls": True,
        "auth_required": True,
        "authenticator": login,
    }
    controller = OnFreePort(box, hostname="127.0.0.1", port=0, **(needs if tls else {}))
    controller.start()
    try:
        yield box, controller.port
    finally:
        controller.stop()


def mail(port: int, sleep: Sleep, **more: object) -> Mail:
    fields: dict[str, object] = {"starttls": False, **more}
    server = MailServer("127.0.0.1", port, **fields)
    return Mail(server, "gpubroker <broker@example.org>", TO, sleep=sleep)


def test_a_server_that_fails_first_takes_the_mail_in_the_end(
    sleep: Sleep, pauses: list[float]
) -> None:
    with mail_server(["451 greylisted", "421 busy"]) as (box, port):
        mail(port, sleep).deliver(a_message(an_alert(title="a < b")))
    assert (box.tries, len(pauses)) == (3, 2)
    (content,) = box.mails
    got = message_from_bytes(content, policy=default)
    assert got["Subject"] == "[gpubroker] a < b"
    assert got["To"] == "ann@example.org, bob@example.org"
    assert got["Message-ID"] == "<k1@example.org>"
    assert got["Auto-Submitted"] == "auto-generated"
    text, html = (got.get_body((kind,)) for kind in ("plain", "html"))
    assert text is not None
    assert html is not None
    assert text.get_content().replace("\r", "") == (
        "a < b\n"
        "  since 2026-12-02 03:00 UTC\n"
        "  costs $12.00 a day\n"
        "  in w.yaml\n"
        "  first fact\n"
        "  second fact\n"
        "  to mend it: gpubroker plan w.yaml\n"
    )
    assert "<h3>a &lt; b</h3>" in html.get_content()
    assert "<pre>gpubroker plan w.yaml</pre>" in html.get_content()


def test_a_server_that_stays_down_and_a_refusal_are_told_apart(sleep: Sleep) -> None:
    with mail_server(["451 later"] * 4 + ["554 spam"]) as (box, port):
        sink = mail(port, sleep)
        with pytest.raises(DeliveryError, match="answered 451: later") as down:
            sink.deliver(a_message())
        with pytest.raises(DeliveryError, match="answered 554: spam") as refused:
            sink.deliver(a_message())
    assert box.tries == 5
    assert (down.value.is_down, refused.value.is_down) == (True, False)
    with pytest.raises(DeliveryError, match="gave no answer"):
        sink.deliver(a_message())


def test_one_recipient_that_is_refused_keeps_nobody_else_waiting(sleep: Sleep) -> None:
    with mail_server(refused=("bob@example.org",)) as (box, port):
        mail(port, sleep).deliver(a_message())
        assert len(box.mails) == 1
    with mail_server(refused=TO) as (box, port), pytest.raises(DeliveryError, match="550"):
        mail(port, sleep).deliver(a_message())


def test_a_server_that_does_not_part_well_has_the_mail(
    sleep: Sleep, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang_up(server: smtplib.SMTP) -> None:
        raise smtplib.SMTPServerDisconnected(server.local_hostname)

    monkeypatch.setattr(smtplib.SMTP, "quit", hang_up)
    with mail_server() as (box, port):
        mail(port, sleep).deliver(a_message())
    assert box.tries == 1


def test_no_password_and_no_mail_goes_where_there_is_no_tls(sleep: Sleep) -> None:
    with (
        mail_server() as (box, port),
        pytest.raises(DeliveryError, match="does not offer STARTTLS"),
    ):
        mail(port, sleep, starttls=True, user="u", password=PASSWORD).deliver(a_message())
    assert box.mails == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(  # noqa: S603 - the arguments are those above
        [openssl, *words.split(), *names], check=True, capture_output=True
    )
    return cert, key


def test_over_tls_it_logs_in_and_a_wrong_password_is_not_repeated(
    certificate: tuple[Path, Path], sleep: Sleep
) -> None:
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(*certificate)
    believed = ssl.create_default_context(cafile=certificate[0])
    safe = {"starttls": True, "user": "u", "context": believed}
    with mail_server(tls=served) as (box, port):
        mail(port, sleep, password=PASSWORD, **safe).deliver(a_message())
        assert (len(box.mails), box.logins) == (1, [PASSWORD.get_secret_value().encode()])
        wrong = SecretStr("canary-that-is-wrong")
        with pytest.raises(DeliveryError, match="answered 535") as caught:
            mail(port, sleep, password=wrong, **safe).deliver(a_message())
        assert "canary" not in f"{caught.value!r} {caught.value.hint}"
        assert wrong.get_secret_value().encode() in box.logins
        strange = mail(port, sleep, password=PASSWORD, starttls=True, user="u")
        with pytest.raises(DeliveryError, match="no certificate that is believed"):
            strange.deliver(a_message())


def test_a_digest_and_a_title_with_line_breaks_make_a_whole_mail() -> None:
    message = Message(
        key="digest/a/mail", made_at=a_message().made_at, title="one\r\nBcc: x@y", text="<b>\n"
    )
    got = message_from_bytes(mail_of(message, "a@b.c", TO).as_bytes(), policy=default)
    assert got["Subject"] == "[gpubroker] one Bcc: x@y"
    assert got["Bcc"] is None
    assert got["Message-ID"] == "<digest.a.mail@b.c>"
    html = got.get_body(("html",))
    assert html is not None
    assert "<pre>&lt;b&gt;" in html.get_content()


def test_what_is_over_has_nothing_to_mend() -> None:
    over = a_message(event=Event.MENDED)
    body = mail_of(over, "a@b.c", TO).get_body(("plain",))
    assert body is not None
    assert body.get_content().split("\n")[:2] == [
        "Mended: chat is near",
        "  since 2026-12-02 03:00 UTC",
    ]
