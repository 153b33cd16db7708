"""The recorded catalog of AWS: how many offers, at which published prices, and every trap."""

import csv
from collections import Counter, defaultdict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from broker.domain.offer import Evidence, Link, Offer, PriceKind, Rejection, Virtualization
from broker.specs.load import Specs
from providers.aws.adapter import AwsCloud
from providers.aws.wire import is_accelerated
from providers.kit.access import Access
from providers.kit.recorded import recorded_client, recordings

REGIONS = ("us-east-1", "us-east-2", "us-west-2", "eu-west-1")

PUBLISHED = Path(__file__).parents[3] / "../shared/data/prices"

Found = list[Offer | Rejection]


@pytest.fixture(scope="module")
def found(specs: Specs) -> Found:
    aws = AwsCloud(specs, Access(regions=REGIONS))
    with recorded_client("aws") as http:
        return list(aws.offers_in(aws.fetch(http)))


@pytest.fixture(scope="module")
def offers(found: Found) -> dict[str, Offer]:
    return {one.key: one for one in found if isinstance(one, Offer)}


@pytest.fixture(scope="module")
def rejections(found: Found) -> set[tuple[str, str]]:
    return {(one.subject, one.reason) for one in found if isinstance(one, Rejection)}


def test_every_offer_has_a_key_of_its_own(found: Found, offers: dict[str, Offer]) -> None:
    assert len(offers) == sum(isinstance(one, Offer) for one in found)


def test_offers_are_counted_by_region_and_price_kind(offers: dict[str, Offer]) -> None:
    counts = Counter((one.place.region, str(one.price_kind)) for one in offers.values())

    assert counts == {
        ("us-east-1", "on_demand"): 58,
        ("us-east-1", "reserved"): 21,
        ("us-east-1", "spot"): 11,
        ("us-east-2", "on_demand"): 40,
        ("us-east-2", "spot"): 10,
        ("us-west-2", "on_demand"): 41,
        ("us-west-2", "spot"): 12,
        ("eu-west-1", "on_demand"): 17,
        ("eu-west-1", "spot"): 2,
    }


@pytest.mark.parametrize(
    ("key", "usd_per_hour"),
    [
        # AWS price list 20260910195514
        ("p4d.24xlarge/us-east-1@on_demand", "21.957642"),
        ("p4de.24xlarge/us-east-1@on_demand", "27.44705"),
        ("p5.4xlarge/us-east-1@on_demand", "6.88"),
        ("p5.48xlarge/us-east-1@on_demand", "55.04"),
        ("p5.48xlarge/us-west-2@on_demand", "55.04"),
        ("p5en.48xlarge/us-east-1@on_demand", "63.296"),
        ("p6-b200.48xlarge/us-east-1@on_demand", "113.9328"),
        ("p6-b300.48xlarge/us-east-1@on_demand", "142.416"),
        ("g6e.48xlarge/us-east-1@on_demand", "30.13118"),
        ("g7e.48xlarge/us-east-1@on_demand", "33.14432"),
        # aws-price of 2025-11-03
        ("p4d.24xlarge/eu-west-1@on_demand", "23.71569"),
        ("g5.48xlarge/eu-west-1@on_demand", "18.18233"),
        ("g4dn.metal/us-east-2@on_demand", "7.824"),
        # gpu_pricing_raw of 2026-06-15
        ("p4d.24xlarge/us-east-1@reserved-12m-no_upfront", "13.9211"),
        ("p4de.24xlarge/us-east-1@reserved-36m-no_upfront", "11.7178"),
        ("p5.48xlarge/us-east-1@reserved-36m-no_upfront", "23.7773"),
        ("g6.xlarge/us-east-1@reserved-36m-no_upfront", "0.3694"),
        # skypilot catalog v8: zones use1-az3, euw1-az2, usw2-az2
        ("p5.48xlarge/us-east-1@spot", "21.1543"),
        ("p4d.24xlarge/eu-west-1@spot", "9.7598"),
        ("p6-b300.48xlarge/us-west-2@spot", "33.4308"),
    ],
)
def test_prices_are_those_that_were_published(
    offers: dict[str, Offer], key: str, usd_per_hour: str
) -> None:
    offer = offers[f"aws/{key}"]

    assert offer.usd_per_hour == offer.quote.amount == Decimal(usd_per_hour)
    assert offer.quote.currency == "USD"
    assert offer.provenance.evidence is Evidence.COMPOSED


@pytest.mark.parametrize(
    ("key", "gpu", "count"),
    [
        ("p4d.24xlarge/us-east-1@on_demand", "A100-40-SXM", 8),
        ("p4de.24xlarge/us-west-2@spot", "A100-80-SXM", 8),
        ("p5.4xlarge/us-east-2@on_demand", "H100-SXM", 1),
        ("p5en.48xlarge/us-east-1@on_demand", "H200-SXM", 8),
        ("p5e.48xlarge/us-west-2@spot", "H200-SXM", 8),
        ("p6-b200.48xlarge/us-east-2@spot", "B200", 8),
        ("p6-b300.48xlarge/us-west-2@spot", "B300", 8),
        ("g4dn.12xlarge/eu-west-1@on_demand", "T4", 4),
        ("g5.48xlarge/us-west-2@on_demand", "A10G", 8),
        ("gr6.4xlarge/us-west-2@on_demand", "L4", 1),
        ("g6e.24xlarge/us-east-2@on_demand", "L40S", 4),
        ("g7e.12xlarge/us-east-1@on_demand", "RTXPRO6000", 2),
        ("g6f.large/us-east-1@on_demand", "L4", Fraction(1, 8)),
        ("g6f.4xlarge/us-east-1@on_demand", "L4", Fraction(1, 2)),
    ],
)
def test_gpus_are_those_of_the_instance_type(
    offers: dict[str, Offer], key: str, gpu: str, count: Fraction
) -> None:
    shape = offers[f"aws/{key}"].hardware.shape

    assert (shape.gpu, shape.gpu_count) == (gpu, count)


def test_eight_gpus_with_nvswitch_and_eight_on_pcie_differ(offers: dict[str, Offer]) -> None:
    p5 = offers["aws/p5.48xlarge/us-east-2@on_demand"].hardware
    g6e = offers["aws/g6e.48xlarge/us-east-2@on_demand"].hardware

    assert (p5.shape.link, p5.shape.fabric_gbit_per_s) == (Link.NVSWITCH, 3200)
    assert (g6e.shape.link, g6e.shape.fabric_gbit_per_s) == (Link.PCIE, 400)


def test_metal_is_bare_metal_and_the_rest_are_virtual_machines(offers: dict[str, Offer]) -> None:
    metal = {
        one.instance_type
        for one in offers.values()
        if one.hardware.virtualization is Virtualization.BARE_METAL
    }

    assert metal == {"g4dn.metal"}


def test_one_machine_has_one_hardware_whatever_its_price_kind(offers: dict[str, Offer]) -> None:
    hardware = {one.machine: one.hardware for one in offers.values()}

    assert [one.key for one in offers.values() if one.hardware != hardware[one.machine]] == []


def test_interruptions_are_known_where_the_advisor_lists_a_type(offers: dict[str, Offer]) -> None:
    known = {
        one.machine: one.spot.monthly_interruption
        for one in offers.values()
        if one.spot and one.spot.monthly_interruption
    }

    assert known == {
        "aws/p5.48xlarge/us-east-1": (0.0, 0.05),
        "aws/p5en.48xlarge/us-east-1": (0.0, 0.05),
        "aws/p4d.24xlarge/us-east-1": (0.1, 0.15),
        "aws/p4de.24xlarge/us-east-1": (0.0, 0.05),
    }


@pytest.mark.parametrize(
    "trap",
    [
        ("us-east-1/p5.48xlarge", "capacity_block_price_not_public"),
        ("us-east-1/p6-b200.48xlarge", "capacity_block_price_not_public"),
        ("us-east-1/p5.48xlarge", "unused_capacity_reservation"),
        ("us-east-1/p5.48xlarge", "convertible_reservation"),
        ("us-east-1/p5", "dedicated_tenancy"),
        ("us-east-1/p4d.24xlarge", "dedicated_tenancy"),
        ("us-east-1/g5.xlarge", "other_operating_system"),
        ("us-east-1/g4dn.xlarge", "other_operating_system"),
        ("us-east-1/g5.2xlarge", "preinstalled_software"),
        ("us-east-2/p5e.48xlarge", "zero_price"),
        ("us-east-2/p5e.48xlarge", "capacity_block_price_not_public"),
        ("us-west-2/gr6.8xlarge", "contradicts_known_instance"),
        ("aws/p5.48xlarge/us-west-2@on_demand", "superseded_row"),
        ("eu-west-1/g5.xlarge", "dedicated_tenancy"),
        ("us-east-1/p5.4xlarge@spot", "unreadable_price"),
        ("us-east-1/p6-b300.48xlarge@spot", "negative_price"),
        ("us-east-2/g5.48xlarge@spot", "zero_price"),
    ],
)
def test_traps_are_rejected_with_their_reason(
    rejections: set[tuple[str, str]], trap: tuple[str, str]
) -> None:
    assert trap in rejections


def test_a_type_that_is_sold_by_capacity_block_only_has_no_firm_offer(
    offers: dict[str, Offer],
) -> None:
    kinds = {one.price_kind for one in offers.values() if one.instance_type == "p5e.48xlarge"}

    assert kinds == {PriceKind.SPOT}


def test_a_source_without_a_date_gives_offers_without_one(offers: dict[str, Offer]) -> None:
    assert offers["aws/p5.4xlarge/us-east-2@on_demand"].provenance.effective_at is None


def test_every_row_with_a_gpu_is_an_offer_or_is_counted_once(found: Found) -> None:
    rows = 0
    for recording in recordings("aws"):
        if recording.name.startswith("prices-") and recording.response.text:
            lines = recording.response.text.splitlines()[5:]
            table = csv.DictReader(lines)
            rows += sum(
                is_accelerated(row["Instance Type"], row["Instance Family"]) for row in table
            )
    priced = sum(isinstance(one, Offer) and one.price_kind is not PriceKind.SPOT for one in found)
    counted = sum(
        int(one.detail.split()[0])
        for one in found
        if isinstance(one, Rejection) and not one.subject.endswith("@spot")
    )

    assert priced + counted == rows == 196


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published prices are not at hand")
def test_every_recorded_price_is_a_published_one(offers: dict[str, Offer]) -> None:
    published: dict[tuple[str, str, str], set[Decimal]] = defaultdict(set)
    with (PUBLISHED / "offers.csv").open(newline="") as table:
        for row in csv.DictReader(table):
            machine = (row["instance_type"], row["region"])
            if row["provider"] == "aws" and row["on_demand_usd_h"]:
                published[*machine, "on_demand"].add(Decimal(row["on_demand_usd_h"]))
            if row["provider"] == "aws" and row["spot_usd_h"] and row["zone"]:
                published[*machine, "spot"].add(Decimal(row["spot_usd_h"]))
    with (PUBLISHED / "commitments.csv").open(newline="") as table:
        for row in csv.DictReader(table):
            if row["provider"] == "aws" and row["kind"] == "reserved":
                key = (row["instance_type_or_gpu"], row["region"], f"{row['term_months']} months")
                published[key].add(Decimal(row["hourly_usd"]))

    def kind(offer: Offer) -> str:
        months = offer.commitment.term_months if offer.commitment else None
        return f"{months} months" if months else str(offer.price_kind)

    strange = [
        key
        for key, offer in offers.items()
        if offer.usd_per_hour not in published[offer.instance_type, offer.place.region, kind(offer)]
    ]
    assert strange == []
    assert len(offers) == 212
