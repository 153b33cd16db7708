"""Parts of a catalog: which are told as missing, and when the provider as a whole has failed."""

from collections.abc import Iterator

import httpx
import pytest

from broker.domain.errors import ProviderError
from providers.kit.parts import (
    Missing,
    is_unreadable,
    mark_unreadable,
    or_missing,
    replies_only,
    unless_all_missing,
)

PART = Missing("aws", region="us-east-1")
BROKEN = ProviderError("cut short", hint="try again")


def reply() -> httpx.Response:
    return httpx.Response(200)


def fail() -> httpx.Response:
    raise ProviderError("answered 500", hint="try again")


def test_a_part_that_is_there_is_handed_on_alone() -> None:
    (part,) = or_missing(reply, PART)

    assert isinstance(part, httpx.Response)
    assert not is_unreadable(part)


def test_a_part_that_fails_is_named_with_the_reason() -> None:
    assert list(or_missing(fail, PART)) == [Missing("aws", "us-east-1", why="answered 500")]


def test_a_part_that_is_marked_while_it_is_read_is_named_after_it() -> None:
    parts = or_missing(reply, PART)
    first = next(parts)
    assert isinstance(first, httpx.Response)

    mark_unreadable(first, BROKEN)

    assert list(parts) == [Missing("aws", "us-east-1", why="cut short")]


def parts_of(*asks: bool) -> Iterator[httpx.Response | Missing]:
    for works in asks:
        yield from or_missing(reply if works else fail, PART)


def test_one_readable_part_is_enough() -> None:
    missing: list[Missing] = []

    replies = list(replies_only(unless_all_missing(parts_of(False, True, False)), missing))

    assert (len(replies), len(missing)) == (1, 2)


def test_a_provider_without_a_readable_part_has_failed() -> None:
    def read_all() -> None:
        for part in unless_all_missing(parts_of(False, True)):
            if isinstance(part, httpx.Response):
                mark_unreadable(part, BROKEN)

    with pytest.raises(ProviderError, match="answered 500") as raised:
        read_all()
    assert raised.value.hint


def test_a_provider_that_is_asked_nothing_has_not_failed() -> None:
    assert list(unless_all_missing(iter(()))) == []
