"""The recordings: published prices of machines must come out of the prices of their parts."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import pytest

from broker.domain.offer import Components, Fabric, Link, Offer, Payment, PriceKind, Rejection

Recorded = Mapping[str, Offer]


@pytest.mark.parametrize(
    ("key", "published"),
    [
        # Google's page of accelerator-optimized machines, Iowa, September 2026
        ("a2-ultragpu-1g/us-central1@on_demand", "5.06879789"),
        ("a3-highgpu-8g/us-central1@on_demand", "88.490000119"),
        ("a3-megagpu-8g/us-central1@on_demand", "93.400712807"),
        ("a2-ultragpu-1g/us-central1@reserved-12m-no_upfront", "4.199690411"),
        ("a2-ultragpu-1g/us-central1@reserved-36m-no_upfront", "3.499997559"),
        ("a3-highgpu-8g/us-central1@reserved-12m-no_upfront", "61.383674231"),
        ("a3-highgpu-8g/us-central1@reserved-36m-no_upfront", "38.864383195"),
        ("a3-ultragpu-8g/us-central1@reserved-12m-no_upfront", "58.471933151"),
        ("a3-ultragpu-8g/us-central1@reserved-36m-no_upfront", "37.208420822"),
        ("a4-highgpu-8g/us-central1@reserved-12m-no_upfront", "88.9272"),
        ("a4-highgpu-8g/us-central1@reserved-36m-no_upfront", "56.7072"),
        ("a3-megagpu-8g/us-central1@spot", "55.894488548"),
        ("a3-ultragpu-8g/us-central1@spot", "50.874449096"),
        ("a4-highgpu-8g/us-central1@spot", "39.6336"),
        ("g4-standard-48/us-central1@on_demand", "4.49993"),
        ("g4-standard-48/us-central1@reserved-12m-no_upfront", "3.105"),
        ("g2-standard-12/us-central1@on_demand", "1.000416348"),
        # an eighth of a G4 card at 0.64688, half by flex-start; its cores, memory and a part of the
        # price of a card would be 0.559556 for the first
        ("g4-standard-6/us-central1@on_demand", "0.64688"),
        ("g4-standard-24/us-central1@on_demand", "2.58752"),
        ("g4-standard-12/us-central1:flex_start@spot", "0.64688"),
        # Google's prices of Dynamic Workload Scheduler
        ("a4-highgpu-8g/us-central1:flex_start@spot", "64.44"),
        ("a2-highgpu-1g/us-central1:flex_start@spot", "2.02038"),
        # Cyclenerd's table of machine prices, 2026-07-30
        ("a2-megagpu-16g/europe-west4@on_demand", "56.62656"),
        ("a3-highgpu-8g/asia-south1@spot", "37.64451"),
        ("a3-highgpu-8g/europe-west4@reserved-36m-no_upfront", "49.422192"),
        ("g2-standard-96/asia-southeast1@spot", "5.924928"),
        # n1-standard-8 at 0.38 and a T4 at 0.35
        ("n1-standard-8+nvidia-tesla-t4x1/us-central1@on_demand", "0.73"),
    ],
)
def test_a_published_machine_price_comes_out_of_its_parts(
    recorded: Recorded, key: str, published: str
) -> None:
    assert recorded[key].usd_per_hour == pytest.approx(Decimal(published), abs=Decimal("1e-5"))


def test_flex_start_of_a3_high_is_the_sum_of_four_skus(recorded: Recorded) -> None:
    """8 × 4.200761 + 208 × 0.010934 + 1872 × 0.000952 + 6000 × 0.08 ÷ 730 = 38.320038."""
    offer = recorded["a3-highgpu-8g/us-central1:flex_start@spot"]
    assert offer.usd_per_hour == Decimal("38.320038")
    assert offer.components == Components(
        gpus_usd=Decimal("33.606088"), host_usd=Decimal("4.056416"), disk_usd=Decimal("0.657534")
    )
    assert offer.spot is not None
    assert offer.spot.monthly_interruption is not None
    assert offer.warnings == ("runs_at_most_7_days",)


def test_a_calendar_block_lasts_one_to_ninety_days(recorded: Recorded) -> None:
    """8 slices × 11.277 = 90.216, which Google's page rounds to 90.22."""
    offer = recorded["a4-highgpu-8g/us-central1@capacity_block"]
    assert offer.usd_per_hour == Decimal("90.216")
    assert offer.price_kind is PriceKind.CAPACITY_BLOCK
    assert offer.block is not None
    assert (offer.block.lengths_h[0], offer.block.lengths_h[-1]) == (24, 2160)
    assert (offer.block.starts_at, offer.block.book_ahead_days) == (None, 120)


@pytest.mark.parametrize(("machine", "cents"), [("a3-highgpu-8g", 4160), ("a3-ultragpu-8g", 5936)])
def test_calendar_mode_of_a3_costs_what_google_publishes(
    recorded: Recorded, machine: str, cents: int
) -> None:
    offer = recorded[f"{machine}/us-central1@capacity_block"]
    assert offer.usd_per_hour == Decimal(cents) / 100


def test_a_commitment_is_paid_by_the_month_for_its_term(recorded: Recorded) -> None:
    commitment = recorded["g2-standard-4/us-central1@reserved-36m-no_upfront"].commitment
    assert commitment is not None
    assert (commitment.term_months, commitment.payment) == (36, Payment.NO_UPFRONT)
    assert commitment.upfront_usd == 0


def test_spot_is_announced_and_billed_by_the_second(recorded: Recorded) -> None:
    offer = recorded["a3-highgpu-1g/us-central1@spot"]
    assert offer.spot is not None
    assert offer.spot.notice_s == 30
    assert offer.billing.step_s == 1


def test_what_is_not_sold_on_demand_is_offered_in_other_ways_only(recorded: Recorded) -> None:
    for machine in ("a4-highgpu-8g", "a3-ultragpu-8g", "a3-highgpu-1g"):
        assert f"{machine}/us-central1@on_demand" not in recorded
        assert f"{machine}/us-central1@spot" in recorded


def test_nodes_have_the_link_and_fabric_of_their_type(recorded: Recorded) -> None:
    shape = recorded["a3-ultragpu-8g/us-central1@spot"].hardware.shape
    assert (shape.gpu, shape.gpu_count, shape.link) == ("H200-SXM", 8, Link.NVSWITCH)
    assert (shape.fabric, shape.fabric_gbit_per_s) == (Fabric.ROCE, 3200)


def test_components_add_up_to_the_price(recorded: Recorded) -> None:
    for offer in recorded.values():
        parts = offer.components
        assert parts is not None
        assert parts.gpus_usd + parts.host_usd + parts.disk_usd == offer.usd_per_hour, offer.key
        assert parts.gpus_usd > 0, offer.key


def test_the_recordings_have_every_family_kind_and_trap(
    recorded: Recorded, refused: Sequence[Rejection]
) -> None:
    assert len(recorded) > 750
    gpus = {one.hardware.shape.gpu for one in recorded.values()}
    assert {"T4", "P4", "P100-PCIe-16", "V100-SXM-16", "L4", "RTXPRO6000", "A100-40-SXM"} <= gpus
    assert {"A100-80-SXM", "H100-SXM", "H200-SXM", "B200"} <= gpus
    assert {one.reason for one in refused} == {
        "missing_field",
        "missing_part",
        "not_sold_committed",
        "not_sold_in_calendar_mode",
        "not_sold_in_region",
        "not_sold_on_demand",
        "other_product",
        "reservation_placeholder",
        "unknown_part",
    }


def test_gpus_without_their_cores_make_no_machine(
    recorded: Recorded, refused: Sequence[Rejection]
) -> None:
    """Mumbai lists H200 GPUs in four markets, and no cores of A3 Ultra."""
    assert not any(key.startswith("a3-ultragpu-8g/asia-south1") for key in recorded)
    subject = "a3-ultragpu-8g/asia-south1 commit_1_year"
    (found,) = (one for one in refused if one.subject == subject)
    assert found.reason == "missing_part"
    assert found.detail == (
        "core a3ultra commit_1_year: no price; ram a3ultra commit_1_year: no price"
    )
