"""How the pages are asked for: a token after the other, the key in a header."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import httpx
import pytest
from pydantic import JsonValue, SecretStr

from broker.domain.errors import ProviderError
from broker.specs.load import Specs
from providers.gcp.adapter import GcpCloud
from providers.kit.access import Access
from providers.kit.http import live_client
from providers.kit.recorded import Recording, recordings

NOW = datetime(2026, 9, 18, tzinfo=UTC)


@contextmanager
def answering(answer: Callable[[httpx.Request], httpx.Response]) -> Iterator[httpx.Client]:
    with live_client(
        lambda: NOW, transport=httpx.MockTransport(answer), sleep=lambda _: None
    ) as http:
        yield http


def pages(*tokens: str) -> Callable[[httpx.Request], httpx.Response]:
    """Answer each request with the next of the tokens."""
    left = iter(tokens)
    return lambda _: httpx.Response(200, json={"skus": [], "nextPageToken": next(left)})


def test_each_page_names_the_next_until_the_token_is_empty(specs: Specs) -> None:
    asked: list[str | None] = []
    answer = pages("two", "three", "")

    def note(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params.get("pageToken"))
        return answer(request)

    with answering(note) as http:
        assert len(list(GcpCloud(specs, Access()).fetch(http))) == 3
    assert asked == [None, "two", "three"]


def test_prices_are_asked_for_in_dollars_and_in_the_largest_pages(specs: Specs) -> None:
    with answering(pages("")) as http:
        (reply,) = GcpCloud(specs, Access()).fetch(http)
    assert dict(reply.request.url.params) == {"currencyCode": "USD", "pageSize": "5000"}


def test_the_key_is_sent_in_a_header_and_in_no_address(specs: Specs) -> None:
    cloud = GcpCloud(specs, Access({"api_key": SecretStr("s3cr3t")}))
    with answering(pages("two", "")) as http:
        replies = list(cloud.fetch(http))
    for reply in replies:
        assert reply.request.headers["X-Goog-Api-Key"] == "s3cr3t"
        assert "s3cr3t" not in str(reply.request.url)


def test_a_key_that_comes_back_in_an_error_is_blotted_out(specs: Specs) -> None:
    body: JsonValue = {"error": {"code": 400, "message": "API key s3cr3t not valid."}}
    cloud = GcpCloud(specs, Access({"api_key": SecretStr("s3cr3t")}))
    with (
        answering(lambda _: httpx.Response(400, json=body)) as http,
        pytest.raises(ProviderError, match="not valid") as error,
    ):
        list(cloud.fetch(http))
    assert "s3cr3t" not in str(error.value)


def test_pages_that_name_each_other_are_not_asked_for_for_ever(specs: Specs) -> None:
    with (
        answering(pages("two", "three", "two")) as http,
        pytest.raises(ProviderError, match="'two'"),
    ):
        list(GcpCloud(specs, Access()).fetch(http))


def test_a_page_that_fails_fails_the_provider(specs: Specs) -> None:
    """The parts of a machine stand on any page: without one, its machines would have no price."""

    def answer(request: httpx.Request) -> httpx.Response:
        if "pageToken" in request.url.params:
            return httpx.Response(503, text="try later")
        return pages("two")(request)

    with answering(answer) as http, pytest.raises(ProviderError, match="503"):
        list(GcpCloud(specs, Access()).fetch(http))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("invalid-key", "GPUBROKER_<PROVIDER>_API_KEY"),
        ("forbidden", "GPUBROKER_<PROVIDER>_API_KEY"),
        ("rate-limited", "try again after 30 seconds"),
    ],
)
def test_a_recorded_error_is_told_with_what_to_do(specs: Specs, name: str, hint: str) -> None:
    (recording,) = (one for one in recordings("gcp") if one.name == name)
    with answering(lambda _: _reply(recording)) as http, pytest.raises(ProviderError) as error:
        list(GcpCloud(specs, Access()).fetch(http))
    assert str(recording.response.status) in str(error.value)
    assert hint in error.value.hint


def _reply(recording: Recording) -> httpx.Response:
    return httpx.Response(
        recording.response.status,
        headers=recording.response.headers,
        content=recording.response.content,
    )
