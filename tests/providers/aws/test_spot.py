"""Spot offers: from the public feed, with the Spot Advisor's interruptions."""

import json
from collections.abc import Callable
from decimal import Decimal

import httpx
import pytest

from broker.domain.offer import Billing, Offer, PriceKind, Rejection
from broker.specs.load import Specs
from providers.aws.adapter import AwsCloud
from providers.aws.feeds import SPOT_ADVISOR_URL, SPOT_FEED_URL
from providers.kit.access import Access

MakeReply = Callable[..., httpx.Response]

RANGES = [
    {"index": 0, "label": "<5%", "max": 5},
    {"index": 1, "label": "5-10%", "max": 11},
    {"index": 4, "label": ">20%", "max": 100},
    {"index": 7, "label": "often", "max": 100},
]

EMPTY_ADVISOR = json.dumps({"ranges": [], "spot_advisor": {}})


def feed(*prices: tuple[str, str], region: str = "us-east", rate: str = "perhr") -> str:
    sizes = [
        {"size": size, "valueColumns": [{"name": "linux", "prices": {"USD": price}}]}
        for size, price in prices
    ]
    part = {"region": region, "instanceTypes": [{"type": "gpuCurrentGen", "sizes": sizes}]}
    return json.dumps({"vers": 0.01, "config": {"rate": rate, "regions": [part]}})


def advisor(bucket: object, region: str = "us-east-1", system: str = "Linux") -> str:
    entries = {region: {system: {"p5.48xlarge": {"s": 57, "r": bucket}}}}
    return json.dumps({"ranges": RANGES, "spot_advisor": entries})


@pytest.fixture
def read(
    aws: AwsCloud, make_reply: MakeReply
) -> Callable[..., tuple[list[Offer], list[Rejection]]]:
    def translate(*texts: tuple[str, str]) -> tuple[list[Offer], list[Rejection]]:
        if SPOT_ADVISOR_URL not in dict(texts):
            texts = ((SPOT_ADVISOR_URL, EMPTY_ADVISOR), *texts)
        found = list(aws.offers_in(make_reply(text, url) for url, text in texts))
        return (
            [one for one in found if isinstance(one, Offer)],
            [one for one in found if isinstance(one, Rejection)],
        )

    return translate


Read = Callable[..., tuple[list[Offer], list[Rejection]]]


def test_a_price_of_the_feed_is_a_spot_offer_of_the_whole_region(read: Read) -> None:
    (offer,), rejections = read((SPOT_FEED_URL, feed(("p5.48xlarge", "21.1543"))))

    assert rejections == []
    assert offer.key == "aws/p5.48xlarge/us-east-1@spot"
    assert offer.price_kind is PriceKind.SPOT
    assert offer.usd_per_hour == offer.quote.amount == Decimal("21.1543")
    assert offer.hardware.shape.gpu == "H100-SXM"
    assert offer.spot is not None
    assert offer.spot.notice_s == 120
    assert offer.billing == Billing(minimum_h=1 / 60, step_s=1)
    assert offer.warnings == ("region_wide_spot_price",)
    assert offer.provenance.source == SPOT_FEED_URL
    assert offer.provenance.effective_at is None


@pytest.mark.parametrize(
    ("old", "region"),
    [
        ("us-east", "us-east-1"),
        ("us-west", "us-west-1"),
        ("eu-ireland", "eu-west-1"),
        ("apac-sin", "ap-southeast-1"),
        ("apac-syd", "ap-southeast-2"),
        ("apac-tokyo", "ap-northeast-1"),
        ("us-west-2", "us-west-2"),
    ],
)
def test_old_region_names_of_the_feed_are_translated(
    specs: Specs, make_reply: MakeReply, old: str, region: str
) -> None:
    aws = AwsCloud(specs, Access(regions=(region,)))
    reply = make_reply(feed(("p5.48xlarge", "20"), region=old), SPOT_FEED_URL)

    (offer,) = (one for one in aws.offers_in([reply]) if isinstance(one, Offer))
    assert offer.place.region == region


@pytest.mark.parametrize(
    ("bucket", "share"),
    [(0, (0.0, 0.05)), (1, (0.05, 0.10)), (4, (0.20, 1.0)), (7, None), (9, None), ("x", None)],
)
def test_interruptions_are_read_by_the_label_of_their_bucket(
    read: Read, bucket: object, share: tuple[float, float] | None
) -> None:
    (offer,), _ = read(
        (SPOT_ADVISOR_URL, advisor(bucket)), (SPOT_FEED_URL, feed(("p5.48xlarge", "20")))
    )

    assert offer.spot is not None
    assert offer.spot.monthly_interruption == share


def test_a_type_that_the_advisor_does_not_list_is_unknown_and_not_safe(read: Read) -> None:
    (offer,), _ = read(
        (SPOT_ADVISOR_URL, advisor(0)), (SPOT_FEED_URL, feed(("p4d.24xlarge", "7.8799")))
    )

    assert offer.spot is not None
    assert offer.spot.monthly_interruption is None


@pytest.mark.parametrize("elsewhere", [{"region": "us-west-2"}, {"system": "Windows"}])
def test_interruptions_of_another_region_or_system_do_not_count(
    read: Read, elsewhere: dict[str, str]
) -> None:
    (offer,), _ = read(
        (SPOT_ADVISOR_URL, advisor(0, **elsewhere)), (SPOT_FEED_URL, feed(("p5.48xlarge", "20")))
    )

    assert offer.spot is not None
    assert offer.spot.monthly_interruption is None


def test_the_order_of_the_two_feeds_does_not_matter(read: Read) -> None:
    texts = ((SPOT_ADVISOR_URL, advisor(1)), (SPOT_FEED_URL, feed(("p5.48xlarge", "20"))))

    assert read(*texts) == read(*reversed(texts))


@pytest.mark.parametrize(
    ("price", "reason"),
    [
        ("N/A*", "unreadable_price"),
        ("", "unreadable_price"),
        ("0", "zero_price"),
        ("0.0000", "zero_price"),
        ("-1", "negative_price"),
        ("NaN", "unreadable_price"),
    ],
)
def test_what_is_no_price_is_a_rejection(read: Read, price: str, reason: str) -> None:
    offers, rejections = read((SPOT_FEED_URL, feed(("p5.48xlarge", price))))

    assert offers == []
    assert [(one.subject, one.reason) for one in rejections] == [
        ("us-east-1/p5.48xlarge@spot", reason)
    ]


def test_a_type_of_a_gpu_family_that_no_table_has_is_a_rejection(read: Read) -> None:
    offers, rejections = read((SPOT_FEED_URL, feed(("p99.48xlarge", "20"), ("m6i.xlarge", "0.1"))))

    assert offers == []
    assert [one.reason for one in rejections] == ["unknown_instance_type"]


def test_a_row_of_another_form_spares_its_neighbours(read: Read) -> None:
    body = json.loads(feed(("p5.48xlarge", "20")))
    sizes = body["config"]["regions"][0]["instanceTypes"][0]["sizes"]
    windows = [{"name": "mswin", "prices": {"USD": "30"}}]
    sizes += [{"size": "g5.xlarge"}, {"size": "p4d.24xlarge", "valueColumns": windows}]

    offers, rejections = read((SPOT_FEED_URL, json.dumps(body)))

    assert [one.instance_type for one in offers] == ["p5.48xlarge"]
    assert [one.reason for one in rejections] == ["missing_field", "no_linux_price"]


def test_fields_that_are_not_read_may_come_and_go(read: Read) -> None:
    body = {**json.loads(feed(("p5.48xlarge", "20"))), "new": {"field": 1}}

    assert len(read((SPOT_FEED_URL, json.dumps(body)))[0]) == 1


def test_a_region_without_a_part_in_the_feed_is_told(read: Read) -> None:
    offers, (rejection,) = read((SPOT_FEED_URL, feed(("p5.48xlarge", "20"), region="us-east-2")))

    assert offers == []
    assert (rejection.subject, rejection.reason) == ("us-east-1/all@spot", "region_not_listed")


def test_spot_prices_of_govcloud_are_not_taken(specs: Specs, make_reply: MakeReply) -> None:
    aws = AwsCloud(specs, Access(regions=("us-gov-west-1",)))
    reply = make_reply(feed(("p5.48xlarge", "20"), region="us-gov-west-1"), SPOT_FEED_URL)

    assert [one for one in aws.offers_in([reply]) if isinstance(one, Offer)] == []


def test_without_named_regions_all_of_the_commercial_ones_are_taken(
    specs: Specs, make_reply: MakeReply
) -> None:
    aws = AwsCloud(specs, Access())
    body = json.loads(feed(("p5.48xlarge", "20")))
    (part,) = body["config"]["regions"]
    body["config"]["regions"] += [
        {**part, "region": name} for name in ("eu-west-3", "us-gov-west-1")
    ]

    found = list(aws.offers_in([make_reply(json.dumps(body), SPOT_FEED_URL)]))
    assert [one.place.region for one in found if isinstance(one, Offer)] == [
        "us-east-1",
        "eu-west-3",
    ]


def test_prices_that_are_not_by_the_hour_are_not_taken(read: Read) -> None:
    offers, (rejection,) = read((SPOT_FEED_URL, feed(("p5.48xlarge", "20"), rate="persec")))

    assert offers == []
    assert rejection.reason == "other_unit"


@pytest.mark.parametrize("text", ["", "<html>", '{"config": {}}', '{"config": {"rate": "perhr"'])
def test_a_feed_that_cannot_be_read_is_a_rejection_of_that_feed_alone(
    read: Read, text: str
) -> None:
    offers, (rejection,) = read((SPOT_FEED_URL, text))

    assert offers == []
    assert (rejection.subject, rejection.reason) == (SPOT_FEED_URL, "unreadable_reply")


def test_an_advisor_that_cannot_be_read_leaves_interruptions_unknown(read: Read) -> None:
    (offer,), rejections = read(
        (SPOT_ADVISOR_URL, "<html>"), (SPOT_FEED_URL, feed(("p5.48xlarge", "20")))
    )

    assert offer.spot is not None
    assert offer.spot.monthly_interruption is None
    assert [(one.subject, one.reason) for one in rejections] == [
        (SPOT_ADVISOR_URL, "unreadable_reply"),
        (SPOT_ADVISOR_URL, "interruptions_unknown"),
    ]
