"""Record what a provider answers: exchanges as they happen, cut to what is telling, as files.

The recorder sits between an adapter and the network, above the retries, so that it sees good
replies only. It cuts a reply before the adapter reads it: what the adapter then asks, a replay will
ask, too.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from itertools import count
from typing import TypeVar

import httpx
from pydantic import JsonValue, TypeAdapter

from broker.domain.errors import ProviderError
from broker.domain.offer import Evidence
from providers.kit.adapter import OBSERVED_AT
from providers.kit.scrub import Scrubber

_JSON = TypeAdapter[JsonValue](JsonValue)
_HEAD_LINES = 8
"""Lines of a table that are kept whatever they say: notes and the names of the columns."""

_Record = TypeVar("_Record")
_AS_SENT = frozenset({"content-encoding", "content-length", "transfer-encoding"})


@dataclass(frozen=True, slots=True)
class Cut:
    """How much of a reply to keep: `rows` of each list of records in it.

    Those come first that hold one of the `words`. Of a table in text, the rows that name one of the
    `types` are kept, so many of each.
    """

    rows: int
    types: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def json(self, value: JsonValue) -> JsonValue:
        """Cut long lists of records, and long maps of records by name; what is kept stays whole."""
        if isinstance(value, list):
            if len(value) > self.rows and _are_records(value):
                return self._chosen(value)
            return [self.json(one) for one in value]
        if isinstance(value, dict):
            if len(value) > self.rows and _are_records(value.values()):
                return dict(self._chosen(list(value.items())))
            return {name: self.json(one) for name, one in value.items()}
        return value

    def lines(self, lines: Iterable[str]) -> str:
        """Cut a table to its head and the rows that name a known type."""
        known = _any_of(self.types)
        seen: dict[str, int] = {}
        kept = []
        for number, line in enumerate(lines):
            named = known.search(line)
            name = named[0].lower() if named else ""
            seen[name] = seen.get(name, 0) + 1
            if number < _HEAD_LINES or (named and seen[name] <= self.rows):
                kept.append(f"{line}\n")
        return "".join(kept)

    def _chosen(self, records: list[_Record]) -> list[_Record]:
        """Choose records, in their order."""
        known = _any_of((*self.types, *self.words))
        told = [bool(known.search(json.dumps(one, default=str))) for one in records]
        order = sorted(range(len(records)), key=lambda at: (not told[at], at))
        return [records[at] for at in sorted(order[: self.rows])]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its reply as they were; `reply_text` is what was kept of the body."""

    request: httpx.Request
    reply: httpx.Response
    reply_text: str

    @property
    def observed_at(self) -> datetime:
        """Tell when the reply was seen."""
        seen = self.reply.extensions[OBSERVED_AT]
        if not isinstance(seen, datetime):
            raise TypeError(f"{seen!r} is no instant")
        return seen

    @property
    def is_json(self) -> bool:
        """Tell whether the reply calls itself JSON."""
        return "json" in self.reply.headers.get("content-type", "")


@dataclass(slots=True)
class Recorder(httpx.BaseTransport):
    """Sends through `inner`, and keeps what was asked and answered in `exchanges`."""

    inner: httpx.BaseTransport
    cut: Cut | None = None
    exchanges: list[Exchange] = field(default_factory=list)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send, keep, and hand on what was kept.

        Raises:
            ProviderError: there is no good reply, or it is no text.
        """
        request.read()
        reply = self.inner.handle_request(request)
        try:
            text = self._kept(reply)
        except UnicodeDecodeError as cause:
            raise ProviderError(
                f"{request.url.host}{request.url.path}: the reply is no text",
                hint="it cannot be recorded; write its recording by hand",
            ) from cause
        finally:
            reply.close()
        self.exchanges.append(Exchange(request, reply, text))
        headers = [item for item in reply.headers.multi_items() if item[0].lower() not in _AS_SENT]
        return httpx.Response(
            reply.status_code, headers=headers, content=text.encode(), extensions=reply.extensions
        )

    def close(self) -> None:
        """Close the connections."""
        self.inner.close()

    def _kept(self, reply: httpx.Response) -> str:
        is_json = "json" in reply.headers.get("content-type", "")
        if self.cut and not is_json:
            return self.cut.lines(reply.iter_lines())
        text = reply.read().decode("utf-8")
        if not self.cut:
            return text
        try:
            value = _parsed(text)
        except ValueError:
            return text  # the adapter will say that it cannot be read
        kept = self.cut.json(value)
        return text if kept == value else _written(kept)


def recording_files(
    exchanges: Iterable[Exchange], scrubber: Scrubber, *, note: str
) -> Mapping[str, str]:
    """Write exchanges in the form of recordings: texts by the name of their file, in order."""
    named = _namer()
    return {
        f"{named(one.request.url)}.json": _recording_text(one, scrubber, note) for one in exchanges
    }


def bodies(exchanges: Iterable[Exchange]) -> Iterable[JsonValue]:
    """List what was sent and answered as JSON."""
    for one in exchanges:
        for text in (one.request.content.decode("utf-8", "replace"), one.reply_text):
            try:
                yield _parsed(text)
            except ValueError:
                continue


def without_replay(text: str) -> str:
    """Mark the text of a recording as one that a replay does not ask for."""
    recording = _parsed(text)
    if not isinstance(recording, dict):
        raise TypeError("a recording is an object")
    marked: dict[str, JsonValue] = {}
    for name, value in recording.items():
        if name == "request":
            marked["replay"] = False
        marked[name] = value
    return _document(marked)


def _recording_text(one: Exchange, scrubber: Scrubber, note: str) -> str:
    request, reply = one.request, one.reply
    asked: dict[str, JsonValue] = {"method": request.method, "url": scrubber.url(request.url)}
    sent = request.content.decode("utf-8", "replace")
    if sent:
        asked["body"] = _sent(sent, scrubber)
    answered: dict[str, JsonValue] = {"status": reply.status_code}
    answered["headers"] = {**scrubber.headers(reply.headers)}
    body = _exact_json(one.reply_text) if one.is_json else None
    if body is None:
        answered["text"] = scrubber.text(one.reply_text)
    else:
        answered["body"] = scrubber.json(body)
    return _document(
        {
            "made_on": f"{one.observed_at:%Y-%m-%dT%H:%M:%SZ}",
            "evidence": Evidence.RECORDED.value,
            "sources": [scrubber.text(f"{request.url.host}{request.url.path}")],
            "note": note,
            "request": asked,
            "response": answered,
        }
    )


def _sent(text: str, scrubber: Scrubber) -> JsonValue:
    body = _exact_json(text)
    return scrubber.form(text) if body is None else scrubber.json(body)


def _exact_json(text: str) -> JsonValue:
    """Read JSON whose numbers are written again digit for digit; None where there is none such."""
    try:
        value = _parsed(text)
    except ValueError:
        return None
    exact: object = json.loads(text, parse_float=Decimal)
    return value if json.loads(_written(value), parse_float=Decimal) == exact else None


def _parsed(text: str) -> JsonValue:
    return _JSON.validate_json(text)


def _written(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _document(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, words)) or "(?!)", re.IGNORECASE)


def _are_records(values: Iterable[JsonValue]) -> bool:
    kinds = {isinstance(one, dict) for one in values}
    return kinds == {True}


def _namer() -> Callable[[httpx.URL], str]:
    """Name each file after the last part of its address, the second of one name with a number."""
    used: set[str] = set()

    def name(url: httpx.URL) -> str:
        last = url.path.rstrip("/").rpartition("/")[2] or url.host
        plain = re.sub(r"[^a-z0-9]+", "-", last.lower().removesuffix(".json")).strip("-") or "reply"
        names = (plain if number == 1 else f"{plain}-{number}" for number in count(1))
        chosen = next(one for one in names if one not in used)
        used.add(chosen)
        return chosen

    return name
