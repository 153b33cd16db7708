"""What can happen to a reply: other fields, other names of GPUs, half of it, none of it."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

import httpx
from pydantic import JsonValue

from providers.kit.adapter import EVIDENCE, OBSERVED_AT
from providers.kit.recorded import Recording

Record = dict[str, JsonValue]
ChangeBody = Callable[[httpx.Response], bytes]

MARK = "zz9"
"""What a renamed GPU has at its end: no GPU is called so."""

_GPU = re.compile(
    r"""(?:(?<![a-z0-9])|(?<=\d[x]))        # a word, or what follows a count: 8xH100
    (?: g?[bh]\d{3} | h20 | a\d{2,4}g? | l40s? | [ltp]4 | [vpkm]\d{2,3} | mi\d{2,3}x?
      | rtx[\s_-]*(?:pro[\s_-]*)?[a-z]?\d{4} | gaudi\s?\d? | trainium\d? | inferentia\d?
      | \d/\d\svgpu                       # all that GCP calls a part of a card
    )(?![0-9])""",
    re.IGNORECASE | re.VERBOSE,
)
_WORD = re.compile(r"[\w.+-]+")
_OF_THE_OLD_BODY = frozenset({"content-length", "content-encoding", "transfer-encoding"})
_HEAD_LINES = 6
"""Of AWS's price files: five lines about the file, and the header."""


class Once(httpx.BaseTransport):
    """Fails the first request, then answers from `inner`."""

    def __init__(self, first: httpx.Response, inner: httpx.BaseTransport) -> None:
        self._first: httpx.Response | None = first
        self._inner = inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        first, self._first = self._first, None
        return first or self._inner.handle_request(request)


class Altered(httpx.BaseTransport):
    """Answers from recordings, with every body put through `change`.

    A name that `change` has marked may come back in a request; it is looked up without the mark.
    """

    def __init__(self, inner: httpx.BaseTransport, change: ChangeBody) -> None:
        self._inner = inner
        self._change = change

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        reply = self._inner.handle_request(_unmarked(request))
        reply.read()
        return changed(reply, self._change)


class Remembering(httpx.BaseTransport):
    """Asks `inner` once for each reply, and gives it again as often as it is asked for."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self._inner = inner
        self._replies: dict[tuple[str, str, bytes], httpx.Response] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        asked = (request.method, str(request.url), request.read())
        if asked not in self._replies:
            self._replies[asked] = self._inner.handle_request(request)
            self._replies[asked].read()
        return changed(self._replies[asked], lambda reply: reply.content)


class Failing(httpx.BaseTransport):
    """Answers from `inner`, but for the request that is asked as the `nth` other one, from 0."""

    def __init__(self, inner: httpx.BaseTransport, nth: int) -> None:
        self._inner = inner
        self._nth = nth
        self._asked: list[tuple[str, str, bytes]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        asked = (request.method, str(request.url), request.read())
        if asked not in self._asked:
            self._asked.append(asked)
        if self._asked.index(asked) == self._nth:
            return httpx.Response(500, json={"error": "it broke"})
        return self._inner.handle_request(request)


def changed(reply: httpx.Response, change: ChangeBody) -> httpx.Response:
    """Make a reply with another body and the same stamps."""
    stamps = {
        key: reply.extensions[key] for key in (OBSERVED_AT, EVIDENCE) if key in reply.extensions
    }
    headers = [
        (name, value)
        for name, value in reply.headers.multi_items()
        if name.lower() not in _OF_THE_OLD_BODY
    ]
    return httpx.Response(
        reply.status_code,
        headers=headers,
        content=change(reply),
        extensions=stamps,
    )


def json_change(change: Callable[[JsonValue], JsonValue]) -> ChangeBody:
    """Change bodies that are JSON and leave the others as they are."""

    def of(reply: httpx.Response) -> bytes:
        if not is_json(reply):
            return reply.content
        return json.dumps(change(json.loads(reply.content))).encode()

    return of


def is_json(reply: httpx.Response) -> bool:
    return reply.headers.get("Content-Type", "").startswith("application/json")


def is_record(value: JsonValue) -> bool:
    """Tell a record, whose keys are fields, from a map of records, whose keys are names."""
    return isinstance(value, dict) and not all(isinstance(one, dict) for one in value.values())


def everywhere(value: JsonValue, change: Callable[[Record], None]) -> JsonValue:
    """Copy a JSON value with each record changed."""
    if isinstance(value, list):
        return [everywhere(one, change) for one in value]
    if not isinstance(value, dict):
        return value
    copy = {key: everywhere(one, change) for key, one in value.items()}
    if is_record(value):
        change(copy)
    return copy


def without(value: JsonValue, field: str) -> JsonValue:
    def remove(record: Record) -> None:
        record.pop(field, None)

    return everywhere(value, remove)


def with_a_surprise(value: JsonValue) -> JsonValue:
    return everywhere(value, lambda record: record.update(surprise={"new": [1, None]}))


def fields_of(value: JsonValue) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from fields_of(one)
    if isinstance(value, dict):
        if is_record(value):
            yield from value
        for one in value.values():
            yield from fields_of(one)


def shortened(most: int) -> ChangeBody:
    """Keep at most so many rows of each list or map, the first of each set of fields.

    Text is cut where it is a table of commas, after a head of some lines.
    """

    def of(reply: httpx.Response) -> bytes:
        if is_json(reply):
            return json.dumps(_few_rows(json.loads(reply.content), most)).encode()
        lines = reply.content.splitlines(keepends=True)
        is_table = len(lines) > 1 and lines[-1].count(b",") == lines[-2].count(b",") > 0
        return b"".join(lines[: most + _HEAD_LINES] if is_table else lines)

    return of


def _few_rows(value: JsonValue, most: int) -> JsonValue:
    if isinstance(value, list):
        rows = [one for one in value if isinstance(one, dict)]
        kept = _first_of_each_kind(rows, most) if len(rows) == len(value) else range(len(value))
        return [_few_rows(value[index], most) for index in kept]
    if isinstance(value, dict):
        kept = list(value) if is_record(value) else list(value)[:most]
        return {key: _few_rows(value[key], most) for key in kept}
    return value


def _first_of_each_kind(rows: Sequence[Record], most: int) -> list[int]:
    seen: Counter[frozenset[str]] = Counter()
    ranked = []
    for index, row in enumerate(rows):
        kind = frozenset(row)
        ranked.append((seen[kind], index))
        seen[kind] += 1
    return sorted(index for _, index in sorted(ranked)[:most])


def renamed_gpus(types: Collection[str]) -> ChangeBody:
    """Give every GPU another name, and every machine type whose name speaks of no GPU."""

    longest_first = sorted(types, key=len, reverse=True)
    a_type = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])")

    def renamed(text: str) -> str:
        marked = _GPU.sub(lambda found: f"{found[0]}{MARK}", text)
        return a_type.sub(lambda found: f"{found[0]}{MARK}", text) if marked == text else marked

    def walked(value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return renamed(value)
        if isinstance(value, list):
            return [walked(one) for one in value]
        if isinstance(value, dict):
            keyed = not is_record(value)
            return {renamed(key) if keyed else key: walked(one) for key, one in value.items()}
        return value

    def of(reply: httpx.Response) -> bytes:
        if is_json(reply):
            return json.dumps(walked(json.loads(reply.content))).encode()
        return _WORD.sub(lambda word: renamed(word[0]), reply.text).encode()

    return of


def _unmarked(request: httpx.Request) -> httpx.Request:
    body = request.read()
    if MARK not in str(request.url) and MARK.encode() not in body:
        return request
    return httpx.Request(
        request.method,
        str(request.url).replace(MARK, ""),
        content=body.replace(MARK.encode(), b""),
    )


_PAGE = frozenset(
    {"page", "pagenumber", "pagetoken", "pageindex", "cursor", "offset", "skip", "skiptoken"}
    | {"after", "nexttoken", "marker", "startindex", "continuationtoken"}
)
"""Names of what a request says of a page, in lower case without signs."""

_NEXT = frozenset(
    {"next", "nextpage", "nextpagetoken", "nextpagelink", "nexttoken", "nextlink", "nextcursor"}
    | {"hasmore", "totalpages", "pagecount", "continuationtoken", "opcnextpage"}
    | {"xtotalcount"}
)
"""Names of what a reply says of the next page."""


def page_words(recording: Recording) -> list[str]:
    """List the words by which a recording tells that its API has pages."""
    asked = [name for name in _asked(recording) if _plain(name) in _PAGE]
    body = recording.response.body
    told = [name for name in _keys(body) if _plain(name) in _NEXT]
    told += [name for name in recording.response.headers if _plain(name) in _NEXT]
    return sorted({*asked, *told})


def pages_of(recordings: Sequence[Recording]) -> list[list[Recording]]:
    """Group recordings that ask the same but for the page, those with several pages."""
    groups: dict[str, list[Recording]] = {}
    for one in recordings:
        groups.setdefault(_without_page(one), []).append(one)
    return [group for group in groups.values() if len(group) > 1]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _asked(recording: Recording) -> Iterator[str]:
    yield from httpx.URL(recording.request.url).params
    yield from _keys(recording.request.body)


def _keys(value: JsonValue) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _keys(one)
    if isinstance(value, dict):
        yield from value
        for one in value.values():
            yield from _keys(one)


def _without_page(recording: Recording) -> str:
    url = httpx.URL(recording.request.url)
    kept = [(name, value) for name, value in url.params.multi_items() if _plain(name) not in _PAGE]
    bare = str(url.copy_with(params=sorted(kept)))
    return f"{recording.request.method} {bare} {json.dumps(_bare(recording.request.body))}"


def _bare(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_bare(one) for one in value]
    if isinstance(value, dict):
        return {key: _bare(one) for key, one in value.items() if _plain(key) not in _PAGE}
    return value
