"""A bill is read exactly, or not at all."""

import gzip
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from broker.domain.errors import ConfigurationError
from broker.purchases.bill import read_bill

HEAD = (
    "ProviderName,ListCost,ContractedCost,EffectiveCost,BilledCost,BillingCurrency,ChargeCategory,"
    "ChargePeriodStart,ChargePeriodEnd,Tags"
)
ROW = 'AWS,10,9,8.123456,7,USD,Usage,2026-12-01T00:00:00Z,2026-12-02T00:00:00Z,"{""a"": ""b""}"'


def bill(*rows: str, head: str = HEAD) -> bytes:
    return "\n".join((head, *rows, "")).encode()


def test_costs_are_exact_and_instants_are_in_utc() -> None:
    offset = ROW.replace("2026-12-01T00:00:00Z", "2026-12-01 02:00:00+02:00")
    (row, credit) = read_bill(bill(offset, ROW.replace(",7,", ",-1.5E-7,")), "bill")
    assert row.costs.effective_usd == Decimal("8.123456")
    assert (row.from_at, row.tags) == (datetime(2026, 12, 1, tzinfo=UTC), {"a": "b"})
    assert credit.costs.billed_usd == Decimal("-0.00000015")


def test_a_bill_may_be_packed_and_begin_with_a_mark() -> None:
    content = b"\xef\xbb\xbf" + bill(ROW)
    assert read_bill(gzip.compress(content), "bill") == read_bill(bill(ROW), "bill")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("8.123456", "", "EffectiveCost '' is no amount"),
        ("8.123456", "NaN", "EffectiveCost 'NaN' is no amount"),
        ("8.123456", '"1,234.5"', "EffectiveCost '1,234.5' is no amount"),
        ("8.123456", "1_0", "EffectiveCost '1_0' is no amount"),
        ("USD", "EUR", "BillingCurrency is 'EUR', not USD"),
        ("2026-12-01T00:00:00Z", "12/01/26", "ChargePeriodStart '12/01/26' is no instant"),
        ("2026-12-01T00:00:00Z", "0001-01-01T00:00+14:00", "00:00+14:00' is no instant"),
        ("2026-12-02T00:00:00Z", "2026-12-01T00:00:00Z", "ChargePeriodEnd is not after"),
        ('"{""a"": ""b""}"', "a=b", "Tags are no JSON"),
        ('"{""a"": ""b""}"', "[]", "Tags are no JSON object"),
        ('"{""a"": ""b""}"', "[" * 100_000, "Tags are no JSON: maximum recursion"),
        ("AWS,", "AWS,more,", "more or fewer fields"),
        ("AWS,", "", "more or fewer fields"),
    ],
)
def test_a_bad_row_is_named_by_its_line(old: str, new: str, problem: str) -> None:
    several_lines = ROW.replace("AWS", '"A\nWS"')
    assert old in ROW
    with pytest.raises(ConfigurationError, match="line 4") as error:
        read_bill(bill(several_lines, ROW.replace(old, new)), "bill.csv")
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "lacks the columns ListCost"),
        (bill(ROW, head=HEAD.replace("Tags", "tags")), "lacks the column Tags"),
        (bill(), "has no rows"),
        (b"\xff\xfe", "cannot be read"),
        (gzip.compress(bill(ROW))[:-9], "cannot be read"),
    ],
)
def test_what_is_no_bill_is_refused(content: bytes, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        read_bill(content, "bill.csv")
