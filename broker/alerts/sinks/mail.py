"""E-mail by SMTP: plain text and simple HTML, over STARTTLS, or TLS from the start on port 465.

The message's key is in its `Message-ID`, by which mail programs know two copies for one. A server
that does not offer STARTTLS gets nothing: there is no falling back to plain text.
"""

import smtplib
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from html import escape

import structlog
from pydantic import SecretStr
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_exponential_jitter

from broker.alerts.news import Event, Message, News, details, heading, plain_text
from broker.alerts.phrases import one_line
from broker.alerts.scrub import NO_SECRETS, Scrub, scrub_of
from broker.alerts.sink import DeliveryError

ATTEMPTS = 4
_TIMEOUT_S = 20.0
_TLS_PORT = 465
_REFUSED = 500
"""Replies from here on are for good; those below pass."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mail is handed over. `context` says which certificates are believed."""

    host: str
    port: int = 587
    user: str | None = None
    password: SecretStr | None = None
    starttls: bool = True
    context: ssl.SSLContext | None = None


class Mail:
    """Mails every message to the same people; `sleep` waits between two attempts, in seconds."""

    name = "mail"

    def __init__(
        self,
        server: MailServer,
        sender: str,
        to: Sequence[str],
        *,
        scrub: Scrub = NO_SECRETS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._server = server
        self._sender = sender
        self._to = tuple(to)
        self._scrub = Scrub((*scrub.forms, *scrub_of([server.password]).forms))
        self._sleep = sleep

    def deliver(self, message: Message) -> None:
        """Hand a message over to the mail server.

        Raises:
            DeliveryError: the server did not take it.
        """
        mail = mail_of(message, self._sender, self._to)
        retrying = Retrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_exponential_jitter(initial=1, max=20, jitter=1),
            retry=retry_if_exception_type(_PassingError),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            retrying(self._attempt, mail)
        except _PassingError as error:
            raise error.outcome from None  # the cause may repeat what was sent

    def preview(self, message: Message) -> str:
        """Show the mail that would be sent."""
        mail = mail_of(message, self._sender, self._to)
        return f"SMTP to {self._server.host}:{self._server.port}\n{mail.as_string()}\n"

    def _attempt(self, mail: EmailMessage) -> None:
        try:
            refused = self._send(mail)
        except smtplib.SMTPRecipientsRefused as cause:
            code, said = next(iter(cause.recipients.values()))
            self._fail(code, said)
        except smtplib.SMTPResponseException as cause:
            self._fail(cause.smtp_code, cause.smtp_error)
        except smtplib.SMTPNotSupportedError:
            text = f"{self._server.host} does not offer STARTTLS"
            hint = "use a port that does, or allow plain text: GPUBROKER_SMTP_STARTTLS=false"
            raise DeliveryError(text, hint=hint) from None
        except ssl.SSLError as cause:
            text = f"{self._server.host} has no certificate that is believed ({cause.reason})"
            raise DeliveryError(text, hint="check the name of the server in smtp_host") from None
        except (OSError, smtplib.SMTPException) as cause:
            raise _PassingError(self._silent(type(cause).__name__)) from None
        else:
            if refused:  # the others have it: sending it again would tell them twice
                _log.warning("recipients_refused", sink=self.name, recipients=len(refused))

    def _send(self, mail: EmailMessage) -> Mapping[str, object]:
        """Hand a mail over, and give the recipients that the server refused among others."""
        smtp = self._connected()
        try:
            return smtp.send_message(mail)
        finally:
            with suppress(OSError, smtplib.SMTPException):  # what was taken is taken
                smtp.quit()
            smtp.close()

    def _connected(self) -> smtplib.SMTP:
        """Open a connection that mail may be handed over on."""
        server = self._server
        context = server.context or ssl.create_default_context()
        if server.port == _TLS_PORT:
            smtp: smtplib.SMTP = smtplib.SMTP_SSL(
                server.host, server.port, timeout=_TIMEOUT_S, context=context
            )
        else:
            smtp = smtplib.SMTP(server.host, server.port, timeout=_TIMEOUT_S)
        try:
            if server.starttls and server.port != _TLS_PORT:
                smtp.starttls(context=context)
            if server.user is not None and server.password is not None:
                smtp.login(server.user, server.password.get_secret_value())
        except (OSError, smtplib.SMTPException):
            smtp.close()
            raise
        return smtp

    def _fail(self, code: int, said: bytes | str) -> None:
        text = said.decode("utf-8", errors="replace") if isinstance(said, bytes) else said
        passes = code < _REFUSED
        outcome = DeliveryError(
            f"{self._server.host} answered {code}: {one_line(self._scrub.text(text))}",
            hint="it is sent again in the next run"
            if passes
            else "check smtp_user, smtp_password, mail_from and mail_to in the settings",
            is_down=passes,
        )
        if passes:
            raise _PassingError(outcome) from None
        raise outcome from None

    def _silent(self, kind: str) -> DeliveryError:
        return DeliveryError(
            f"{self._server.host}:{self._server.port} gave no answer ({kind})",
            hint="check smtp_host and smtp_port; it is sent again in the next run",
        )


class _PassingError(Exception):
    """A failure that may be gone at the next attempt; `outcome` is raised if it is not."""

    def __init__(self, outcome: DeliveryError) -> None:
        super().__init__(str(outcome))
        self.outcome = outcome


def mail_of(message: Message, sender: str, to: Sequence[str]) -> EmailMessage:
    """Write a message as a mail."""
    mail = EmailMessage(policy=SMTP)
    domain = sender.rpartition("@")[2].strip(" >") or "localhost"
    mail["From"] = sender
    mail["To"] = ", ".join(to)
    mail["Subject"] = f"[gpubroker] {one_line(message.title)}"
    mail["Date"] = format_datetime(message.made_at)
    mail["Message-ID"] = f"<{message.key.replace('/', '.')}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"  # keeps absence notes from answering (RFC 3834)
    mail.set_content(plain_text(message))
    mail.add_alternative(_html(message), subtype="html")
    return mail


def _html(message: Message) -> str:
    body = f"<pre>{escape(message.text)}</pre>" if message.text else _sections(message.news)
    return f"<html><body>{body}</body></html>\n"


def _sections(news: Sequence[News]) -> str:
    return "\n".join(_section(one) for one in news)


def _section(news: News) -> str:
    facts = "".join(f"<li>{escape(line)}</li>" for line in details(news))
    action = ""
    if news.event is not Event.MENDED:
        action = f"<p>To mend it:</p><pre>{escape(news.alert.action)}</pre>"
    return f"<h3>{escape(heading(news))}</h3><ul>{facts}</ul>{action}"
