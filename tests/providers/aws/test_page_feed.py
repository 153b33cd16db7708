"""The feed of the on-demand page: the small source of the regions without a price file."""

import gzip
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal

import httpx
import pytest

from broker.domain.offer import Offer, PriceKind, Rejection
from broker.specs.load import Specs
from providers.aws.adapter import AwsCloud
from providers.aws.feeds import LOCATIONS_URL, PAGE_FEEDS_URL
from providers.kit.access import Access
from providers.kit.parts import is_unreadable

MakeReply = Callable[..., httpx.Response]
Found = tuple[list[Offer], list[Rejection]]
Read = Callable[..., Found]

NAME = "EU (Stockholm)"
URL = f"{PAGE_FEEDS_URL}EU%20(Stockholm)/Linux/index.json"
LOCATIONS = {NAME: {"name": NAME, "code": "eu-north-1", "type": "AWS Region"}}
ROW: Mapping[str, str] = {
    "rateCode": "EXAMPLE1.JRTCKXETXF.6YS6EN2CT7",
    "price": "63.2960000000",
    "Location": NAME,
    "Instance Family": "GPU instance",
    "vCPU": "192",
    "Instance Type": "p5.48xlarge",
    "Memory": "2048 GiB",
    "plc:OperatingSystem": "Linux",
    "Operating System": "Linux",
    "Pre Installed S/W": "NA",
    "License Model": "No License required",
}


def feed(*rows: Mapping[str, str], currency: str = "USD", since: str = "2026-09-01") -> bytes:
    manifest = {"currencyCode": currency, "hawkFilePublicationDate": since}
    listed = {f"machine {n}": row for n, row in enumerate(rows)}
    return json.dumps({"manifest": manifest, "sets": {}, "regions": {NAME: listed}}).encode()


@pytest.fixture
def read(specs: Specs, make_reply: MakeReply) -> Read:
    def translate(content: bytes) -> Found:
        aws = AwsCloud(specs, Access())
        replies = [
            make_reply(json.dumps(LOCATIONS), LOCATIONS_URL),
            make_reply(iter([content]), URL),
        ]
        for reply in replies:
            reply.read()
        found = list(aws.offers_in(replies))
        return (
            [one for one in found if isinstance(one, Offer)],
            [one for one in found if isinstance(one, Rejection)],
        )

    return translate


def test_a_row_is_a_plain_machine_on_demand(read: Read) -> None:
    (offer,), rejections = read(feed(ROW))

    assert rejections == []
    assert offer.key == "aws/p5.48xlarge/eu-north-1@on_demand"
    assert offer.price_kind is PriceKind.ON_DEMAND
    assert offer.usd_per_hour == Decimal("63.296")
    assert offer.hardware.shape.gpu == "H100-SXM"
    assert offer.hardware.host_memory_gib == 2048
    assert offer.provenance.effective_at == datetime(2026, 9, 1, tzinfo=UTC)
    assert offer.place.country == "SE"


def test_a_body_that_is_gzip_without_saying_so_is_unpacked(read: Read) -> None:
    assert read(gzip.compress(feed(ROW))) == read(feed(ROW))


def test_the_list_of_locations_may_be_gzip_too(specs: Specs, make_reply: MakeReply) -> None:
    packed = make_reply(iter([gzip.compress(json.dumps(LOCATIONS).encode())]), LOCATIONS_URL)
    packed.read()
    reply = make_reply(feed(ROW).decode(), URL)

    (offer,) = AwsCloud(specs, Access()).offers_in([packed, reply])
    assert isinstance(offer, Offer)


def test_machines_without_gpus_are_not_of_interest(read: Read) -> None:
    plain = {**ROW, "Instance Type": "m6in.large", "Instance Family": "General purpose"}

    assert read(feed(plain)) == ([], [])


@pytest.mark.parametrize(
    ("difference", "reason"),
    [
        ({"price": "0.0000000000"}, "zero_price"),
        ({"price": "?"}, "unreadable_price"),
        ({"Operating System": "Windows"}, "other_operating_system"),
        ({"Pre Installed S/W": "SQL Std"}, "preinstalled_software"),
        ({"License Model": "Bring your own license"}, "licence_needed"),
        ({"Instance Type": "p99.48xlarge"}, "unknown_instance_type"),
    ],
)
def test_a_row_that_is_no_plain_linux_machine_is_rejected(
    read: Read, difference: Mapping[str, str], reason: str
) -> None:
    offers, rejections = read(feed({**ROW, **difference}))

    assert offers == []
    assert [one.reason for one in rejections] == [reason]


@pytest.mark.parametrize("field", ["price", "rateCode", "Operating System", "License Model"])
def test_a_row_that_lacks_a_field_spares_its_neighbours(read: Read, field: str) -> None:
    lacking = {name: value for name, value in ROW.items() if name != field}
    offers, (rejection,) = read(feed(lacking, ROW))

    assert len(offers) == 1
    assert (rejection.subject, rejection.reason) == ("eu-north-1/unreadable", "missing_field")


def test_a_feed_in_another_currency_gives_no_offer(read: Read) -> None:
    offers, (rejection,) = read(feed(ROW, currency="CNY"))

    assert offers == []
    assert rejection.reason == "other_currency"


@pytest.mark.parametrize(
    "content", [b"", b"<html>", b"{}", feed(ROW)[:-9], gzip.compress(feed(ROW))[:-9]]
)
def test_a_feed_of_another_form_is_marked_as_unreadable(
    read: Read, aws: AwsCloud, make_reply: MakeReply, content: bytes
) -> None:
    assert [one.reason for one in read(content)[1]] == ["unreadable_reply"]

    locations = make_reply(json.dumps(LOCATIONS), LOCATIONS_URL)
    reply = make_reply(iter([content]), URL)
    reply.read()
    list(aws.offers_in([locations, reply]))
    assert is_unreadable(reply)


def test_a_feed_of_a_place_that_no_list_names_is_refused(
    aws: AwsCloud, make_reply: MakeReply
) -> None:
    (told,) = aws.offers_in([make_reply(feed(ROW).decode(), URL)])

    assert isinstance(told, Rejection)
    assert (told.subject, told.reason) == (NAME, "unknown_region")
