from decimal import Decimal

import pytest
from sheets import LISTED, QUOTED, Sheets, only, reasons

from broker.domain.offer import Payment, PriceKind
from providers.sheet.reasons import Reason


def test_a_rate_that_is_much_older_than_its_row_is_a_warning(sheets: Sheets) -> None:
    offer = only(sheets.quoted("nebula,n1,H100-SXM,8,a,20,EUR,on_demand,,,,,2099-11-01,"))
    assert any("converted at the rate of" in warning for warning in offer.warnings)


def test_a_reserved_price_keeps_its_term_and_upfront_payment(sheets: Sheets) -> None:
    row = "nebula,n1,H100-SXM,8,a,10,USD,reserved,12,partial_upfront,43800,instance,2026-11-01,"
    offer = only(sheets.quoted(row))
    assert offer.commitment is not None
    assert offer.commitment.payment is Payment.PARTIAL_UPFRONT
    assert offer.effective_usd_per_hour == Decimal(15)  # 10 + 43800 / (12 * 730)
    assert offer.key.endswith("@reserved-12m-partial_upfront")


def test_an_upfront_payment_per_gpu_is_multiplied_too(sheets: Sheets) -> None:
    row = "nebula,n1,H100-SXM,8,a,1,USD,reserved,12,partial_upfront,1000,per_gpu,2026-11-01,"
    offer = only(sheets.quoted(row))
    assert offer.commitment is not None
    assert (offer.usd_per_hour, offer.commitment.upfront_usd) == (8, 8000)


def test_all_upfront_needs_no_hourly_price(sheets: Sheets) -> None:
    row = "nebula,n1,H100-SXM,8,a,0,USD,reserved,12,all_upfront,87600,instance,2026-11-01,"
    offer = only(sheets.quoted(row))
    assert offer.usd_per_hour == 0
    assert offer.effective_usd_per_hour == Decimal(10)  # 87600 / (12 * 730)
    assert offer.quote.amount == 87600


@pytest.mark.parametrize(("hourly", "upfront"), [("10", "87600"), ("9.99", "87600"), ("10", "")])
def test_what_is_all_paid_upfront_is_not_charged_by_the_hour_too(
    sheets: Sheets, hourly: str, upfront: str
) -> None:
    """A price by the hour beside it, as trackers have it, is the same money over the term."""
    row = f"nebula,n1,H100-SXM,8,a,{hourly},USD,reserved,12,all_upfront,{upfront},,2026-11-01,"
    offer = only(sheets.quoted(row))
    assert offer.commitment is not None
    assert (offer.usd_per_hour, offer.commitment.upfront_usd) == (0, 87600)


@pytest.mark.parametrize(
    ("terms", "column"),
    [
        ("20,USD,reserved,12,all_upfront,87600", "column price"),
        ("10,USD,reserved,12,no_upfront,100", "column payment"),
        ("10,USD,contract,12,monthly,100", "column payment"),
    ],
)
def test_amounts_that_do_not_fit_their_payment_option_are_an_error(
    sheets: Sheets, terms: str, column: str
) -> None:
    error = sheets.error(f"{QUOTED}\nnebula,n1,H100-SXM,8,a,{terms},,2026-11-01,")
    assert column in str(error)
    assert "upfront" in error.hint


@pytest.mark.parametrize(
    ("column", "cell"),
    [("price_kind", "reserved"), ("term_months", "12"), ("payment", "monthly"), ("upfront", "9")],
)
def test_terms_beside_a_price_on_demand_are_an_error(
    sheets: Sheets, column: str, cell: str
) -> None:
    header = f"provider,instance_type,gpu_name,gpu_count,region,on_demand_usd_h,{column}"
    row = f"nebula,n1,H100-SXM,8,a,20,{cell},2026-11-01"
    error = sheets.error(f"{header},observed_on\n{row}")
    assert f"column {column}: {cell!r} is beside a price on demand or on spot" in str(error)


def test_a_payment_option_that_is_not_stated_is_assumed_aloud(sheets: Sheets) -> None:
    offer = only(sheets.quoted("nebula,n1,H100-SXM,8,a,10,USD,contract,12,,,,2026-11-01,"))
    assert offer.commitment is not None
    assert offer.commitment.payment is Payment.MONTHLY
    assert "no payment option is stated; monthly is assumed" in offer.warnings


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("reserved", Reason.NO_TERM),
        ("savings_plan", Reason.NO_TERM),
        ("capacity_block", Reason.NO_WINDOW),
    ],
)
def test_a_commitment_without_its_terms_is_no_offer(
    sheets: Sheets, kind: str, reason: Reason
) -> None:
    reading = sheets.quoted(f"nebula,n1,H100-SXM,8,a,10,USD,{kind},,,,,2026-11-01,")
    assert reading.offers == ()
    assert reasons(reading) == [reason]


def test_owned_hardware_says_how_many_nodes_there_are(sheets: Sheets) -> None:
    offer = only(sheets.quoted("own,dgx,H100-SXM,8,a,9.28,USD,owned,,,,,2026-11-01,4"))
    assert (offer.price_kind, offer.limits.max_nodes) == (PriceKind.OWNED, 4)
    error = sheets.error(f"{QUOTED}\nown,dgx,H100-SXM,8,a,9.28,USD,owned,,,,,2026-11-01,")
    assert "max_nodes" in str(error)


def test_another_currency_is_converted_at_a_dated_rate(sheets: Sheets) -> None:
    offer = only(sheets.quoted("nebula,n1,H100-SXM,8,a,20,EUR,on_demand,,,,,2026-11-01,"))
    quote = offer.quote
    assert (quote.amount, quote.currency) == (20, "EUR")
    assert quote.converted_on is not None
    assert offer.usd_per_hour == (20 * quote.usd_per_unit).quantize(Decimal("0.000001"))
    assert offer.usd_per_hour > 20  # a euro has been worth more than a dollar since 2022


def test_the_currency_may_stand_in_the_name_of_the_column(sheets: Sheets) -> None:
    header = LISTED.replace("on_demand_usd_h", "on_demand_eur_h")
    reading = sheets.read(f"{header}\nnebula,n1,H100-SXM,8,,a,,20,9,,2026-11-01,,")
    on_demand, spot = reading.offers
    assert (on_demand.quote.currency, spot.quote.currency) == ("EUR", "USD")


def test_an_upfront_payment_in_another_currency_than_the_price_is_an_error(sheets: Sheets) -> None:
    header = "provider,instance_type,gpu_name,gpu_count,region,hourly_eur,upfront_usd,price_kind"
    row = "nebula,n1,H100-SXM,8,a,10,10000,reserved,12,2026-11-01"
    error = sheets.error(f"{header},term_months,observed_on\n{row}")
    assert "column upfront_usd: '10000' is in USD, the price in EUR" in str(error)


def test_a_currency_that_is_not_that_of_the_column_is_an_error(sheets: Sheets) -> None:
    header = "provider,instance_type,gpu_name,gpu_count,region,on_demand_usd_h,currency"
    error = sheets.error(f"{header},observed_on\nnebula,n1,H100-SXM,8,a,20,EUR,2026-11-01")
    assert "column currency: 'EUR' is not the USD of the price column" in str(error)


def test_an_empty_column_has_no_currency(sheets: Sheets) -> None:
    header = "provider,instance_type,gpu_name,gpu_count,region,price,currency,upfront_usd"
    row = "nebula,n1,H100-SXM,8,a,10,EUR,,on_demand,2026-11-01"
    offer = only(sheets.read(f"{header},price_kind,observed_on\n{row}"))
    assert offer.quote.currency == "EUR"


def test_a_currency_without_a_rate_is_an_error_that_names_it(sheets: Sheets) -> None:
    error = sheets.error(f"{QUOTED}\nnebula,n1,H100-SXM,8,a,20,XXX,on_demand,,,,,2026-11-01,")
    assert "row 2" in str(error)
    assert "XXX" in str(error)
    assert "convert it to USD" in error.hint


def test_a_table_of_commitments_is_a_sheet_too(sheets: Sheets) -> None:
    header = "provider,instance_type_or_gpu,region,term_months,payment,upfront_usd,hourly_usd,kind"
    row = "aws,p4d.24xlarge,us-east-1,36,no_upfront,0,9.3742,reserved"
    cud = "aws,p5.48xlarge,us-east-1,12,monthly,,30,cud"
    reading = sheets.read(f"{header},date\n{row},2026-06-15\n{cud},2026-06-15")
    assert [offer.key for offer in reading.offers] == [
        "aws/p4d.24xlarge/us-east-1@reserved-36m-no_upfront",
        "aws/p5.48xlarge/us-east-1@reserved-12m-monthly",
    ]
