"""A webhook of the user's own: signed JSON.

The signature is HMAC-SHA256 of "TIMESTAMP.BODY" with the shared secret, in hex, after `v1=`.
A receiver computes it anew, compares in constant time, refuses an old timestamp, and does nothing
for an `Idempotency-Key` that it has seen.
"""

import hashlib
import hmac
import time
from collections.abc import Callable
from typing import Literal

from pydantic import Field, SecretStr

from broker.alerts.news import Message, News
from broker.alerts.scrub import NO_SECRETS, Scrub, scrub_of
from broker.alerts.sinks.posting import Post, Poster
from broker.clock import Clock
from broker.domain.quantities import Frozen, Instant

TIMESTAMP = "X-Gpubroker-Timestamp"
SIGNATURE = "X-Gpubroker-Signature"
KEY = "Idempotency-Key"


class Body(Frozen):
    """What is posted; money is text, so that no reader rounds it."""

    schema_: Literal["gpubroker.alerts/1"] = Field(default="gpubroker.alerts/1", alias="schema")
    key: str
    made_at: Instant
    title: str
    news: tuple[News, ...]
    text: str


class Webhook:
    """Posts signed JSON to one address."""

    name = "webhook"

    def __init__(
        self,
        url: str,
        secret: SecretStr,
        *,
        clock: Clock,
        scrub: Scrub = NO_SECRETS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        own = Scrub((*scrub.forms, *scrub_of([secret, SecretStr(url)]).forms))
        self._poster = Poster(url, "the webhook", scrub=own, clock=clock, sleep=sleep)
        self._secret = secret
        self._clock = clock

    def deliver(self, message: Message) -> None:
        """Post a message, signed for the time of each attempt.

        Raises:
            DeliveryError: the receiver did not take it.
        """
        body = body_of(message)
        self._poster.post(lambda: self._post(message, body))

    def preview(self, message: Message) -> str:
        """Show what would be posted; the signature is made when it is sent."""
        return (
            f"POST to {self._poster.host}\n{KEY}: {message.key}\n{TIMESTAMP}: …\n"
            f"{SIGNATURE}: v1=…\n{body_of(message).decode()}\n"
        )

    def _post(self, message: Message, body: bytes) -> Post:
        timestamp = str(int(self._clock().timestamp()))
        signed = signature(self._secret.get_secret_value(), timestamp, body)
        return Post({KEY: message.key, TIMESTAMP: timestamp, SIGNATURE: signed}, body)


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Sign a body and the second at which it is sent."""
    text = f"{timestamp}.".encode() + body
    return "v1=" + hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()


def body_of(message: Message) -> bytes:
    """Write a message as JSON."""
    body = Body(
        key=message.key,
        made_at=message.made_at,
        title=message.title,
        news=message.news,
        text=message.text,
    )
    return body.model_dump_json(by_alias=True).encode()
