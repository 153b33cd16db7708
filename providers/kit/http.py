"""The HTTP client that adapters talk through: timeouts, status checks, retries, stamps.

An adapter sees good replies only. What stays wrong after four attempts is a `ProviderError`
that names the host and the status, and never a key.

Every request that an adapter sends is a question, a POST too, so each may be sent again.
Replies of up to 8 MiB are read and unpacked inside an attempt, so one that breaks off in the middle
or is not packed as it says is tried again; a longer reply is handed on as it comes.
"""

import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import chain

import httpx
import structlog
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_exponential_jitter

from broker.clock import Clock
from broker.domain.errors import ProviderError
from broker.domain.offer import Evidence
from providers.kit.adapter import PASSING_STATUSES, stamp
from providers.kit.network import Network
from providers.kit.secrets import Secrets

ATTEMPTS = 4
LONGEST_WAIT_S = 60.0
"""A provider that asks for a longer pause is not tried again in this refresh."""

_EAGER_BYTES = 8 * 2**20
_EXCERPT_CHARACTERS = 200
_EXCERPT_BYTES = 4096
_TRIED_AGAIN = frozenset({408, 429})
_RETRY_AFTER = ("Retry-After", "x-ms-ratelimit-retailPrices-retry-after")
"""Headers that say how long to wait; Azure's price list has one of its own, in seconds."""
_SECRET_HEADERS = (
    "authorization",
    "cookie",
    "x-api-key",
    "x-goog-api-key",
    "api-key",
    "api_key",
    "x-auth-token",
    "x-apitoken",
)
_SECRET_PARAMETERS = ("api_key", "key", "token", "access_token")
_OF_A_KEY = re.compile(r"\bAPI key (?:not valid|expired)\b")
"""What Google says of a wrong key, with the status 400."""

_NO_SECRETS = Secrets()

_log = structlog.get_logger(__name__)


def live_client(
    clock: Clock,
    *,
    timeout_s: float = 30,
    transport: httpx.BaseTransport | None = None,
    sleep: Callable[[float], None] = time.sleep,
    secrets: Secrets = _NO_SECRETS,
) -> httpx.Client:
    """Open a client on the network whose replies are checked, retried and stamped as live.

    `timeout_s` bounds each wait for the other side (connect, read, write), in seconds.
    `transport` is what sends in the end (the network, through the proxies of the environment);
    `sleep` waits between two attempts. `secrets` are kept out
    of errors and logs, whatever a provider answers.
    """
    inner = transport or Network()
    return httpx.Client(
        transport=RetryingTransport(inner, clock=clock, sleep=sleep, secrets=secrets),
        timeout=timeout_s,
        headers={"User-Agent": user_agent()},
    )


def check_status(reply: httpx.Response, request: httpx.Request) -> None:
    """Let a 2xx reply pass.

    Raises:
        ProviderError: the reply has any other status; its body is excerpted, keys blotted out.
    """
    if not reply.is_success:
        raise _status_error(reply, request, _NO_SECRETS)


class RetryingTransport(httpx.BaseTransport):
    """Send through `inner`, up to four times; stamp what comes back."""

    def __init__(
        self,
        inner: httpx.BaseTransport,
        *,
        clock: Clock,
        sleep: Callable[[float], None] = time.sleep,
        secrets: Secrets = _NO_SECRETS,
    ) -> None:
        self._inner = inner
        self._clock = clock
        self._sleep = sleep
        self._secrets = secrets

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send until a reply is good, a failure is final, or four attempts are spent.

        Raises:
            ProviderError: there is no good reply.
        """
        request.read()  # so that a body can be sent again
        retrying = Retrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=_pause_s,
            retry=retry_if_exception_type(_PassingError),
            before_sleep=_log_retry,
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return retrying(self._attempt, request)
        except _PassingError as error:
            raise error.outcome from error.__cause__

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()

    def _attempt(self, request: httpx.Request) -> httpx.Response:
        try:
            reply = self._inner.handle_request(request)
            if reply.is_success:
                _read_ahead(reply, request)
        except (httpx.TransportError, httpx.DecodingError) as cause:
            failure = self._secrets.blotted(_no_reply(cause, request))
            raise _PassingError(failure) from cause
        if reply.is_success:
            stamp(reply, observed_at=self._clock(), evidence=Evidence.LIVE)
            return reply
        failure = _status_error(reply, request, self._secrets)
        pause_s = _retry_after_s(reply, self._clock())
        passing = _TRIED_AGAIN | request.extensions.get(PASSING_STATUSES, frozenset())
        if not (reply.status_code in passing or reply.is_server_error):
            raise failure
        if pause_s is not None and pause_s > LONGEST_WAIT_S:
            raise failure
        raise _PassingError(failure, pause_s=pause_s)


class _PassingError(Exception):
    """A failure that may be gone at the next attempt; `outcome` is raised if it is not."""

    def __init__(self, outcome: ProviderError, *, pause_s: float | None = None) -> None:
        super().__init__(str(outcome))
        self.outcome = outcome
        self.pause_s = pause_s


class _Stream(httpx.SyncByteStream):
    """The rest of a long reply, whose failures are the provider's."""

    def __init__(self, chunks: Iterator[bytes], reply: httpx.SyncByteStream, url: str) -> None:
        self._chunks = chunks
        self._reply = reply
        self._url = url

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._chunks
        except httpx.TransportError as cause:
            raise ProviderError(
                f"{self._url}: the reply broke off ({_kind(cause)})",
                hint="try again; the offers of the last refresh are kept",
            ) from cause

    def close(self) -> None:
        self._reply.close()


_exponential_jitter_s = wait_exponential_jitter(initial=1, max=20, jitter=1)


def _pause_s(state: RetryCallState) -> float:
    """Wait as long as the provider asked, else longer with each attempt; in seconds."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, _PassingError) and error.pause_s is not None:
        return error.pause_s
    return _exponential_jitter_s(state)


def _log_retry(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    pause_s = round(state.upcoming_sleep, 2)
    _log.warning("request_failed", attempt=state.attempt_number, pause_s=pause_s, error=str(error))


def _read_ahead(reply: httpx.Response, request: httpx.Request) -> None:
    """Read a short reply whole; of a long one keep the start, and the rest for the reader."""
    stream = reply.stream
    if not isinstance(stream, httpx.SyncByteStream):  # an asynchronous one cannot come here
        return
    chunks = iter(stream)
    start: list[bytes] = []
    size = 0
    for chunk in chunks:
        start.append(chunk)
        size += len(chunk)
        if size > _EAGER_BYTES:
            reply.stream = _Stream(chain(start, chunks), stream, _address(request))
            return
    stream.close()
    body = b"".join(start)
    if "Content-Encoding" in reply.headers:
        httpx.Response(reply.status_code, headers=reply.headers, content=body)  # unpacks it
    reply.stream = httpx.ByteStream(body)


def _retry_after(reply: httpx.Response) -> str:
    """Give what the provider says of the wait, empty where it says nothing."""
    values = (reply.headers.get(name, "").strip() for name in _RETRY_AFTER)
    return next((value for value in values if value), "")


def _retry_after_s(reply: httpx.Response, now: datetime) -> float | None:
    """Read how long to wait, in seconds or as an HTTP date, as seconds from now."""
    value = _retry_after(reply)
    if value.isdecimal():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())


def _no_reply(cause: httpx.RequestError, request: httpx.Request) -> ProviderError:
    unpacking = isinstance(cause, httpx.DecodingError)
    what = "the reply cannot be unpacked" if unpacking else "no reply"
    return ProviderError(
        f"{_address(request)}: {what} ({_kind(cause)})",
        hint="check the network, or try again; the offers of the last refresh are kept",
    )


def _status_error(reply: httpx.Response, request: httpx.Request, secrets: Secrets) -> ProviderError:
    excerpt = _excerpt(reply, request, secrets)
    status = f"{reply.status_code} {reply.reason_phrase}".strip()
    said = f": {excerpt}" if excerpt else ""
    hint = _hint(reply, request, excerpt)
    failure = ProviderError(f"{_address(request)} answered {status}{said}", hint=hint)
    return secrets.blotted(failure)


def _hint(reply: httpx.Response, request: httpx.Request, excerpt: str) -> str:
    if reply.status_code in (401, 403) or _OF_A_KEY.search(excerpt):
        of_a_key = "the provider's API key (gpubroker reads it from GPUBROKER_<PROVIDER>_API_KEY)"
        if any(_secrets(request)):
            return f"check {of_a_key}"
        return f"give {of_a_key}; one that needs none may be refused by a proxy or firewall"
    if reply.status_code == 429:  # noqa: PLR2004 - the status is its own name
        wait = _retry_after(reply)
        after = f"{wait} seconds" if wait.isdecimal() else wait or "some minutes"
        return f"the provider limits the rate; try again after {after}"
    if reply.is_server_error:
        return "the provider has trouble; try again later, the last offers are kept"
    return "the provider's API may have changed; look for a newer version of gpubroker"


def _excerpt(reply: httpx.Response, request: httpx.Request, secrets: Secrets) -> str:
    """Give the start of a body on one line, without the keys that the request carried."""
    try:
        body = _start_of(reply)
    except httpx.HTTPError:
        return ""
    finally:
        reply.close()
    text = secrets.blot(" ".join(body.decode("utf-8", errors="replace").split()))
    for secret in _secrets(request):
        text = text.replace(secret, "***")
    short = text[:_EXCERPT_CHARACTERS]
    return short if short == text else f"{short}…"


def _start_of(reply: httpx.Response) -> bytes:
    body = b""
    for chunk in reply.iter_bytes():
        body += chunk
        if len(body) >= _EXCERPT_BYTES:
            break
    return body


def _secrets(request: httpx.Request) -> Iterator[str]:
    for name in _SECRET_HEADERS:
        value = request.headers.get(name, "")
        yield from (part for part in (value, value.rpartition(" ")[2]) if part)
    for name in _SECRET_PARAMETERS:
        yield from (part for part in request.url.params.get_list(name) if part)


def _address(request: httpx.Request) -> str:
    """Name what was asked for, without the query, which may carry a key."""
    return f"{request.method} {request.url.host}{request.url.path}"


def _kind(cause: httpx.RequestError) -> str:
    return f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__


def user_agent() -> str:
    """Say who asks: the program and its version."""
    try:
        return f"gpubroker/{version('gpubroker')}"
    except PackageNotFoundError:  # a checkout that is not installed
        return "gpubroker"
