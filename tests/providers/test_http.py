"""The retrying transport, against a transport that answers as a provider would."""

import gzip
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal

import httpx
import pytest
from pydantic import BaseModel

from broker.domain.errors import ProviderError
from broker.domain.offer import Evidence
from providers.kit.adapter import EVIDENCE, OBSERVED_AT
from providers.kit.http import ATTEMPTS, live_client
from providers.kit.parse import Row, Unreadable, parse

NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
URL = "https://cloud.example/api/v1/types"
Handler = Callable[[httpx.Request], httpx.Response]


class Answers(httpx.BaseTransport):
    """Gives one prepared answer after the other, the last one for ever; counts what was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.requests: list[httpx.Request] = []
        self._answers = list(answers)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Broken(httpx.SyncByteStream):
    """A body that stops in the middle."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks
        raise httpx.RemoteProtocolError("peer closed connection")


def client(transport: httpx.BaseTransport, pauses: list[float] | None = None) -> httpx.Client:
    waited = pauses if pauses is not None else []
    return live_client(lambda: NOW, transport=transport, sleep=waited.append)


def test_a_good_reply_is_stamped_live_with_the_time_of_the_clock() -> None:
    with client(Answers(httpx.Response(200, json={"a": 1}))) as http:
        reply = http.get(URL)
    assert reply.json() == {"a": 1}
    assert reply.extensions[OBSERVED_AT] == NOW
    assert reply.extensions[EVIDENCE] is Evidence.LIVE


def test_requests_name_the_program() -> None:
    answers = Answers(httpx.Response(200))
    with client(answers) as http:
        http.get(URL)
    assert answers.requests[0].headers["User-Agent"].startswith("gpubroker")


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_a_passing_trouble_is_tried_again(status: int) -> None:
    answers = Answers(httpx.Response(status), httpx.Response(200, text="good"))
    pauses: list[float] = []
    with client(answers, pauses) as http:
        assert http.get(URL).text == "good"
    assert len(answers.requests) == 2
    assert len(pauses) == 1


def test_four_attempts_are_made_with_growing_pauses_and_then_the_status_is_told() -> None:
    answers = Answers(httpx.Response(503, text="overloaded"))
    pauses: list[float] = []
    with client(answers, pauses) as http, pytest.raises(ProviderError, match="503") as error:
        http.get(URL)
    assert len(answers.requests) == ATTEMPTS == 4
    assert [1 <= pauses[0] <= 2, 2 <= pauses[1] <= 3, 4 <= pauses[2] <= 5] == [True] * 3
    assert "cloud.example" in str(error.value)
    assert "overloaded" in str(error.value)
    assert error.value.hint


def test_the_body_of_a_post_is_sent_again() -> None:
    answers = Answers(httpx.Response(502), httpx.Response(200))
    with client(answers) as http:
        http.post(URL, json={"limit": 10})
    assert [request.content for request in answers.requests] == [b'{"limit":10}'] * 2


def test_retry_after_in_seconds_is_honoured() -> None:
    pauses: list[float] = []
    limited = httpx.Response(429, headers={"Retry-After": "7"})
    with client(Answers(limited, httpx.Response(200)), pauses) as http:
        http.get(URL)
    assert pauses == [7.0]


def test_retry_after_as_a_date_is_honoured() -> None:
    pauses: list[float] = []
    limited = httpx.Response(503, headers={"Retry-After": "Fri, 27 Nov 2026 12:00:20 GMT"})
    with client(Answers(limited, httpx.Response(200)), pauses) as http:
        http.get(URL)
    assert pauses == [20.0]


def test_the_header_of_azures_price_list_is_honoured_as_well() -> None:
    pauses: list[float] = []
    limited = httpx.Response(429, headers={"x-ms-ratelimit-retailPrices-retry-after": "60"})
    with client(Answers(limited, httpx.Response(200)), pauses) as http:
        http.get(URL)
    assert pauses == [60.0]


def test_the_standard_header_counts_before_azures() -> None:
    pauses: list[float] = []
    both = {"Retry-After": "7", "x-ms-ratelimit-retailPrices-retry-after": "60"}
    with client(Answers(httpx.Response(429, headers=both), httpx.Response(200)), pauses) as http:
        http.get(URL)
    assert pauses == [7.0]


def test_retry_after_that_is_neither_leaves_the_usual_pause() -> None:
    pauses: list[float] = []
    limited = httpx.Response(429, headers={"Retry-After": "soon"})
    with client(Answers(limited, httpx.Response(200)), pauses) as http:
        http.get(URL)
    assert 1 <= pauses[0] <= 2


def test_a_pause_of_hours_is_not_waited_for() -> None:
    answers = Answers(httpx.Response(429, headers={"Retry-After": "7200"}))
    pauses: list[float] = []
    with client(answers, pauses) as http, pytest.raises(ProviderError) as error:
        http.get(URL)
    assert (len(answers.requests), pauses) == (1, [])
    assert "7200 seconds" in error.value.hint


@pytest.mark.parametrize("status", [301, 400, 404])
def test_a_final_status_is_not_tried_again(status: int) -> None:
    answers = Answers(httpx.Response(status, json={"error": "no such thing"}))
    with client(answers) as http, pytest.raises(ProviderError, match=str(status)):
        http.get(URL)
    assert len(answers.requests) == 1


def test_a_refused_key_points_to_the_setting_and_is_not_shown() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        return httpx.Response(401, text=f"bad key {request.headers['Authorization']}")

    with client(httpx.MockTransport(refuse)) as http, pytest.raises(ProviderError) as error:
        http.get(URL, headers={"Authorization": "Bearer s3cr3t"}, params={"api_key": "hidden"})
    assert "bad key" in str(error.value)
    assert "s3cr3t" not in f"{error.value} {error.value.hint}"
    assert "hidden" not in f"{error.value} {error.value.hint}"
    assert error.value.hint.startswith("check the provider's API key")
    assert "API_KEY" in error.value.hint


def test_a_refusal_of_what_needs_no_key_does_not_send_the_user_to_check_one() -> None:
    with client(Answers(httpx.Response(403))) as http, pytest.raises(ProviderError) as error:
        http.get(URL)
    assert not error.value.hint.startswith("check")
    assert "proxy or firewall" in error.value.hint


def test_a_long_error_page_is_cut() -> None:
    long = Answers(httpx.Response(404, text="x" * 10_000))
    with client(long) as http, pytest.raises(ProviderError) as error:
        http.get(URL)
    assert len(str(error.value)) < 300


def test_a_timeout_is_tried_again_and_then_told() -> None:
    answers = Answers(httpx.ReadTimeout("timed out"))
    with client(answers) as http, pytest.raises(ProviderError, match="ReadTimeout") as error:
        http.get(URL)
    assert len(answers.requests) == ATTEMPTS
    assert isinstance(error.value.__cause__, httpx.ReadTimeout)


def test_a_short_reply_that_breaks_off_is_asked_for_again() -> None:
    answers = Answers(
        httpx.Response(200, stream=Broken(b'{"data": ')), httpx.Response(200, text="whole")
    )
    with client(answers) as http:
        assert http.get(URL).text == "whole"


def misnamed() -> httpx.Response:
    """Give a reply that says it is gzip and is plain text."""
    body = httpx.ByteStream(b"plain")
    return httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=body)


def test_a_reply_that_is_not_packed_as_it_says_is_asked_for_again() -> None:
    packed = httpx.Response(
        200, headers={"Content-Encoding": "gzip"}, stream=httpx.ByteStream(gzip.compress(b"whole"))
    )
    with client(Answers(misnamed(), packed)) as http:
        assert http.get(URL).text == "whole"


def test_what_cannot_be_unpacked_is_a_provider_error_and_so_may_be_one_part() -> None:
    with (
        client(Answers(*[misnamed() for _ in range(ATTEMPTS)])) as http,
        pytest.raises(ProviderError, match=r"types: the reply cannot be unpacked \(DecodingError"),
    ):
        http.get(URL)


def test_a_long_reply_is_streamed_and_tells_when_it_breaks_off() -> None:
    megabyte = b"x" * 2**20
    answers = Answers(httpx.Response(200, stream=Broken(*[megabyte] * 20)))
    read: list[int] = []
    with client(answers) as http, http.stream("GET", URL) as reply:
        chunks = (len(chunk) for chunk in reply.iter_bytes())
        with pytest.raises(ProviderError, match="broke off"):
            read.extend(chunks)
    assert sum(read) == 20 * 2**20
    assert len(answers.requests) == 1


def test_a_streamed_reply_is_stamped_too() -> None:
    answers = Answers(httpx.Response(200, text="a\nb\n"))
    with client(answers) as http, http.stream("GET", URL) as reply:
        assert list(reply.iter_lines()) == ["a", "b"]
    assert reply.extensions[EVIDENCE] is Evidence.LIVE


def test_an_error_on_a_streamed_request_is_raised_before_the_first_byte() -> None:
    answers = Answers(httpx.Response(404, text="gone"))
    with (
        client(answers) as http,
        pytest.raises(ProviderError, match="gone"),
        http.stream("GET", URL),
    ):
        pytest.fail("the stream was opened")


class _Priced(BaseModel):
    name: str
    usd: Decimal
    memory_gib: float | None = None


class _Reply(BaseModel):
    rows: list[Row[_Priced]]


def replied(text: str) -> httpx.Response:
    return httpx.Response(200, text=text, request=httpx.Request("GET", URL))


def test_a_price_is_read_digit_for_digit() -> None:
    text = '{"rows": [{"name": "a", "usd": 5.8854999999999995000001}]}'
    (row,) = parse(_Reply, replied(text)).rows
    assert isinstance(row, _Priced)
    assert row.usd == Decimal("5.8854999999999995000001")


def test_a_bad_row_is_kept_with_its_reason_and_leaves_the_others() -> None:
    text = (
        '{"rows": [{"name": "a"}, {"name": "b", "usd": NaN}, {"name": "c", "usd": "two"},'
        ' null, {"name": "e", "usd": 1, "unknown": []}]}'
    )
    *bad, good = parse(_Reply, replied(text)).rows
    assert all(isinstance(row, Unreadable) for row in bad)
    assert [row.reason for row in bad if isinstance(row, Unreadable)] == [
        "missing_field",
        "unreadable_row",
        "unreadable_row",
        "unreadable_row",
    ]
    assert "usd" in str(bad[0])
    assert good == _Priced(name="e", usd=Decimal(1))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_says_nothing(number: str) -> None:
    """Servers in Python send such numbers, which are no JSON, for what they do not know."""
    text = f'{{"rows": [{{"name": "a", "usd": 1, "memory_gib": {number}}}]}}'
    assert parse(_Reply, replied(text)).rows == [_Priced(name="a", usd=Decimal(1))]


@pytest.mark.parametrize("text", ['{"rows": [{"name": "a"', "<html>", '{"rows": 3}', "[]", ""])
def test_what_is_no_such_reply_is_a_provider_error(text: str) -> None:
    with pytest.raises(ProviderError, match="cannot be read") as error:
        parse(_Reply, replied(text))
    assert "cloud.example" in str(error.value)
