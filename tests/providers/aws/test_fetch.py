"""What is asked of AWS, and what happens where it does not answer."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import httpx
import pytest

from broker.domain.errors import ProviderError
from broker.domain.offer import Evidence, Offer, Rejection
from broker.specs.load import Specs
from providers.aws.adapter import AwsCloud
from providers.aws.wire import REGION_INDEX_URL, SPOT_ADVISOR_URL, SPOT_FEED_URL
from providers.kit.access import Access
from providers.kit.http import live_client
from providers.kit.recorded import RecordedTransport

MakeCsv = Callable[..., str]

NOW = datetime(2026, 11, 27, tzinfo=UTC)
PATH = "/offers/v1.0/aws/AmazonEC2/20260910195514/us-east-1/index.json"


class _Trickle(httpx.SyncByteStream):
    """A long body that notes how much of it was asked for."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.sent_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.sent_bytes += len(piece)
            yield piece


def index_of(**paths: str) -> str:
    regions = {name.replace("_", "-"): {"currentVersionUrl": path} for name, path in paths.items()}
    return json.dumps({"formatVersion": "v1.0", "regions": regions})


def client_of(answers: dict[str, httpx.Response], asked: list[str]) -> httpx.Client:
    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return answers.get(str(request.url), httpx.Response(404))

    return live_client(
        lambda: NOW, transport=httpx.MockTransport(answer), sleep=lambda seconds: None
    )


def test_every_recorded_request_is_made_and_no_other(specs: Specs) -> None:
    transport = RecordedTransport("aws")
    aws = AwsCloud(specs, Access(regions=("us-east-1", "us-east-2", "us-west-2", "eu-west-1")))

    with httpx.Client(transport=transport) as http:
        replies = list(aws.fetch(http))

    assert len(replies) == 7
    assert transport.unused() == ()


def test_a_region_is_asked_for_once_as_csv_by_the_path_of_the_index(
    specs: Specs, make_csv: MakeCsv
) -> None:
    csv_url = f"https://pricing.us-east-1.amazonaws.com{PATH.removesuffix('json')}csv"
    asked: list[str] = []
    answers = {
        REGION_INDEX_URL: httpx.Response(200, text=index_of(us_east_1=PATH)),
        csv_url: httpx.Response(200, text=make_csv([{}])),
    }
    aws = AwsCloud(specs, Access(regions=("us-east-1", "us-east-1")))

    with client_of(answers, asked) as http:
        found = list(aws.offers_in(aws.fetch(http)))

    assert asked == [REGION_INDEX_URL, SPOT_ADVISOR_URL, SPOT_FEED_URL, csv_url]
    (offer,) = (one for one in found if isinstance(one, Offer))
    assert offer.provenance.evidence is Evidence.LIVE
    assert offer.provenance.observed_at == NOW
    assert offer.provenance.source == csv_url


def test_spot_feeds_that_are_gone_do_not_hold_up_the_price_files(
    specs: Specs, make_csv: MakeCsv
) -> None:
    csv_url = f"https://pricing.us-east-1.amazonaws.com{PATH.removesuffix('json')}csv"
    answers = {
        REGION_INDEX_URL: httpx.Response(200, text=index_of(us_east_1=PATH)),
        csv_url: httpx.Response(200, text=make_csv([{}])),
    }
    aws = AwsCloud(specs, Access(regions=("us-east-1",)))

    with client_of(answers, []) as http:
        found = list(aws.offers_in(aws.fetch(http)))

    assert [one.key for one in found if isinstance(one, Offer)] == [
        "aws/p5.48xlarge/us-east-1@on_demand"
    ]
    rejections = [one for one in found if isinstance(one, Rejection)]
    assert [(one.subject, one.reason) for one in rejections] == [
        (SPOT_ADVISOR_URL, "feed_unavailable"),
        (SPOT_FEED_URL, "feed_unavailable"),
    ]
    assert all("404" in one.detail for one in rejections)


def test_a_price_file_that_is_gone_fails_the_refresh(specs: Specs) -> None:
    answers = {REGION_INDEX_URL: httpx.Response(200, text=index_of(us_east_1=PATH))}
    aws = AwsCloud(specs, Access(regions=("us-east-1",)))

    with client_of(answers, []) as http, pytest.raises(ProviderError, match="404"):
        list(aws.offers_in(aws.fetch(http)))


@pytest.mark.parametrize(
    ("region", "reason"),
    [
        ("mars-north-1", "region_not_listed"),
        ("us-gov-west-1", "other_partition"),
        ("cn-north-1-pkx-1", "other_partition"),
        ("aws-cn-other", "other_partition"),
    ],
)
def test_a_region_that_has_no_file_for_us_is_told_and_not_asked_for(
    specs: Specs, region: str, reason: str
) -> None:
    listed = index_of(us_gov_west_1=PATH, cn_north_1_pkx_1=PATH, aws_cn_other=PATH)
    asked: list[str] = []
    aws = AwsCloud(specs, Access(regions=(region,)))

    with client_of({REGION_INDEX_URL: httpx.Response(200, text=listed)}, asked) as http:
        found = list(aws.offers_in(aws.fetch(http)))

    assert (region, reason) in {
        (one.subject, one.reason) for one in found if isinstance(one, Rejection)
    }
    assert asked == [REGION_INDEX_URL, SPOT_ADVISOR_URL, SPOT_FEED_URL]


@pytest.mark.parametrize(
    "path", ["https://elsewhere.example/index.json", "/offers/v1.0/aws/AmazonEC2/x/index.zip"]
)
def test_a_path_that_is_no_price_file_is_not_followed(specs: Specs, path: str) -> None:
    asked: list[str] = []
    answers = {REGION_INDEX_URL: httpx.Response(200, text=index_of(us_east_1=path))}
    aws = AwsCloud(specs, Access(regions=("us-east-1",)))

    with client_of(answers, asked) as http, pytest.raises(ProviderError, match="currentVersionUrl"):
        list(aws.fetch(http))
    assert asked == [REGION_INDEX_URL, SPOT_ADVISOR_URL, SPOT_FEED_URL]


@pytest.mark.parametrize("text", ["<html>", "{}", '{"regions": {"us-east-1"'])
def test_an_index_that_cannot_be_read_fails_the_refresh(specs: Specs, text: str) -> None:
    aws = AwsCloud(specs, Access(regions=("us-east-1",)))

    with (
        client_of({REGION_INDEX_URL: httpx.Response(200, text=text)}, []) as http,
        pytest.raises(ProviderError, match="region_index"),
    ):
        list(aws.fetch(http))


def test_a_long_price_file_is_not_loaded_before_it_is_read(specs: Specs, make_csv: MakeCsv) -> None:
    csv_url = f"https://pricing.us-east-1.amazonaws.com{PATH.removesuffix('json')}csv"
    row = make_csv([{"Instance Type": "m5.xlarge", "Instance Family": "", "GPU": ""}])
    header, plain = row.rsplit("\n", 2)[:2]
    block = (f"{plain}\n" * 4000).encode()
    body = _Trickle(iter([f"{header}\n".encode(), *[block] * 20]))
    answers = {
        REGION_INDEX_URL: httpx.Response(200, text=index_of(us_east_1=PATH)),
        csv_url: httpx.Response(200, stream=body),
    }
    aws = AwsCloud(specs, Access(regions=("us-east-1",)))

    with client_of(answers, []) as http:
        *_, reply = aws.fetch(http)
        sent_bytes = body.sent_bytes
        found = [one for one in aws.offers_in([reply]) if isinstance(one, Offer)]

    assert sent_bytes < 0.6 * body.sent_bytes
    assert found == []
