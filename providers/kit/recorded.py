"""Recorded replies: the same requests, answered from files, without a socket.

A recording is one JSON file: `made_on`, `evidence` (recorded from a live reply, or composed from
published prices in the documented form), `sources`, `note`, `request`, `response`. One with
`"replay": false` shows an error or another form of a reply; tests read it, replays do not.
"""

import json
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Literal

import httpx
from pydantic import Field, JsonValue, ValidationError

from broker.domain.errors import ConfigurationError, ProviderError
from broker.domain.offer import Evidence
from broker.domain.quantities import Frozen, Instant
from providers.kit.adapter import stamp
from providers.kit.http import check_status

_Text = Annotated[str, Field(min_length=1)]


class RecordedRequest(Frozen):
    """What was asked. A `body` that is text is compared as it is, any other as JSON."""

    method: _Text = "GET"
    url: _Text
    headers: dict[str, str] = {}
    body: JsonValue = None


class RecordedResponse(Frozen):
    """What was answered: `body` as JSON, or `text` as it came."""

    status: int = 200
    headers: dict[str, str] = {}
    body: JsonValue = None
    text: str | None = None

    @property
    def content(self) -> bytes:
        """Give the body as bytes."""
        return (self.text if self.text is not None else json.dumps(self.body)).encode()


class Recording(Frozen):
    """One request with its reply, and where the content comes from. `name` is the file's."""

    name: str
    made_on: Instant
    evidence: Literal[Evidence.COMPOSED, Evidence.RECORDED]
    sources: Annotated[tuple[_Text, ...], Field(min_length=1)]
    note: _Text
    replay: bool = True
    request: RecordedRequest
    response: RecordedResponse

    def reply(self) -> httpx.Response:
        """Make the reply anew, stamped with the day and the evidence of the recording."""
        kind = "application/json" if self.response.text is None else "text/plain"
        reply = httpx.Response(
            self.response.status,
            headers={"Content-Type": kind, **self.response.headers},
            stream=httpx.ByteStream(self.response.content),
        )
        stamp(reply, observed_at=self.made_on, evidence=Evidence(self.evidence))
        return reply


class RecordedTransport(httpx.BaseTransport):
    """Answers each request with the recording of the same method, URL and body.

    The recordings are read at the first request, so a provider that asks nothing needs none. They
    are those of the package, where no others are given.
    """

    def __init__(self, provider: str, recorded: tuple[Recording, ...] | None = None) -> None:
        self._provider = provider
        self._recorded = recorded
        self._made: set[str] = set()

    @cached_property
    def _replayed(self) -> tuple[Recording, ...]:
        recorded = recordings(self._provider) if self._recorded is None else self._recorded
        return tuple(one for one in recorded if one.replay)

    @cached_property
    def _by_request(self) -> Mapping[tuple[str, str, str], Recording]:
        """Give the recording of each request; of two with the same one, the first."""
        return {_recorded_identity(one.request): one for one in reversed(self._replayed)}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer from the recordings; the order of query parameters does not matter.

        Raises:
            ConfigurationError: the provider has no recordings.
            ProviderError: no recording has this request, or its status is no success.
        """
        asked = _identity(request.method, request.url, request.read().decode("utf-8", "replace"))
        recording = self._by_request.get(asked)
        if recording is None:
            raise ProviderError(
                f"no recording of {self._provider!r} answers {request.method} {request.url}",
                hint=f"recorded are: {', '.join(one.name for one in self._replayed) or 'none'}",
            )
        self._made.add(recording.name)
        reply = recording.reply()
        check_status(reply, request)
        return reply

    def unused(self) -> tuple[str, ...]:
        """Name the recordings that no request has asked for yet."""
        return tuple(one.name for one in self._replayed if one.name not in self._made)


def recorded_client(provider: str) -> httpx.Client:
    """Open a client that answers from the provider's recordings."""
    return httpx.Client(transport=RecordedTransport(provider))


def recorded_providers() -> tuple[str, ...]:
    """Name the providers that have recordings."""
    folders = (folder for folder in _root().iterdir() if folder.is_dir())
    return tuple(sorted(folder.name for folder in folders if _paths(folder)))


def recordings(provider: str) -> tuple[Recording, ...]:
    """Read the recordings of a provider, in the order of their names.

    Raises:
        ConfigurationError: there are none, or one is not in the form of a recording.
    """
    if provider not in recorded_providers():
        raise ConfigurationError(
            f"provider {provider!r} has no recordings",
            hint=f"recorded are: {', '.join(recorded_providers()) or 'none'}",
        )
    return recordings_in(_root() / provider)


def recorded_file(folder: str, name: str) -> bytes:
    """Read a file that lies beside the recordings and is none itself, such as a price sheet."""
    return (_root() / folder / name).read_bytes()


def recordings_in(folder: Traversable) -> tuple[Recording, ...]:
    """Read the recordings in a folder, in the order of their names.

    Raises:
        ConfigurationError: one is not in the form of a recording.
    """
    return tuple(_read(path) for path in sorted(_paths(folder), key=lambda path: path.name))


def _root() -> Traversable:
    """Find the recordings: inside the package in a wheel, beside it in a checkout."""
    package = files("providers")
    shipped = package / "_recorded"
    return shipped if shipped.is_dir() else package.joinpath("..", "fixtures")


def _paths(folder: Traversable) -> list[Traversable]:
    return [path for path in folder.iterdir() if path.name.endswith(".json")]


def _read(path: Traversable) -> Recording:
    name = path.name.removesuffix(".json")
    try:
        content: object = json.loads(path.read_bytes())
        named = {**content, "name": name} if isinstance(content, Mapping) else content
        return Recording.model_validate_json(json.dumps(named))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in problem["loc"])
        raise ConfigurationError(
            f"recording {name!r}: {field}: {problem['msg']}", hint="correct the file"
        ) from error
    except ValueError as error:
        raise ConfigurationError(
            f"recording {name!r} is no JSON ({error})", hint="correct the file"
        ) from error


def _recorded_identity(request: RecordedRequest) -> tuple[str, str, str]:
    body = request.body
    text = body if isinstance(body, str) else "" if body is None else json.dumps(body)
    return _identity(request.method, httpx.URL(request.url), text)


def _identity(method: str, url: httpx.URL, body: str) -> tuple[str, str, str]:
    """Bring a request into the one form in which equal requests are equal texts."""
    query = sorted(url.params.multi_items())
    return method.upper(), str(url.copy_with(params=query)), _canonical(body)


def _canonical(text: str) -> str:
    """Write JSON in one way; leave any other text as it is."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text
