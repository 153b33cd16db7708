from datetime import UTC, datetime
from decimal import Decimal

import pytest
from sheets import LISTED, Sheets, only, reasons

from broker.domain.offer import Evidence, PriceKind
from providers.sheet.reasons import Reason


def test_a_row_with_both_prices_becomes_two_offers(sheets: Sheets) -> None:
    reading = sheets.listed(
        "nebula,n1,H100-SXM,8,80,lulea-1,,24.5,9.75,a quote,2026-11-01,instance,"
    )
    prices = {offer.price_kind: offer.usd_per_hour for offer in reading.offers}
    assert prices == {PriceKind.ON_DEMAND: Decimal("24.5"), PriceKind.SPOT: Decimal("9.75")}
    assert (reading.rows, reading.rows_used) == (1, 1)


def test_an_offer_says_where_its_price_is_from(sheets: Sheets) -> None:
    offer = only(sheets.listed("nebula,n1,H100-SXM,8,,lulea-1,,24.5,,a quote,2026-11-01,,"))
    assert offer.provenance.source == "a quote"
    assert offer.provenance.observed_at == datetime(2026, 11, 1, tzinfo=UTC)
    assert offer.provenance.evidence is Evidence.SHEET
    assert not offer.provenance.undated


def test_a_price_per_gpu_is_multiplied_by_the_gpus_of_the_node(sheets: Sheets) -> None:
    offer = only(sheets.listed("nebula,n1,H100-SXM,8,,lulea-1,,2.49,,,2026-11-01,per_gpu,"))
    assert offer.usd_per_hour == Decimal("19.92")
    assert offer.hardware.shape.gpu_count == 8


def test_the_note_sold_in_units_sets_the_gpus_of_the_node(sheets: Sheets) -> None:
    row = "nebula,h100,H100-SXM,1,80,lulea-1,,2,,,2026-11-01,per_gpu,sold in units of 8 GPUs"
    offer = only(sheets.listed(row))
    assert (offer.usd_per_hour, offer.hardware.shape.gpu_count) == (Decimal(16), 8)


def test_float_noise_is_rounded_to_the_micro_dollar(sheets: Sheets) -> None:
    row = "nebula,n1,H100-SXM,1,,lulea-1,,5.8854999999999995,,,2026-11-01,,"
    assert only(sheets.listed(row)).usd_per_hour == Decimal("5.885500")


@pytest.mark.parametrize("said", ["0", "0.00", "", "NaN"])
def test_no_price_is_no_offer(sheets: Sheets, said: str) -> None:
    reading = sheets.listed(f"nebula,n1,H100-SXM,8,,lulea-1,,{said},,,2026-11-01,,")
    assert reading.offers == ()
    assert reasons(reading) == [Reason.NO_PRICE]


def test_a_price_that_rounds_to_nothing_is_no_price(sheets: Sheets) -> None:
    reading = sheets.listed("nebula,n1,H100-SXM,8,,lulea-1,,0.0000001,,,2026-11-01,,")
    assert reasons(reading) == [Reason.NO_PRICE]


def test_a_spot_price_of_zero_leaves_the_on_demand_price(sheets: Sheets) -> None:
    reading = sheets.listed("vast,n1,H100-SXM,8,,lulea-1,,16,0,,2026-11-01,,")
    assert only(reading).price_kind is PriceKind.ON_DEMAND
    assert reasons(reading) == [Reason.NO_PRICE]


@pytest.mark.parametrize("spot", ["16", "17"])
def test_spot_that_is_no_cheaper_leaves_the_on_demand_price(sheets: Sheets, spot: str) -> None:
    reading = sheets.listed(f"nebula,n1,H100-SXM,8,,lulea-1,,16,{spot},,2026-11-01,,")
    assert only(reading).price_kind is PriceKind.ON_DEMAND
    assert reasons(reading) == [Reason.SPOT_NOT_BELOW_ON_DEMAND]


def test_prices_in_two_currencies_are_compared_in_dollars(sheets: Sheets) -> None:
    header = LISTED.replace("on_demand_usd_h", "on_demand_eur_h")
    below, above = (f"nebula,n{n},H100-SXM,8,,a,,19,{usd}" for n, usd in ((1, "20"), (2, "30")))
    reading = sheets.read(f"{header}\n{below},,2026-10-01,,\n{above},,2026-10-01,,")
    kinds = [(offer.instance_type, offer.price_kind) for offer in reading.offers]
    assert kinds == [
        ("n1", PriceKind.ON_DEMAND),
        ("n1", PriceKind.SPOT),  # 19 euros are more than 20 dollars
        ("n2", PriceKind.ON_DEMAND),
    ]
    assert reasons(reading) == [Reason.SPOT_NOT_BELOW_ON_DEMAND]


def test_spot_that_is_no_cheaper_than_another_row_is_rejected(sheets: Sheets) -> None:
    reading = sheets.quoted(
        "nebula,n1,H100-SXM,8,lulea-1,20,USD,spot,,,,,2026-11-01,",
        "nebula,n1,H100-SXM,8,lulea-1,16,USD,on_demand,,,,,2026-11-01,",
    )
    assert only(reading).price_kind is PriceKind.ON_DEMAND
    assert reasons(reading) == [Reason.SPOT_NOT_BELOW_ON_DEMAND]


def test_the_floor_of_an_auction_is_no_price(sheets: Sheets) -> None:
    reading = sheets.listed("mithril,h100.8x,H100-SXM,8,80,us-central2-a,,8,8,,2026-11-01,,")
    assert reading.offers == ()
    assert reasons(reading) == [Reason.AUCTION_FLOOR, Reason.AUCTION_FLOOR]


def test_the_community_price_is_not_taken_for_spot(sheets: Sheets) -> None:
    note = "the source labels RunPod's community price as spot"
    reading = sheets.listed(
        f"runpod,H100,H100-SXM,1,80,global,,3.29,2.69,,2026-11-01,per_gpu,{note}",
        "runpod,1xH200,H200-SXM,1,,community,,,3.59,,2026-11-01,per_gpu,",
    )
    assert only(reading).usd_per_hour == Decimal("3.29")
    assert reasons(reading) == [Reason.COMMUNITY_LISTED_AS_SPOT] * 2


def test_a_median_of_different_offers_is_rejected_and_a_single_offer_kept(sheets: Sheets) -> None:
    note = '"on_demand median of 1 offers, 2.0..2.0; spot median of 2 offers, 0.4..0.8"'
    reading = sheets.listed(
        f"nebula,n1,H100-SXM,1,80,US,,2,0.6,,2026-11-01,per_gpu,{note}",
    )
    assert only(reading).price_kind is PriceKind.ON_DEMAND
    assert reasons(reading) == [Reason.AGGREGATE_PRICE]


def test_a_median_of_equal_offers_is_a_price(sheets: Sheets) -> None:
    note = '"on_demand median of 3 offers, 2.0..2.0"'
    reading = sheets.listed(f"nebula,n1,H100-SXM,1,80,US,,2,,,2026-11-01,per_gpu,{note}")
    assert only(reading).usd_per_hour == 2


def test_a_list_price_is_kept_with_a_warning(sheets: Sheets) -> None:
    note = '"list price, list; converted from INR"'
    offer = only(sheets.listed(f"nebula,n1,H100-SXM,1,80,US,,2,,,2026-11-01,,{note}"))
    assert any("list price" in warning for warning in offer.warnings)
    assert any("converted" in warning for warning in offer.warnings)


def test_interruptible_capacity_is_spot_in_any_column(sheets: Sheets) -> None:
    row = "nebula,L4:marketplace,L4,1,24,US,,0.3,,,2026-11-01,per_gpu,interruptible"
    offer = only(sheets.listed(row))
    assert offer.price_kind is PriceKind.SPOT
    assert (offer.instance_type, offer.tier) == ("L4", "marketplace")


def test_of_two_rows_with_one_key_the_newest_stands(sheets: Sheets) -> None:
    reading = sheets.listed(
        "nebula,n1,H100-SXM,8,,a,,16,,,2026-11-01,,",
        "nebula,n1,H100-SXM,8,,a,,20,,,2026-10-01,,",
    )
    assert only(reading).usd_per_hour == 16
    assert reasons(reading) == [Reason.DUPLICATE_KEY]
    assert (reading.rows, reading.rows_used) == (2, 1)


def test_of_two_rows_of_one_day_the_dearer_stands(sheets: Sheets) -> None:
    cheap = "nebula,n1,H100-SXM,8,,a,,16,,,2026-11-01,,"
    dear = "nebula,n1,H100-SXM,8,,a,,20,,,2026-11-01,,"
    for rows in ((cheap, dear), (dear, cheap)):
        assert only(sheets.listed(*rows)).usd_per_hour == 20


def test_an_undated_row_never_stands_against_a_dated_one(sheets: Sheets) -> None:
    reading = sheets.listed(
        "nebula,n1,H100-SXM,8,,a,,16,,,,,",
        "nebula,n1,H100-SXM,8,,a,,12,,,2026-10-01,,",
    )
    assert only(reading).usd_per_hour == 12
