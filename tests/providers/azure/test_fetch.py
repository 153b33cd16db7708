"""Azure: fetching asks for every page, slowly, and does without a series that fails."""

import json

import httpx
import pytest

from broker.domain.errors import ProviderError
from broker.specs.load import Specs, load_specs
from providers.azure.adapter import AzureCloud
from providers.azure.pages import BLOCK_S, PAUSE_S, SERIES, first_page
from providers.kit.access import Access
from providers.kit.http import check_status
from providers.kit.parts import Missing, replies_only
from providers.kit.recorded import RecordedTransport, recordings


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def linking_to(link: str | None) -> bytes:
    return json.dumps({"Items": [], "NextPageLink": link, "Count": 0}).encode()


def test_every_recorded_request_is_made(specs: Specs) -> None:
    transport = RecordedTransport("azure")
    with httpx.Client(transport=transport) as http:
        parts = list(AzureCloud(specs, Access()).fetch(http))
    assert [one for one in parts if isinstance(one, Missing)] == []
    assert len(parts) == 3 + 3 + 2
    assert transport.unused() == ()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bad_request", "400 Bad Request.*Invalid OData parameters supplied"),
        ("throttled", "429 Too Many Requests.*retry after 60 seconds"),
    ],
)
def test_recorded_error_is_told_in_the_words_of_azure(specs: Specs, name: str, said: str) -> None:
    (failed,) = (one for one in recordings("azure") if one.name == name)

    def answer(request: httpx.Request) -> httpx.Response:
        reply = failed.reply()
        check_status(reply, request)
        return reply

    with (
        httpx.Client(transport=httpx.MockTransport(answer)) as http,
        pytest.raises(ProviderError, match=said),
    ):
        list(AzureCloud(specs, Access()).fetch(http))


def test_fetch_follows_links_through_the_port_until_there_is_none(specs: Specs) -> None:
    linked = str(first_page(SERIES[0])).replace(".com/", ".com:443/") + "&$skip=1000"
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params.get("$skip", request.url.params["$filter"]))
        first = len(asked) == 1
        return httpx.Response(200, content=linking_to(linked if first else None))

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        replies = list(AzureCloud(specs, Access()).fetch(http))
    wanted = "serviceName eq 'Virtual Machines' and contains(armSkuName, '{}')"
    assert asked == [
        wanted.format("Standard_ND"),
        "1000",
        wanted.format("Standard_NC"),
        wanted.format("Standard_NV"),
    ]
    assert len(replies) == 4


def test_query_asks_for_dollars_and_for_the_version_with_savings_plans() -> None:
    params = first_page("Standard_ND").params
    assert params["currencyCode"] == "USD"
    assert params["api-version"] == "2023-01-01-preview"
    assert "meterRegion" not in params  # it would drop valid rows


@pytest.mark.parametrize(
    "link",
    [
        "https://prices.azure.com.example.org/api/retail/prices?$skip=1000",
        "http://prices.azure.com/api/retail/prices?$skip=1000",
        "/api/retail/prices?$skip=1000",
        str(first_page(SERIES[0])),
    ],
    ids=["other host", "no TLS", "relative", "a page already read"],
)
def test_link_that_leads_astray_ends_its_series_after_the_page(specs: Specs, link: str) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        astray = request.url == first_page(SERIES[0])
        return httpx.Response(200, content=linking_to(link if astray else None))

    missing: list[Missing] = []
    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        pages = list(replies_only(AzureCloud(specs, Access()).fetch(http), missing))
    assert len(pages) == len(SERIES)
    (told,) = missing
    assert told.why.startswith(f"sizes {SERIES[0]}*: azure: NextPageLink")


@pytest.mark.parametrize("content", [b"<html>", b"{}", b'{"Items": null}'])
def test_series_whose_page_cannot_be_read_leaves_the_others(specs: Specs, content: bytes) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        broken = request.url == first_page(SERIES[1])
        return httpx.Response(200, content=content if broken else linking_to(None))

    missing: list[Missing] = []
    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        pages = list(replies_only(AzureCloud(specs, Access()).fetch(http), missing))
    assert [page.request.url for page in pages] == [first_page(SERIES[0]), first_page(SERIES[2])]
    (told,) = missing
    assert (told.provider, told.region, told.price_kinds) == ("azure", None, ())
    assert told.why.startswith(f"sizes {SERIES[1]}*: ")


@pytest.mark.parametrize(
    ("headers", "pause_s"),
    [
        ({}, None),
        ({"x-ms-ratelimit-remaining-retailPrices-requests": "9"}, PAUSE_S),
        ({"x-ms-ratelimit-remaining-retailPrices-requests": "0"}, BLOCK_S),
        (
            {
                "x-ms-ratelimit-remaining-retailPrices-requests": "0",
                "x-ms-ratelimit-retailPrices-retry-after": "45",
            },
            45.0,
        ),
    ],
    ids=["a recording", "some left", "none left", "none left, for a stated time"],
)
def test_requests_are_spaced_as_the_rate_headers_ask(
    specs: Specs, headers: dict[str, str], pause_s: float | None
) -> None:
    pauses: list[float] = []

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=linking_to(None), headers=headers)

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        list(AzureCloud(specs, Access(), pause=pauses.append).fetch(http))
    between = len(SERIES) - 1
    assert pauses == ([] if pause_s is None else [pause_s] * between)
