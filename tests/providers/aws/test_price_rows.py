"""Which rows of a price file become offers, and why the others do not."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from broker.domain.offer import (
    Fabric,
    Link,
    Offer,
    Payment,
    PriceKind,
    Rejection,
    Virtualization,
)

Found = tuple[list[Offer], list[Rejection]]
Read = Callable[..., Found]

HOURLY = {
    "TermType": "Reserved",
    "OfferTermCode": "EXAMPLE3YPU",
    "LeaseContractLength": "3yr",
    "PurchaseOption": "Partial Upfront",
    "OfferingClass": "standard",
    "PricePerUnit": "0.1046300000",
}
UPFRONT = {**HOURLY, "Unit": "Quantity", "PricePerUnit": "2750", "EndingRange": ""}
ZERO = {"PricePerUnit": "0.0000000000"}


def test_a_plain_row_is_an_on_demand_offer(read: Read) -> None:
    (offer,), rejections = read({})

    assert rejections == []
    assert offer.key == "aws/p5.48xlarge/us-east-1@on_demand"
    assert offer.usd_per_hour == Decimal("55.04")
    assert (offer.quote.amount, offer.quote.currency) == (Decimal("55.04"), "USD")
    assert offer.provenance.effective_at == datetime(2026, 9, 1, tzinfo=UTC)
    assert offer.provenance.source.endswith("/us-east-1/index.csv")
    assert offer.place.country == "US"
    assert (offer.tier, offer.commitment, offer.spot, offer.warnings) == ("", None, None, ())


def test_the_hardware_of_a_row_is_that_of_its_known_type(read: Read) -> None:
    (offer,), _ = read({})

    shape = offer.hardware.shape
    assert (shape.gpu, shape.gpu_count, shape.link) == ("H100-SXM", Fraction(8), Link.NVSWITCH)
    assert (shape.fabric, shape.fabric_gbit_per_s) == (Fabric.EFA, 3200)
    assert (offer.hardware.vcpus, offer.hardware.host_memory_gib) == (192, 2048)
    assert offer.hardware.virtualization is Virtualization.VM


@pytest.mark.parametrize(
    ("difference", "reason"),
    [
        ({"MarketOption": "CapacityBlock", **ZERO}, "price_on_request"),
        (
            {
                "MarketOption": "CapacityBlock",
                "Operating System": "Ubuntu Pro",
                "PricePerUnit": "0.336",
            },
            "price_on_request",
        ),
        ({"MarketOption": ""}, "other_market_option"),
        ({"CapacityStatus": "UnusedCapacityReservation"}, "unused_capacity_reservation"),
        ({"CapacityStatus": "AllocatedCapacityReservation"}, "unused_capacity_reservation"),
        ({"Tenancy": "Dedicated"}, "dedicated_tenancy"),
        ({"Tenancy": "Host", "Instance Type": "p5"}, "dedicated_tenancy"),
        ({"Operating System": "Windows"}, "other_operating_system"),
        ({"Pre Installed S/W": "SQL Std"}, "preinstalled_software"),
        ({"License Model": "Bring your own license"}, "licence_needed"),
        ({"operation": "RunInstances:0010"}, "other_operation"),
        ({"Product Family": "Storage"}, "other_product_family"),
        ({"Location Type": "AWS Outposts"}, "other_location"),
        ({"Region Code": ""}, "no_region"),
        ({"TermType": "FlatRate"}, "other_term_type"),
        ({"Unit": "Month"}, "other_unit"),
        ({"Currency": "CNY"}, "other_currency"),
        ({"EndingRange": "750"}, "tiered_price"),
        ({"StartingRange": "750"}, "tiered_price"),
        (ZERO, "zero_price"),
        ({"PricePerUnit": "-1"}, "negative_price"),
        ({"PricePerUnit": ""}, "unreadable_price"),
        ({"PricePerUnit": "NaN"}, "unreadable_price"),
        ({"PricePerUnit": "Infinity"}, "unreadable_price"),
        ({"PricePerUnit": "1e40"}, "unreadable_price"),
        ({"PricePerUnit": "0.0000001"}, "zero_price"),
        ({"EffectiveDate": "soon"}, "unreadable_date"),
        ({"EffectiveDate": "2026-10-01"}, "not_yet_effective"),
        ({"GPU": "4"}, "contradicts_known_instance"),
        ({"GPU Memory": "1128 GB HBM3"}, "contradicts_known_instance"),
        ({"Instance Type": "p99.48xlarge"}, "unknown_instance_type"),
        (
            {"Instance Type": "x9.large", "Instance Family": "Other", "GPU": "1"},
            "unknown_instance_type",
        ),
    ],
)
def test_a_row_that_cannot_be_planned_with_is_rejected_with_its_reason(
    read: Read, difference: Mapping[str, str], reason: str
) -> None:
    offers, rejections = read(difference)

    assert offers == []
    assert [one.reason for one in rejections] == [reason]
    assert rejections[0].detail.startswith("1 row: EXAMPLE1: ")


def test_a_type_without_gpus_is_not_of_interest(read: Read) -> None:
    plain = {"Instance Type": "m5.xlarge", "Instance Family": "General purpose", "GPU": ""}

    assert read(plain, {**plain, "Instance Type": "c5.large", "GPU": "NA"}) == ([], [])


def test_rows_with_one_reason_are_counted_together(read: Read) -> None:
    windows = {"Operating System": "Windows"}
    _, rejections = read(windows, windows, {**windows, "Instance Type": "g5.xlarge"})

    assert [(one.subject, one.detail) for one in rejections] == [
        ("us-east-1/p5.48xlarge", "2 rows, the first: EXAMPLE1: system is 'Windows'"),
        ("us-east-1/g5.xlarge", "1 row: EXAMPLE1: system is 'Windows'"),
    ]


@pytest.mark.parametrize("memory", ["80 GB", "640 GB HBM3", "", "NA"])
def test_gpu_memory_may_be_of_one_gpu_or_of_all_or_unsaid(read: Read, memory: str) -> None:
    offers, _ = read({"GPU Memory": memory})

    assert len(offers) == 1


@pytest.mark.parametrize("count", ["0.125", "0", "1", ""])
def test_a_slice_of_a_gpu_keeps_its_fraction_whatever_the_file_counts(
    read: Read, count: str
) -> None:
    (offer,), _ = read({"Instance Type": "g6f.xlarge", "GPU": count, "GPU Memory": ""})

    assert offer.hardware.shape.gpu_count == Fraction(1, 8)


def test_a_slice_that_the_file_takes_for_four_gpus_is_rejected(read: Read) -> None:
    _, rejections = read({"Instance Type": "g6f.xlarge", "GPU": "4", "GPU Memory": ""})

    assert [one.reason for one in rejections] == ["contradicts_known_instance"]


@pytest.mark.parametrize(
    ("location", "warning"),
    [("AWS Local Zone", "local_zone"), ("AWS Wavelength Zone", "wavelength_zone")],
)
def test_a_zone_outside_its_region_is_flagged(read: Read, location: str, warning: str) -> None:
    (offer,), _ = read({"Location Type": location, "Region Code": "us-east-1-atl-1"})

    assert offer.warnings == (warning,)
    assert offer.place.region == "us-east-1-atl-1"


def test_the_price_in_force_supersedes_an_older_one(read: Read) -> None:
    old = {"EffectiveDate": "2025-05-01", "PricePerUnit": "98.32"}
    (offer,), (rejection,) = read(old, {})

    assert offer.usd_per_hour == Decimal("55.04")
    assert (rejection.reason, rejection.subject) == ("superseded_row", offer.key)


def test_two_prices_of_one_day_leave_no_offer(read: Read) -> None:
    offers, (rejection,) = read({}, {"SKU": "EXAMPLE2", "PricePerUnit": "60"})

    assert offers == []
    assert rejection.reason == "conflicting_rows"
    assert rejection.detail == "55.0400000000 and 60"


def test_the_same_price_twice_is_one_offer(read: Read) -> None:
    offers, (rejection,) = read({}, {"SKU": "EXAMPLE2"})

    assert len(offers) == 1
    assert rejection.reason == "superseded_row"


def test_a_reservation_joins_its_hourly_and_its_upfront_part(read: Read) -> None:
    # The published pair of c6i.large in Tokyo, put on another type: 0.10463 + 2750/26280.
    (offer,), rejections = read(UPFRONT, {}, HOURLY)[0][-1:], read(UPFRONT, HOURLY)[1]

    assert rejections == []
    assert offer.key == "aws/p5.48xlarge/us-east-1@reserved-36m-partial_upfront"
    assert offer.usd_per_hour == Decimal("0.10463")
    assert offer.commitment is not None
    assert offer.commitment.upfront_usd == Decimal(2750)
    assert offer.effective_usd_per_hour == Decimal("0.209272")
    assert offer.quote.amount == Decimal("0.10463")


def test_a_reservation_paid_upfront_costs_nothing_by_the_hour(read: Read) -> None:
    all_upfront = {"PurchaseOption": "All Upfront", "LeaseContractLength": "1yr"}
    (offer,), _ = read({**HOURLY, **all_upfront, **ZERO}, {**UPFRONT, **all_upfront})

    assert offer.price_kind is PriceKind.RESERVED
    assert offer.usd_per_hour == 0
    assert offer.quote.amount == Decimal(2750)
    assert offer.commitment is not None
    assert offer.commitment.term_months == 12
    assert offer.commitment.payment is Payment.ALL_UPFRONT
    assert offer.effective_usd_per_hour == Decimal("0.313927")  # 2750 / 8760


def test_a_reservation_without_upfront_needs_one_row(read: Read) -> None:
    (offer,), _ = read({**HOURLY, "PurchaseOption": "No Upfront"})

    assert offer.commitment is not None
    assert (offer.commitment.payment, offer.commitment.upfront_usd) == (Payment.NO_UPFRONT, 0)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([{**HOURLY, "OfferingClass": "convertible"}], "convertible_reservation"),
        ([{**HOURLY, "OfferingClass": ""}], "other_offering_class"),
        ([{**HOURLY, "LeaseContractLength": "5yr"}], "unknown_term"),
        ([{**HOURLY, "PurchaseOption": "Heavy Utilization"}], "unknown_payment"),
        ([HOURLY], "incomplete_reservation"),
        ([UPFRONT], "incomplete_reservation"),
        ([{**UPFRONT, "PurchaseOption": "All Upfront"}], "incomplete_reservation"),
        ([{**HOURLY, "PurchaseOption": "No Upfront", **ZERO}], "zero_price"),
        ([{**HOURLY, **ZERO}, UPFRONT], "contradictory_reservation"),
        ([HOURLY, {**UPFRONT, **ZERO}], "contradictory_reservation"),
        ([HOURLY, {**UPFRONT, "PricePerUnit": "-5"}], "negative_price"),
        ([HOURLY, {**UPFRONT, "PricePerUnit": "?"}], "unreadable_price"),
        ([HOURLY, {**UPFRONT, "Currency": "CNY"}], "other_currency"),
        ([HOURLY, {**UPFRONT, "Unit": "Months"}], "other_unit"),
        ([HOURLY, UPFRONT, {**UPFRONT, "PricePerUnit": "1"}], "conflicting_rows"),
    ],
)
def test_a_reservation_that_does_not_add_up_is_rejected(
    read: Read, parts: list[Mapping[str, str]], reason: str
) -> None:
    offers, rejections = read(*parts)

    assert offers == []
    assert [one.reason for one in rejections] == [reason]


def test_reservations_of_two_payments_are_two_offers(read: Read) -> None:
    offers, _ = read(
        HOURLY, UPFRONT, {**HOURLY, "OfferTermCode": "EXAMPLE3YNU", "PurchaseOption": "No Upfront"}
    )

    assert len({one.key for one in offers}) == 2
