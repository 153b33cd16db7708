import csv
import io
import json
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from broker.reports.formats import Column, Format, Report, as_table, as_text, plain
from broker.reports.layout import Fit


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
        Column[Row]("count", lambda row: f"{row.count}", spare=1),
    )
    return Report("gpubroker.test/1", "rows", Row, rows, columns, {"total": len(rows)})


def printed(of: Report[Row], width: int) -> list[str]:
    return as_table(of, width).splitlines()


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


def test_a_table_has_a_heading_a_rule_and_its_rows() -> None:
    assert printed(report(*ROWS), 80) == [
        "name        $/h  count",
        "──────────────────────",
        "a, b  55.040000  8",
        "red        None  1/4",
    ]


def test_what_would_steer_the_terminal_is_not_printed() -> None:
    row = Row("\x1b[2Jwiped\tand\nmore", None, Fraction(1), ROWS[0].seen_at, {})
    assert printed(report(row), 80)[2].startswith("\N{REPLACEMENT CHARACTER}[2Jwiped and more")


@dataclass(frozen=True, slots=True)
class Listed:
    names: tuple[str, ...]
    lengths: tuple[int, ...]
    day: date


def test_a_list_is_a_list_and_a_cell_with_bars() -> None:
    rows = (Listed(("soc2", "hipaa"), (24, 48), date(2026, 5, 1)), Listed((), (), date(2026, 5, 2)))
    of = Report("gpubroker.test/1", "rows", Listed, rows, (), {})
    told = json.loads(as_text(of, Format.JSON))["rows"]
    assert told[0] == {"names": ["soc2", "hipaa"], "lengths": [24, 48], "day": "2026-05-01"}
    assert yaml.safe_load(as_text(of, Format.YAML))["rows"] == told
    assert as_text(of, Format.CSV).splitlines()[1:] == [
        "soc2|hipaa,24|48,2026-05-01",
        ",,2026-05-02",
    ]


def test_json_and_yaml_have_the_lists_beside_the_rows() -> None:
    of = Report("gpubroker.test/1", "rows", Row, ROWS[:1], (), {}, {"others": ROWS[1:]})
    told = json.loads(as_text(of, Format.JSON))
    assert list(told) == ["schema", "rows", "others"]
    assert told["others"][0]["name"] == "red"
    assert yaml.safe_load(as_text(of, Format.YAML)) == told
    assert "red" not in as_text(of, Format.CSV)


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    number: float


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+2", "'=1+2"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "\t'=1"),
        ("\r=1", "\n'=1"),
        ("  =1", "  '=1"),
        ("\uff1d1", "'\uff1d1"),
        ('x;=HYPERLINK("http://evil.example")', 'x;\'=HYPERLINK("http://evil.example")'),
        ('a","=1', 'a","\'=1'),
        ("p5.48xlarge", "p5.48xlarge"),
        ("us-east-1", "us-east-1"),
        ("Texas, US", "Texas, US"),
        ("spot 1.2, on demand 3.4 $/h", "spot 1.2, on demand 3.4 $/h"),
    ],
)
def test_no_text_of_a_csv_cell_is_a_formula(text: str, cell: str) -> None:
    of = Report("gpubroker.test/1", "rows", Cell, (Cell(text, -1.5),), (), {})
    ((read, number),) = list(csv.reader(io.StringIO(as_text(of, Format.CSV), newline="")))[1:]
    assert (read, number) == (cell, "-1.5")


@given(text=st.text(alphabet=' ;,|\t\r\n"=+-@a1\uff1d', max_size=12))
def test_no_cell_begins_a_formula_wherever_a_spreadsheet_splits_it(text: str) -> None:
    of = Report("gpubroker.test/1", "rows", Cell, (Cell(text, 1.0),), (), {})
    written = as_text(of, Format.CSV).partition("\n")[2].rpartition(",")[0]
    for part in re.split(r'[;,|\t\r\n"]+', written):
        assert not re.match(r"\s*[=+\-@\uff1d]", part)


def test_a_name_gives_way_before_a_figure() -> None:
    row = Row("n" * 50, Decimal("12345678.123456"), Fraction(1), ROWS[0].seen_at, {})
    *_, last = printed(report(row), 30)
    assert last == "nnnnnn…nnnnnn  12345678.123456"


def test_no_figure_is_cut_in_a_terminal_that_is_too_narrow() -> None:
    row = Row("n" * 50, Decimal("12345678.123456"), Fraction(1), ROWS[0].seen_at, {})
    *_, last = printed(report(row), 10)
    assert "12345678.123456" in last
