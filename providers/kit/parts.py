"""A catalog that comes in parts, one of which could not be had: the rest is used, that part kept.

    for region in regions:
        yield from or_missing(partial(http.get, url(region)), Missing(self.name, region=region))

`fetch` yields what it has: replies, and a `Missing` for each part that failed. The reader of a
refresh hands the replies to `offers_in` and lets the offers that a missing part covers stand as
they last were, with their age. Where every part is missing, the provider has failed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import httpx

from broker.domain.errors import ProviderError
from broker.domain.missing import Missing

__all__ = [
    "Missing",
    "is_unreadable",
    "mark_unreadable",
    "or_missing",
    "replies_only",
    "unless_all_missing",
]

_UNREADABLE = "unreadable"


def or_missing(
    ask: Callable[[], httpx.Response],
    part: Missing,
    read: Callable[[httpx.Response], object] | None = None,
) -> Iterator[httpx.Response | Missing]:
    """Ask for one part; where it fails, or cannot be read later on, name the part and why.

    `read` tries whether a short reply can be read, before it is handed on. A long one is read
    after that: what `offers_in` marks by `mark_unreadable` is known here once the next reply is
    asked for.
    """
    try:
        reply = ask()
        if read is not None:
            read(reply)
    except ProviderError as failure:
        yield replace(part, why=str(failure))
        return
    yield reply
    if is_unreadable(reply):
        yield replace(part, why=str(reply.extensions[_UNREADABLE]))


def mark_unreadable(reply: httpx.Response, failure: ProviderError) -> None:
    """Note on a reply of one part that it could not be read, for `or_missing` to see."""
    reply.extensions[_UNREADABLE] = str(failure)


def is_unreadable(reply: httpx.Response) -> bool:
    """Tell whether a reply was marked."""
    return _UNREADABLE in reply.extensions


def unless_all_missing(
    parts: Iterable[httpx.Response | Missing],
) -> Iterator[httpx.Response | Missing]:
    """Hand parts on, each reply in time to be marked.

    Raises:
        ProviderError: in the end not one reply was readable; it tells of the first that was not.
    """
    readable = 0
    reasons: list[str] = []
    for part in parts:
        yield part
        if isinstance(part, Missing):
            reasons.append(part.why)
        elif not is_unreadable(part):
            readable += 1
    if reasons and not readable:
        raise ProviderError(
            reasons[0], hint="try again; the offers of the last refresh are kept, with their age"
        )


def replies_only(
    fetched: Iterable[httpx.Response | Missing], missing: list[Missing]
) -> Iterator[httpx.Response]:
    """Hand the replies on, and put the missing parts into `missing`."""
    for one in fetched:
        if isinstance(one, Missing):
            missing.append(one)
        else:
            yield one
