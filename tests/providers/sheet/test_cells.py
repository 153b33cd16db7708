import csv
import io
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sheets import LISTED, QUOTED, Sheets, only, reasons

from broker.domain.errors import ConfigurationError


def test_an_undated_row_takes_the_date_of_the_newest_row(sheets: Sheets) -> None:
    commit = "00148f2af3672e2229b4f7bf8157d5a3f36e3c35"
    reading = sheets.listed(
        f"nebula,n1,H100-SXM,8,,a,,16,,,{commit},,",
        "nebula,n1,H100-SXM,8,,b,,16,,,2026-10-01,,",
        "nebula,n1,NoSuchGpu,8,,c,,16,,,2026-11-09,,",
    )
    undated = reading.offers[0].provenance
    assert undated.observed_at == reading.as_of == datetime(2026, 11, 9, tzinfo=UTC)
    assert undated.undated
    assert not reading.offers[1].provenance.undated


def test_an_undated_row_takes_the_date_that_is_asked_for(sheets: Sheets) -> None:
    asked = datetime(2026, 12, 1, tzinfo=UTC)
    text = f"{LISTED}\nnebula,n1,H100-SXM,8,,a,,16,,,,,"
    reading = sheets.read(text, as_of=asked)
    assert reading.as_of == only(reading).provenance.observed_at == asked


def test_what_was_dated_later_is_not_known_on_the_day_that_is_asked_for(sheets: Sheets) -> None:
    rows = (
        "nebula,n1,H100-SXM,8,,a,,20,,,2026-04-01,,",
        "nebula,n1,H100-SXM,8,,a,,18,,,2026-05-01,,",
        "nebula,n1,H100-SXM,8,,a,,16,,,2026-05-02,,",
        "nebula,n2,H100-SXM,8,,a,,14,,,2026-11-01,,",
    )
    asked = datetime(2026, 5, 1, tzinfo=UTC)
    reading = sheets.read("\n".join([LISTED, *rows]), as_of=asked)
    assert str(only(reading).usd_per_hour) == "18.000000"
    assert reasons(reading) == ["dated_later", "dated_later", "duplicate_key"]
    assert "2026-11-01" in reading.rejections[1].detail
    assert sheets.listed(*rows).rows_used == 2


def test_a_month_is_its_first_day(sheets: Sheets) -> None:
    offer = only(sheets.listed("nebula,n1,H100-SXM,8,,a,,16,,,2025-12,,"))
    assert offer.provenance.observed_at == datetime(2025, 12, 1, tzinfo=UTC)


def test_a_sheet_without_any_date_says_how_to_give_one(sheets: Sheets) -> None:
    error = sheets.error(f"{LISTED}\nnebula,n1,H100-SXM,8,,a,,16,,,,,")
    assert "no row has a date" in str(error)
    assert "--as-of" in error.hint


@pytest.mark.parametrize(
    ("cell", "said", "hint"),
    [
        (("price", "-3"), "row 2, column on_demand_usd_h: '-3' is below zero", "leave the cell"),
        (("price", "cheap"), "row 2, column on_demand_usd_h: 'cheap' is no number", "2.49"),
        (("price", "$2.49"), "'$2.49' is no number", "digits"),
        (("price", '"1,234.5"'), "'1,234.5' is no number", "digits"),
        (("price", "inf"), "'inf' is no number", "digits"),
        (("price", "1e12"), "'1e12' is beyond any price", "per hour"),
        (("count", "eight"), "column gpu_count: 'eight' is no count", "1/6"),
        (("count", "-8"), "column gpu_count: '-8' is no count", "1/6"),
        (("count", "1/0"), "column gpu_count: '1/0' is no count", "1/6"),
        (("count", "1000000"), "column gpu_count: '1000000' is no count", "1/6"),
        (("count", "8.5"), "column gpu_count: '8.5' is no count", "whole GPUs"),
        (("count", "3/2"), "column gpu_count: '3/2' is no count", "whole GPUs"),
        (("date", "9999-12-31T23:00-14:00"), "-14:00' is no date", "2026-12-01"),
        (("date", "yesterday"), "column commit_or_date: 'yesterday' is no date", "2026-12-01"),
        (("date", "2026-13"), "column commit_or_date: '2026-13' is no date", "2026-12-01"),
        (("basis", "per_node"), "column price_basis: 'per_node' is not known", "instance, per_gpu"),
        (
            ("memory", "80 GiB"),
            "column gpu_memory_gib: '80 GiB' is no quantity",
            "without its unit",
        ),
        (("provider", ""), "column provider: '' is empty", "needs its provider"),
        (("type", ""), "column instance_type: '' is empty", "needs its instance_type"),
    ],
)
def test_a_cell_that_cannot_be_read_is_an_error_that_says_what_to_do(
    sheets: Sheets, cell: tuple[str, str], said: str, hint: str
) -> None:
    cells = {"provider": "nebula", "type": "n1", "count": "8", "memory": "", "price": "1"}
    cells |= {"date": "2026-11-01", "basis": ""} | dict([cell])
    line = "{provider},{type},H100-SXM,{count},{memory},a,,{price},,,{date},{basis},"
    error = sheets.error(f"{LISTED}\n{line.format(**cells)}")
    assert "sheet.csv" in str(error)
    assert said in str(error)
    assert hint in error.hint


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ("20,,on_demand,,,,,", "currency: '' is empty"),
        ("20,USD,,,,,,", "price_kind: '' is empty"),
        ("20,USD,on_demnd,,,,,", "price_kind: 'on_demnd' is not known"),
        ("20,USD,on_demand,12,,,,", "term_months: '12' is no part of on_demand"),
        ("20,USD,contract,,,500,,", "term_months: '' is empty beside an upfront payment"),
        ("20,USD,contract,1.5,,,,", "term_months: '1.5' is no whole number"),
        ("20,USD,contract,12,later,,,", "payment: 'later' is not known"),
    ],
)
def test_terms_that_make_no_sense_are_an_error(sheets: Sheets, cells: str, said: str) -> None:
    price, currency, kind, term, payment, upfront, basis, _ = cells.split(",")
    line = f"nebula,n1,H100-SXM,8,a,{price},{currency},{kind},{term},{payment},{upfront},{basis}"
    error = sheets.error(f"{QUOTED}\n{line},2026-11-01,")
    assert said in str(error)


def test_a_row_states_its_price_one_way_only(sheets: Sheets) -> None:
    header = "provider,instance_type,on_demand_usd_h,price,currency,price_kind"
    error = sheets.error(f"{header}\nnebula,n1,1,2,USD,spot")
    assert "column price: '2' is a second price" in str(error)


@given(cells=st.dictionaries(st.sampled_from(LISTED.split(",")), st.text(max_size=12), max_size=3))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_text_is_read_or_refused_with_a_remedy(sheets: Sheets, cells: dict[str, str]) -> None:
    usual = {"provider": "nebula", "instance_type": "n1", "gpu_name": "H100-SXM", "gpu_count": "8"}
    usual |= {"on_demand_usd_h": "16", "commit_or_date": "2026-11-01"}
    row = {**dict.fromkeys(LISTED.split(","), ""), **usual, **cells}
    text = io.StringIO(newline="")
    csv.writer(text).writerows([row, row.values()])
    try:
        reading = sheets.read(text.getvalue())
    except ConfigurationError as error:
        assert error.hint  # noqa: PT017 - either outcome is right
    else:
        assert len(reading.offers) + len(reading.rejections) >= 1
