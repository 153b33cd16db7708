"""Posting to an address that is a secret itself, with retries, and errors that do not tell it.

The transport is used without httpx's client, which logs every address. An address names its host
in errors, nothing more. Redirects are not followed: a message goes where the user sent it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, version

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_exponential_jitter

from broker.alerts.phrases import one_line
from broker.alerts.scrub import Scrub
from broker.alerts.sink import DeliveryError
from broker.clock import Clock

ATTEMPTS = 4
LONGEST_WAIT_S = 60.0
"""A receiver that asks for a longer pause is asked again in the next run."""

_TIMEOUT_S = 10.0
_EXCERPT_BYTES = 2048
_TRIED_AGAIN = frozenset({408, 425, 429})
_GONE = frozenset({401, 403, 404, 410})
"""The address or the secret is wrong: no message will be taken there."""

_exponential_jitter_s = wait_exponential_jitter(initial=1, max=20, jitter=1)


@dataclass(frozen=True, slots=True)
class Post:
    """One request: headers and body, made anew for each attempt, as they may hold the time."""

    headers: dict[str, str]
    body: bytes


class Poster:
    """Posts to one address; `sleep` waits between two attempts, in seconds."""

    def __init__(
        self,
        url: str,
        who: str,
        *,
        scrub: Scrub,
        clock: Clock,
        sleep: Callable[[float], None] = time.sleep,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        self._url = httpx.URL(url)
        self._who = f"{who} ({self._url.host})"
        self._scrub = scrub
        self._clock = clock
        self._sleep = sleep
        self._timeout_s = timeout_s

    @property
    def host(self) -> str:
        """Name the host, the only part of the address that may be shown."""
        return self._url.host

    def post(self, make: Callable[[], Post]) -> None:
        """Post until it is taken, refused for good, or four attempts are spent.

        Raises:
            DeliveryError: it was not taken.
        """
        retrying = Retrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=_pause_s,
            retry=retry_if_exception_type(_PassingError),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            with httpx.HTTPTransport() as transport:
                retrying(self._attempt, transport, make)
        except _PassingError as error:
            raise error.outcome from None  # the cause may print the address

    def _attempt(self, transport: httpx.HTTPTransport, make: Callable[[], Post]) -> None:
        post = make()
        timeout = httpx.Timeout(self._timeout_s).as_dict()
        headers = {"User-Agent": _user_agent(), "Content-Type": "application/json", **post.headers}
        request = httpx.Request(
            "POST", self._url, headers=headers, content=post.body, extensions={"timeout": timeout}
        )
        try:
            reply = transport.handle_request(request)
            try:
                said = _start_of(reply)
            finally:
                reply.close()
        except httpx.TransportError as cause:
            kind = type(cause).__name__
            raise _PassingError(self._silent(kind)) from None
        if not reply.is_success:
            self._refuse(reply, said)

    def _refuse(self, reply: httpx.Response, said: bytes) -> None:
        passes = reply.status_code in _TRIED_AGAIN or reply.is_server_error
        text = one_line(self._scrub.text(said.decode("utf-8", errors="replace")))
        excerpt = f": {text}" if text else ""
        failure = DeliveryError(
            f"{self._who} answered {reply.status_code}{excerpt}",
            hint="it is sent again in the next run"
            if passes
            else "check the address and the secret in the settings: gpubroker alerts test",
            is_down=passes or reply.status_code in _GONE,
        )
        pause_s = _retry_after_s(reply, self._clock())
        if not passes or (pause_s is not None and pause_s > LONGEST_WAIT_S):
            raise failure
        raise _PassingError(failure, pause_s=pause_s)

    def _silent(self, kind: str) -> DeliveryError:
        return DeliveryError(
            f"{self._who} gave no answer ({kind})",
            hint="check the network and the address; it is sent again in the next run",
        )


class _PassingError(Exception):
    """A failure that may be gone at the next attempt; `outcome` is raised if it is not."""

    def __init__(self, outcome: DeliveryError, *, pause_s: float | None = None) -> None:
        super().__init__(str(outcome))
        self.outcome = outcome
        self.pause_s = pause_s


def _pause_s(state: RetryCallState) -> float:
    """Wait as long as the receiver asked, else longer with each attempt; in seconds."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, _PassingError) and error.pause_s is not None:
        return error.pause_s
    return _exponential_jitter_s(state)


def _start_of(reply: httpx.Response) -> bytes:
    """Read what was answered, to the size of an excerpt: nobody needs more of it."""
    body = b""
    for chunk in reply.iter_raw():
        body += chunk
        if len(body) >= _EXCERPT_BYTES:
            break
    return body[:_EXCERPT_BYTES]


def _retry_after_s(reply: httpx.Response, now: datetime) -> float | None:
    """Read how long to wait, in seconds or as an HTTP date, as seconds from now."""
    value = reply.headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())


def _user_agent() -> str:
    try:
        return f"gpubroker/{version('gpubroker')}"
    except PackageNotFoundError:  # a checkout that is not installed
        return "gpubroker"
