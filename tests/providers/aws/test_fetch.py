"""What is asked of AWS, and what happens where it does not answer."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TypeGuard

import httpx
import pytest

from broker.domain.errors import ProviderError
from broker.domain.offer import Evidence, Offer, Rejection
from broker.specs.load import Specs
from providers.aws.adapter import AwsCloud
from providers.aws.feeds import (
    BLOCKS_URL,
    LOCATIONS_URL,
    PAGE_FEEDS_URL,
    REGION_INDEX_URL,
    SAVINGS_INDEX_URL,
    SPOT_ADVISOR_URL,
    SPOT_FEED_URL,
)
from providers.kit.access import Access
from providers.kit.http import live_client
from providers.kit.parts import Missing, replies_only
from providers.kit.recorded import RecordedTransport, recordings

MakeCsv = Callable[..., str]

NOW = datetime(2026, 11, 27, tzinfo=UTC)
PATH = "/offers/v1.0/aws/AmazonEC2/20260910195514/us-east-1/index.json"
WEST = "/offers/v1.0/aws/AmazonEC2/20260910195514/us-west-2/index.json"
PLANS = "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan/20261006182900/us-east-1/index"
SAVINGS = {"regionCode": "us-east-1", "versionUrl": f"{PLANS}.json"}
CSV_URL = f"https://pricing.us-east-1.amazonaws.com{PATH.removesuffix('json')}csv"
SAVINGS_CSV_URL = f"https://pricing.us-east-1.amazonaws.com{PLANS}.csv"
FEED_URL = f"{PAGE_FEEDS_URL}EU%20(Stockholm)/Linux/index.json"
LOCATIONS = {
    name: {"name": name, "code": code, "type": kind}
    for name, code, kind in (
        ("US East (N. Virginia)", "us-east-1", "AWS Region"),
        ("EU (Stockholm)", "eu-north-1", "AWS Region"),
        ("EU (Paris)", "eu-west-3", "AWS Region"),  # which the index of the tests does not list
        ("US West (Phoenix)", "us-west-2-phx-1", "AWS Local Zones"),
        ("AWS GovCloud (US)", "us-gov-west-1", "AWS Region"),
    )
}
FEED = {
    "manifest": {"currencyCode": "USD", "hawkFilePublicationDate": "2026-10-01T00:00:00Z"},
    "regions": {
        "EU (Stockholm)": {
            "p5 48xlarge EU Stockholm Linux": {
                "rateCode": "EXAMPLE.JRTCKXETXF.6YS6EN2CT7",
                "price": "63.2960000000",
                "Instance Type": "p5.48xlarge",
                "Operating System": "Linux",
                "Pre Installed S/W": "NA",
                "License Model": "No License required",
            }
        }
    },
}
SMALL = [
    REGION_INDEX_URL,
    LOCATIONS_URL,
    SPOT_ADVISOR_URL,
    SPOT_FEED_URL,
    BLOCKS_URL,
    SAVINGS_INDEX_URL,
]


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


def refresh(
    aws: AwsCloud, answers: dict[str, httpx.Response], asked: list[str]
) -> tuple[list[Offer | Rejection], list[Missing]]:
    """Read AWS as a refresh does, answering only some requests; `asked` gets all of them."""
    missing: list[Missing] = []
    with client_of(answers, asked) as http:
        found = list(aws.offers_in(replies_only(aws.fetch(http), missing)))
    return found, missing


def is_price_file(part: httpx.Response | Missing) -> TypeGuard[httpx.Response]:
    return isinstance(part, httpx.Response) and part.request.url.path.endswith(".csv")


def test_every_recorded_request_is_made_and_no_other(specs: Specs) -> None:
    transport = RecordedTransport("aws")

    with httpx.Client(transport=transport) as http:
        parts = list(AwsCloud(specs, Access()).fetch(http))

    assert [one for one in parts if isinstance(one, Missing)] == []
    # two indexes, locations, advisor, spot, blocks; four price files, one of plans; twelve feeds
    assert len(parts) == 2 + 4 + 4 + 1 + 12
    assert transport.unused() == ()


def test_a_named_region_is_asked_for_once_as_csv_by_the_path_of_the_index_and_no_other(
    specs: Specs, make_csv: MakeCsv
) -> None:
    asked: list[str] = []
    answers = {
        REGION_INDEX_URL: httpx.Response(200, text=index_of(us_east_1=PATH, us_east_2=PATH)),
        CSV_URL: httpx.Response(200, text=make_csv([{}])),
    }
    aws = AwsCloud(specs, Access(regions=("us-east-1", "us-east-1")))

    found, _ = refresh(aws, answers, asked)

    assert asked == [*SMALL, CSV_URL]
    (offer,) = (one for one in found if isinstance(one, Offer))
    assert offer.provenance.evidence is Evidence.LIVE
    assert offer.provenance.observed_at == NOW
    assert offer.provenance.source == CSV_URL


def test_without_named_regions_the_feeds_of_all_others_are_read(
    specs: Specs, make_csv: MakeCsv
) -> None:
    asked: list[str] = []
    answers = {
        REGION_INDEX_URL: httpx.Response(200, text=index_of(us_east_1=PATH, eu_north_1=PATH)),
        LOCATIONS_URL: httpx.Response(200, json=LOCATIONS),
        CSV_URL: httpx.Response(200, text=make_csv([{}])),
        FEED_URL: httpx.Response(200, json=FEED),
    }

    found, missing = refresh(AwsCloud(specs, Access()), answers, asked)

    assert asked == [*SMALL, CSV_URL, FEED_URL]
    assert [one.key for one in found if isinstance(one, Offer)] == [
        "aws/p5.48xlarge/us-east-1@on_demand",
        "aws/p5.48xlarge/eu-north-1@on_demand",
    ]
    assert not any(one.region for one in missing)


def test_small_replies_that_are_gone_do_not_hold_up_the_price_files(
    specs: Specs, make_csv: MakeCsv
) -> None:
    answers = {
        REGION_INDEX_URL: httpx.Response(200, text=index_of(us_east_1=PATH)),
        CSV_URL: httpx.Response(200, text=make_csv([{}])),
    }

    found, missing = refresh(AwsCloud(specs, Access(regions=("us-east-1",))), answers, [])

    assert [one.key for one in found if isinstance(one, Offer)] == [
        "aws/p5.48xlarge/us-east-1@on_demand"
    ]
    assert [(one.region, one.price_kinds) for one in missing] == [
        (None, ("on_demand", "capacity_block")),
        (None, ("spot",)),
        (None, ("capacity_block",)),
        (None, ("savings_plan",)),
    ]
    assert all("404" in one.why for one in missing)


def test_spot_offers_without_the_advisor_say_that_interruptions_are_unknown(specs: Specs) -> None:
    answers = {
        REGION_INDEX_URL: httpx.Response(200, text=index_of()),
        SPOT_FEED_URL: httpx.Response(200, json={"config": {"rate": "perhr", "regions": []}}),
    }

    found, missing = refresh(AwsCloud(specs, Access(regions=("us-east-1",))), answers, [])

    told = [(one.subject, one.reason) for one in found if isinstance(one, Rejection)]
    assert (SPOT_ADVISOR_URL, "interruptions_unknown") in told
    assert not any(one.price_kinds == ("spot",) for one in missing)


def test_the_only_price_file_being_gone_with_all_else_fails_the_refresh(specs: Specs) -> None:
    answers = {REGION_INDEX_URL: httpx.Response(200, text=index_of(us_east_1=PATH))}
    aws = AwsCloud(specs, Access(regions=("us-east-1",)))

    with pytest.raises(ProviderError, match="404"):
        refresh(aws, answers, [])


@pytest.mark.parametrize("broken", ["gone", "cut short", "no price file"])
def test_a_price_file_that_fails_marks_its_region_and_the_others_are_used(
    specs: Specs, make_csv: MakeCsv, broken: str
) -> None:
    other = f"https://pricing.us-east-1.amazonaws.com{WEST.removesuffix('json')}csv"
    answers = {
        REGION_INDEX_URL: httpx.Response(200, text=index_of(us_east_1=PATH, us_west_2=WEST)),
        SAVINGS_INDEX_URL: httpx.Response(200, json={"regions": [SAVINGS]}),
        other: httpx.Response(200, text=make_csv([{"Region Code": "us-west-2"}])),
    }
    if broken == "cut short":
        answers[CSV_URL] = httpx.Response(200, text=make_csv([{}])[:-20])
    if broken == "no price file":
        answers[CSV_URL] = httpx.Response(200, text="<html>")
    asked: list[str] = []
    aws = AwsCloud(specs, Access(regions=("us-east-1", "us-west-2")))

    found, missing = refresh(aws, answers, asked)

    assert [one.key for one in found if isinstance(one, Offer)] == [
        "aws/p5.48xlarge/us-west-2@on_demand"
    ]
    (region,) = (one for one in missing if one.region)
    assert (region.region, region.price_kinds) == (
        "us-east-1",
        ("on_demand", "reserved", "savings_plan"),
    )
    assert "us-east-1/index.csv" in region.why
    assert SAVINGS_CSV_URL not in asked  # plans mean nothing without the machines' SKUs


def test_a_savings_plan_file_that_fails_leaves_the_prices_of_its_region(
    specs: Specs, make_csv: MakeCsv
) -> None:
    answers = {
        REGION_INDEX_URL: httpx.Response(200, text=index_of(us_east_1=PATH)),
        SAVINGS_INDEX_URL: httpx.Response(200, json={"regions": [SAVINGS]}),
        CSV_URL: httpx.Response(200, text=make_csv([{}])),
        SAVINGS_CSV_URL: httpx.Response(200, text="FormatVersion,v1.0\n"),
    }
    asked: list[str] = []

    found, missing = refresh(AwsCloud(specs, Access(regions=("us-east-1",))), answers, asked)

    assert asked[-2:] == [CSV_URL, SAVINGS_CSV_URL]
    assert len([one for one in found if isinstance(one, Offer)]) == 1
    assert (missing[-1].region, missing[-1].price_kinds) == ("us-east-1", ("savings_plan",))


def test_a_feed_that_fails_marks_the_machines_on_demand_of_its_region(
    specs: Specs, make_csv: MakeCsv
) -> None:
    answers = {
        REGION_INDEX_URL: httpx.Response(200, text=index_of(us_east_1=PATH, eu_north_1=PATH)),
        LOCATIONS_URL: httpx.Response(200, json=LOCATIONS),
        CSV_URL: httpx.Response(200, text=make_csv([{}])),
        FEED_URL: httpx.Response(200, text="<html>"),
    }

    _, missing = refresh(AwsCloud(specs, Access()), answers, [])

    assert (missing[-1].region, missing[-1].price_kinds) == ("eu-north-1", ("on_demand",))


@pytest.mark.parametrize(
    ("name", "said"), [("access-denied", "403.*AccessDenied"), ("slow-down", "503.*SlowDown")]
)
def test_recorded_errors_are_told_in_the_words_of_the_store(
    specs: Specs, name: str, said: str
) -> None:
    (failed,) = (one for one in recordings("aws") if one.name == name)
    broken = httpx.MockTransport(lambda _: failed.reply())

    with (
        live_client(lambda: NOW, transport=broken, sleep=lambda _: None) as http,
        pytest.raises(ProviderError, match=said),
    ):
        list(AwsCloud(specs, Access()).fetch(http))


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

    answers = {
        REGION_INDEX_URL: httpx.Response(200, text=listed),
        SPOT_FEED_URL: httpx.Response(200, json={"config": {"rate": "perhr", "regions": []}}),
    }
    found, _ = refresh(aws, answers, asked)

    assert (region, reason) in {
        (one.subject, one.reason) for one in found if isinstance(one, Rejection)
    }
    assert asked == SMALL


@pytest.mark.parametrize(
    "path", ["https://elsewhere.example/index.json", "/offers/v1.0/aws/AmazonEC2/x/index.zip"]
)
def test_a_path_that_is_no_price_file_is_not_followed(specs: Specs, path: str) -> None:
    asked: list[str] = []
    answers = {
        REGION_INDEX_URL: httpx.Response(200, text=index_of(us_east_1=path)),
        SPOT_FEED_URL: httpx.Response(200, json={"config": {"rate": "perhr", "regions": []}}),
    }
    aws = AwsCloud(specs, Access(regions=("us-east-1",)))

    _, missing = refresh(aws, answers, asked)

    (told,) = (one for one in missing if one.region)
    assert "no path of a price file" in told.why
    assert asked == SMALL


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
        reply = next(one for one in aws.fetch(http) if is_price_file(one))
        sent_bytes = body.sent_bytes
        found = [one for one in aws.offers_in([reply]) if isinstance(one, Offer)]

    assert sent_bytes < 0.6 * body.sent_bytes
    assert found == []
