import csv
import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from broker.reports.formats import Column, Format, Report, as_table, as_text, plain
from broker.reports.layout import Fit, column_widths, shorten


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    usd: Decimal | None
    count: Fraction
    seen_at: datetime
    reasons: dict[str, int]


ROWS = (
    Row("a, b", Decimal("55.040000"), Fraction(8), datetime(2026, 5, 1, tzinfo=UTC), {"x": 2}),
    Row(Colour.RED, None, Fraction(1, 4), datetime(2026, 5, 1, 6, 30, tzinfo=UTC), {}),
)


def report(*rows: Row) -> Report[Row]:
    columns = (
        Column[Row]("name", lambda row: row.name, fit=Fit.SHORTEN),
        Column[Row]("$/h", lambda row: f"{row.usd}", "right"),
        Column[Row]("count", lambda row: f"{row.count}", wide=True),
    )
    return Report("gpubroker.test/1", "rows", Row, rows, columns, {"total": len(rows)})


def printed(of: Report[Row], width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    with console.capture() as captured:
        console.print(as_table(of, width), crop=False)
    return captured.get().splitlines()


def test_json_carries_its_schema_and_exact_numbers() -> None:
    text = as_text(report(*ROWS), Format.JSON)
    assert json.loads(text, parse_float=Decimal) == {
        "schema": "gpubroker.test/1",
        "total": 2,
        "rows": [
            {
                "name": "a, b",
                "usd": Decimal("55.04"),
                "count": 8,
                "seen_at": "2026-05-01T00:00:00Z",
                "reasons": {"x": 2},
            },
            {
                "name": "red",
                "usd": None,
                "count": Decimal("0.25"),
                "seen_at": "2026-05-01T06:30:00Z",
                "reasons": {},
            },
        ],
    }


def test_yaml_says_the_same_as_json() -> None:
    of = report(*ROWS)
    assert yaml.safe_load(as_text(of, Format.YAML)) == json.loads(as_text(of, Format.JSON))


def test_csv_has_a_header_and_quotes_what_needs_it() -> None:
    rows = list(csv.reader(io.StringIO(as_text(report(*ROWS), Format.CSV))))
    assert rows == [
        ["name", "usd", "count", "seen_at", "reasons"],
        ["a, b", "55.04", "8", "2026-05-01T00:00:00Z", "x=2"],
        ["red", "", "0.25", "2026-05-01T06:30:00Z", ""],
    ]


@dataclass(frozen=True, slots=True)
class Outer:
    key: str
    inner: Row
    end: int


def test_a_row_inside_a_row_is_flattened_in_its_place() -> None:
    of = Report("gpubroker.test/1", "rows", Outer, (Outer("k", ROWS[0], 7),), (), {})
    (row,) = json.loads(as_text(of, Format.JSON))["rows"]
    assert list(row) == ["key", "name", "usd", "count", "seen_at", "reasons", "end"]
    assert as_text(of, Format.CSV).splitlines()[0] == ",".join(row)


def test_csv_without_rows_still_has_its_header() -> None:
    assert as_text(report(), Format.CSV) == "name,usd,count,seen_at,reasons\n"


@given(micro=st.integers(0, 10**15 - 1))
def test_money_below_a_billion_is_written_digit_for_digit(micro: int) -> None:
    amount = Decimal(micro) / 10**6
    assert Decimal(json.dumps(plain(amount))) == amount


def test_a_field_that_no_format_can_hold_is_an_error() -> None:
    with pytest.raises(TypeError, match="no plain field"):
        plain(object())


def test_a_table_is_no_form_for_machines() -> None:
    with pytest.raises(ValueError, match="no form for machines"):
        as_text(report(), Format.TABLE)


def test_a_wide_column_is_left_out_of_a_narrow_terminal() -> None:
    assert "count" not in printed(report(*ROWS), 80)[0]
    assert "count" in printed(report(*ROWS), 120)[0]


def test_a_name_gives_way_before_a_figure() -> None:
    row = Row("n" * 50, Decimal("12345678.123456"), Fraction(1), ROWS[0].seen_at, {})
    *_, last = printed(report(row), 30)
    assert last == "nnnnnn…nnnnnn  12345678.123456"


def test_no_figure_is_cut_in_a_terminal_that_is_too_narrow() -> None:
    row = Row("n" * 50, Decimal("12345678.123456"), Fraction(1), ROWS[0].seen_at, {})
    *_, last = printed(report(row), 10)
    assert "12345678.123456" in last


def test_the_widest_yielding_column_gives_way_first() -> None:
    texts = [["x" * 30], ["y" * 20], ["z" * 10]]
    fits = [Fit.SHORTEN, Fit.WRAP, Fit.WHOLE]
    assert column_widths(texts, fits, 44) == (15, 15, 10)


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [
        ("p5.48xlarge", 11, "p5.48xlarge"),
        ("Standard_ND96isr_H100_v5", 15, "Standar…H100_v5"),
        ("abcdef", 5, "ab…ef"),
    ],
)
def test_a_long_name_keeps_its_start_and_its_end(text: str, width: int, short: str) -> None:
    assert shorten(text, width) == short
    assert len(short) <= width
