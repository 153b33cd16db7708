"""Capacity blocks: what the pricing page says, cell by cell."""

import json
from collections.abc import Callable
from decimal import Decimal

import httpx
import pytest

from broker.domain.offer import Block, Link, Offer, PriceKind, Rejection
from broker.specs.load import Specs
from providers.aws.adapter import AwsCloud
from providers.aws.blocks import LENGTHS_H
from providers.aws.feeds import BLOCKS_URL, LOCATIONS_URL
from providers.kit.access import Access
from providers.kit.parts import is_unreadable

MakeReply = Callable[..., httpx.Response]
Found = tuple[list[Offer], list[Rejection]]
Read = Callable[..., Found]

LOCATIONS = {
    name: {"name": name, "code": code, "type": kind}
    for name, code, kind in (
        ("US East (N. Virginia)", "us-east-1", "AWS Region"),
        ("EU (Stockholm)", "eu-north-1", "AWS Region"),
        ("Asia Pacific (Sydney)", "ap-southeast-2", "AWS Region"),
        ("South America (Sao Paulo)", "sa-east-1", "AWS Region"),
        ("US East (Dallas)", "us-east-1-dfw-1", "AWS Local Zones"),
        ("AWS GovCloud (US)", "us-gov-west-1", "AWS Region"),
    )
}
COLUMNS = ("Instance Type", "Region", "Effective Hourly Rate", "ACCELERATOR")


def page(*rows: tuple[str, str, str], columns: tuple[str, ...] = COLUMNS) -> str:
    """Write the page with one table: label, region and rate of each row."""
    labels = [{"id": f"row{n}", "label": label} for n, (label, _, _) in enumerate(rows)]
    cells = [
        {"id": n, "idProperty": f"row{n}", "2": f"<p>{region}</p>\r\n", "3": f"<p>{rate}</p>"}
        for n, (_, region, rate) in enumerate(rows)
    ]
    heads = [{"Heading": head, "accessor": str(n)} for n, head in enumerate(columns, 1)]
    fields = {
        "itemHeading": "Pricing",
        "itemTableColumns": json.dumps(heads),
        "itemTableRowGroups": json.dumps(labels),
        "itemTableData": json.dumps(cells),
    }
    script = json.dumps({"data": {"items": [{"fields": {"text": "Overview"}}, {"fields": fields}]}})
    return (
        '<html><script type="application/json">{"other": 1}</script>'
        f'<script id="x" type="application/json">{script}</script></html>'
    )


@pytest.fixture
def read(specs: Specs, make_reply: MakeReply) -> Read:
    def translate(*rows: tuple[str, str, str], regions: tuple[str, ...] = ()) -> Found:
        aws = AwsCloud(specs, Access(regions=regions))
        replies = [
            make_reply(json.dumps(LOCATIONS), LOCATIONS_URL),
            make_reply(page(*rows), BLOCKS_URL),
        ]
        found = list(aws.offers_in(replies))
        return (
            [one for one in found if isinstance(one, Offer)],
            [one for one in found if isinstance(one, Rejection)],
        )

    return translate


P5 = ("p5.48xlarge", "US East (N. Virginia)", "$47.76 USD ($5.97 USD)")


def test_a_row_is_a_block_of_any_length_that_aws_sells(read: Read) -> None:
    (offer,), rejections = read(P5)

    assert rejections == []
    assert offer.key == "aws/p5.48xlarge/us-east-1@capacity_block"
    assert offer.price_kind is PriceKind.CAPACITY_BLOCK
    assert offer.usd_per_hour == offer.quote.amount == Decimal("47.76")
    assert offer.block == Block(lengths_h=LENGTHS_H, book_ahead_days=56)
    assert (offer.limits.min_nodes, offer.limits.max_nodes) == (1, 64)
    assert offer.billing.prepaid is True
    assert offer.commitment is None
    assert offer.provenance.source == BLOCKS_URL


def test_blocks_last_up_to_two_weeks_by_the_day_and_then_by_the_week() -> None:
    days = [hours / 24 for hours in LENGTHS_H]

    assert days[:15] == [*range(1, 15), 21]
    assert days[-2:] == [175, 182]
    assert len(days) == 14 + 24  # 21, 28, ..., 182


def test_an_ultraserver_is_its_machines_all_together(read: Read) -> None:
    # 761.904 for 72 GPUs; 18 machines of four: 42.328 each
    (offer,), _ = read(
        ("u-p6e-gb200x72", "US East (Dallas) Local Zone", "$761.904 ($10.582 USD)<br />")
    )

    assert offer.instance_type == "p6e-gb200.36xlarge"
    assert offer.tier == "u-p6e-gb200x72"
    assert offer.usd_per_hour == Decimal("42.328")
    assert offer.quote.amount == Decimal("761.904")
    assert (offer.limits.min_nodes, offer.limits.max_nodes) == (18, 18)
    assert offer.hardware.shape.gpu_count == 4
    assert offer.hardware.shape.link is Link.NVSWITCH
    assert offer.place.region == "us-east-1-dfw-2"
    assert offer.place.country == "US"


def test_two_sizes_of_ultraserver_are_two_offers(read: Read) -> None:
    zone = "US East (Dallas) Local Zone"
    offers, _ = read(
        ("u-p6e-gb200x72", zone, "$761.904 ($10.582 USD)"),
        ("u-p6e-gb200x36", zone, "$380.952 ($10.582 USD)"),
    )

    assert len({one.key for one in offers}) == 2
    assert [one.limits.min_nodes for one in offers] == [18, 9]


@pytest.mark.parametrize(
    ("name", "region"),
    [
        ("Europe (Stockholm)", "eu-north-1"),
        ("Australia (Sydney)", "ap-southeast-2"),
        ("South America (São Paulo)", "sa-east-1"),
        ("  US East\r\n(N. Virginia) ", "us-east-1"),
        ("US&nbsp;East&nbsp;(N.&nbsp;Virginia)", "us-east-1"),
    ],
)
def test_regions_are_known_however_they_are_written(read: Read, name: str, region: str) -> None:
    (offer,), _ = read((P5[0], name, P5[2]))

    assert offer.place.region == region


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("p5.48xlarge", "Europe (Atlantis)", P5[2]), "unknown_region"),
        (("p5.48xlarge", "US East (Dallas)", P5[2]), "unknown_region"),
        (("p5.48xlarge", "US East (Chicago) Local Zone", P5[2]), "unknown_region"),
        (("p5.48xlarge", "AWS GovCloud (US-East)", P5[2]), "other_partition"),
        (("p99.48xlarge", P5[1], P5[2]), "unknown_instance_type"),
        (("", P5[1], P5[2]), "unknown_instance_type"),
        (("p5.48xlarge", P5[1], "N/A"), "price_on_request"),
        (("p5.48xlarge", P5[1], ""), "price_on_request"),
        (("p5.48xlarge", P5[1], "$47.76 USD"), "ambiguous_price"),
        (("u-p6e-gb200x72", "US East (Dallas) Local Zone", "$10.582 USD"), "ambiguous_price"),
        (("p5.48xlarge", P5[1], "$5.97 USD ($5.97 USD)"), "contradictory_price"),
        (("p5.4xlarge", P5[1], "$47.76 USD ($5.97 USD)"), "contradictory_price"),
        (("p5.48xlarge", P5[1], "$0.00 USD ($0.00 USD)"), "zero_price"),
    ],
)
def test_a_row_without_a_certain_price_is_rejected(
    read: Read, row: tuple[str, str, str], reason: str
) -> None:
    offers, rejections = read(row)

    assert offers == []
    assert [one.reason for one in rejections] == [reason]
    assert rejections[0].subject.endswith("@capacity_block")


def test_regions_that_the_user_did_not_name_are_left_out(read: Read) -> None:
    offers, _ = read(P5, (P5[0], "Europe (Stockholm)", P5[2]), regions=("eu-north-1",))

    assert [one.place.region for one in offers] == ["eu-north-1"]


@pytest.mark.parametrize(
    "text", ["", "<html>try later</html>", page(P5, columns=("Type", "Region", "Linux"))]
)
def test_a_page_without_a_table_of_rates_is_marked_as_unreadable(
    aws: AwsCloud, make_reply: MakeReply, text: str
) -> None:
    reply = make_reply(text, BLOCKS_URL)
    (told,) = aws.offers_in([reply])

    assert isinstance(told, Rejection)
    assert told.reason == "unreadable_reply"
    assert is_unreadable(reply)
