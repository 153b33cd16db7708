"""The recorded catalog of AWS: how many offers, at which published prices, and every trap."""

import csv
import re
from collections import Counter, defaultdict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from broker.domain.offer import Evidence, Link, Offer, PriceKind, Rejection, Virtualization
from broker.domain.quantities import quantize_usd
from broker.specs.load import Specs
from providers.aws.adapter import AwsCloud
from providers.aws.wire import is_accelerated
from providers.kit.access import Access
from providers.kit.parts import Missing, replies_only
from providers.kit.recorded import recorded_client, recordings

COUNTED = re.compile(r"\d+ (rows?|more)\b")
PUBLISHED = Path(__file__).parents[3] / "../shared/data/prices"

COUNTS = {
    "ap-northeast-1": (68, 0, 0, 10, 4),
    "ap-northeast-2": (58, 0, 0, 7, 1),
    "ap-south-1": (45, 0, 0, 2, 5),
    "ap-southeast-1": (32, 0, 0, 3, 0),
    "ap-southeast-2": (47, 0, 0, 2, 4),
    "ap-southeast-3": (0, 0, 0, 0, 3),
    "ap-southeast-4": (0, 0, 0, 0, 2),
    "ca-central-1": (43, 0, 0, 2, 0),
    "eu-central-1": (65, 0, 0, 8, 0),
    "eu-north-1": (45, 0, 0, 8, 4),
    "eu-south-2": (0, 0, 0, 0, 1),
    "eu-west-1": (17, 0, 0, 2, 0),
    "eu-west-2": (48, 0, 0, 4, 4),
    "eu-west-3": (25, 0, 0, 1, 0),
    "sa-east-1": (35, 0, 0, 0, 3),
    "us-east-1": (58, 109, 230, 11, 7),
    "us-east-1-dfw-2": (0, 0, 0, 0, 2),
    "us-east-2": (40, 0, 0, 10, 8),
    "us-west-1": (16, 0, 0, 2, 3),
    "us-west-2": (41, 0, 0, 12, 9),
}
"""Offers by region: on demand, reserved, savings plans, spot, capacity blocks."""

Found = list[Offer | Rejection]


@pytest.fixture(scope="module")
def found(specs: Specs) -> Found:
    aws = AwsCloud(specs, Access())
    missing: list[Missing] = []
    with recorded_client("aws") as http:
        found = list(aws.offers_in(replies_only(aws.fetch(http), missing)))
    assert missing == []
    return found


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
    kinds = ("on_demand", "reserved", "savings_plan", "spot", "capacity_block")

    assert {
        region: tuple(counts[region, kind] for kind in kinds)
        for region in sorted({region for region, _ in counts})
    } == COUNTS


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
        # aws-price of 2025-11-03, through the feeds of the on-demand page
        ("p4d.24xlarge/eu-central-1@on_demand", "27.43298"),
        # pricesim: compute plans; the upfront part stands in the commitment
        ("p5.48xlarge/us-east-1@savings_plan-12m-no_upfront-compute", "43.344"),
        ("p5.48xlarge/us-east-1@savings_plan-36m-no_upfront-compute", "40.42138"),
        ("p5.48xlarge/us-east-1@savings_plan-36m-no_upfront-ec2:p5", "23.777"),
        # the rates of 2026-10-07: 8 × 5.97 and 8 × 7.895
        ("p5.48xlarge/ap-south-1@capacity_block", "47.76"),
        ("p5en.48xlarge/eu-south-2@capacity_block", "63.16"),
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

    assert metal == {"g4dn.metal", "g5g.metal"}


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
        ("us-east-1/p5.48xlarge", "price_on_request"),
        ("us-east-1/p6-b200.48xlarge", "price_on_request"),
        ("us-east-1/p5.48xlarge", "unused_capacity_reservation"),
        ("us-east-1/p5.48xlarge", "convertible_reservation"),
        ("us-east-1/p5", "dedicated_tenancy"),
        ("us-east-1/p4d.24xlarge", "dedicated_tenancy"),
        ("us-east-1/g5.xlarge", "other_operating_system"),
        ("us-east-1/g4dn.xlarge", "other_operating_system"),
        ("us-east-1/g5.2xlarge", "preinstalled_software"),
        ("us-east-2/p5e.48xlarge", "zero_price"),
        ("us-east-2/p5e.48xlarge", "price_on_request"),
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

    assert kinds == {PriceKind.SPOT, PriceKind.CAPACITY_BLOCK}


def test_a_source_without_a_date_gives_offers_without_one(offers: dict[str, Offer]) -> None:
    assert offers["aws/p5.4xlarge/us-east-2@on_demand"].provenance.effective_at is None


def test_every_row_with_a_gpu_is_an_offer_or_is_counted_once(found: Found) -> None:
    rows = 0
    for recording in recordings("aws"):
        if recording.name.startswith("prices-") and recording.response.text:
            lines = recording.response.text.splitlines()[5:]
            rows += sum(
                is_accelerated(row["Instance Type"], row["Instance Family"])
                and row["Unit"] != "Quantity"  # the other half of a reservation
                for row in csv.DictReader(lines)
            )
    priced = sum(
        isinstance(one, Offer)
        and one.price_kind in (PriceKind.ON_DEMAND, PriceKind.RESERVED)
        and one.provenance.source.endswith("/index.csv")
        for one in found
    )
    counted = sum(
        int(one.detail.split()[0])
        for one in found
        if isinstance(one, Rejection)
        and COUNTED.match(one.detail)
        and "savings" not in one.subject
        and "ap-northeast-1" not in one.subject  # which has a feed and no file
    )

    assert priced + counted == rows


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published prices are not at hand")
def test_every_price_on_demand_and_spot_is_a_published_one(offers: dict[str, Offer]) -> None:
    published: dict[tuple[str, str, str], set[Decimal]] = defaultdict(set)
    with (PUBLISHED / "offers.csv").open(newline="") as table:
        for row in csv.DictReader(table):
            machine = (row["instance_type"], row["region"])
            if row["provider"] == "aws" and row["on_demand_usd_h"]:
                published[*machine, "on_demand"].add(Decimal(row["on_demand_usd_h"]))
            if row["provider"] == "aws" and row["spot_usd_h"] and row["zone"]:
                published[*machine, "spot"].add(Decimal(row["spot_usd_h"]))
    quoted = [one for one in offers.values() if one.price_kind in ("on_demand", "spot")]
    strange = [
        one.key
        for one in quoted
        if one.usd_per_hour
        not in {
            quantize_usd(usd)
            for usd in published[one.instance_type, one.place.region, str(one.price_kind)]
        }
    ]

    assert strange == []
    assert len(quoted) > 700


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published prices are not at hand")
def test_reservations_without_upfront_agree_with_the_published_ones(
    offers: dict[str, Offer],
) -> None:
    with (PUBLISHED / "commitments.csv").open(newline="") as table:
        published = [
            row
            for row in csv.DictReader(table)
            if (row["provider"], row["kind"], row["region"]) == ("aws", "reserved", "us-east-1")
        ]

    assert len(published) == 21
    for row in published:
        machine = f"aws/{row['instance_type_or_gpu']}/us-east-1"
        offer = offers[f"{machine}@reserved-{row['term_months']}m-no_upfront"]
        assert offer.usd_per_hour == Decimal(row["hourly_usd"])


def test_commitments_of_a_machine_are_cheaper_the_longer_and_the_more_is_paid_upfront(
    offers: dict[str, Offer],
) -> None:
    def hourly(kind: str, months: int, payment: str) -> Decimal:
        scope = "-compute" if kind == "savings_plan" else ""
        key = f"aws/g6e.12xlarge/us-east-1@{kind}-{months}m-{payment}{scope}"
        return offers[key].effective_usd_per_hour

    on_demand = offers["aws/g6e.12xlarge/us-east-1@on_demand"].usd_per_hour
    plans = [
        hourly("savings_plan", months, payment)
        for months in (12, 36)
        for payment in ("no_upfront", "partial_upfront", "all_upfront")
    ]
    assert on_demand > plans[0]
    assert plans == sorted(plans, reverse=True)
    for months in (12, 36):  # a reservation binds to the machine, a compute plan to nothing
        for payment in ("no_upfront", "all_upfront"):
            assert hourly("reserved", months, payment) < hourly("savings_plan", months, payment)


def test_a_reservation_paid_upfront_has_the_fee_of_its_source(offers: dict[str, Offer]) -> None:
    # 0.591553 an hour × 8760 h = 5182.004: the fee is 5182 dollars
    commitment = offers["aws/g5.xlarge/us-east-1@reserved-12m-all_upfront"].commitment

    assert commitment is not None
    assert commitment.upfront_usd == 5182
