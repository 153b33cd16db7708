import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from broker.reports.layout import GAP, Align, Cells, Fit, column_widths, shorten, table_lines


def lines(width: int, *columns: Cells) -> list[str]:
    return list(table_lines(columns, width))


PROVIDER = Cells(("provider", "aws", "azure", "gcp"), fit=Fit.BREAK)
TYPE = Cells(("type", "p5.48xlarge", "Standard_ND96isr_H100_v5", "a3-highgpu-8g"), fit=Fit.BREAK)
REGION = Cells(("region", "us-east-1", "eastus", "us-central1"), fit=Fit.BREAK)
PRICE = Cells(("$/h", "55.04", "98.32", "88.25"), align="right")
LINK = Cells(("link", "nvswitch", "nvswitch", "nvswitch"), spare=1)


def test_what_fits_stands_on_one_line() -> None:
    assert lines(70, PROVIDER, TYPE, REGION, LINK, PRICE) == [
        "provider  type                      region       link        $/h",
        "─" * 64,
        "aws       p5.48xlarge               us-east-1    nvswitch  55.04",
        "azure     Standard_ND96isr_H100_v5  eastus       nvswitch  98.32",
        "gcp       a3-highgpu-8g             us-central1  nvswitch  88.25",
    ]


def test_a_column_that_can_be_spared_goes_before_a_name_is_broken() -> None:
    assert lines(60, PROVIDER, TYPE, REGION, LINK, PRICE)[0] == (
        "provider  type                      region         $/h"
    )


def test_names_too_long_have_their_own_line_and_the_row_goes_on_beneath() -> None:
    assert lines(45, PROVIDER, TYPE, REGION, PRICE) == [
        "provider  type           region         $/h",
        "─" * 43,
        "aws       p5.48xlarge    us-east-1    55.04",
        "azure     Standard_ND96isr_H100_v5  eastus",
        "                                      98.32",
        "gcp       a3-highgpu-8g  us-central1  88.25",
    ]


def test_names_that_fill_more_than_a_line_take_another() -> None:
    assert lines(36, PROVIDER, TYPE, REGION, PRICE)[4:7] == [
        "azure     Standard_ND96isr_H100_v5",
        "                  eastus",
        "                               98.32",
    ]


def test_the_highest_spare_goes_first_and_no_more_than_need_be() -> None:
    columns = [Cells((name * 8,), spare=spare) for name, spare in (("a", 0), ("b", 1), ("c", 2))]
    assert lines(28, *columns)[0] == "aaaaaaaa  bbbbbbbb  cccccccc"
    assert lines(27, *columns)[0] == "aaaaaaaa  bbbbbbbb"
    assert lines(5, *columns)[0] == "aaaaaaaa"


def test_prose_wraps_beneath_itself_also_after_a_broken_name() -> None:
    name = Cells(("name", "n" * 24, "short"), fit=Fit.BREAK)
    why = Cells(("why", "one two three four five six", "none"), fit=Fit.WRAP)
    assert lines(24, name, why) == [
        "name    why",
        "─" * 24,
        "n" * 24,
        "        one two three",
        "        four five six",
        "short   none",
    ]


def test_a_wide_character_takes_two_places() -> None:
    name = Cells(("name", "東京", "abcd"))
    assert lines(20, name, Cells(("n", "1", "2")))[2:] == ["東京  1", "abcd  2"]


def test_the_widest_yielding_column_gives_way_first() -> None:
    columns = [
        Cells(("x" * 30,), fit=Fit.SHORTEN),
        Cells(("yyyy " * 4,), fit=Fit.WRAP),
        Cells(("z" * 10,)),
    ]
    assert column_widths(columns, 44) == (15, 15, 10)


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


NAMES = st.text(alphabet="abc-/.: ", min_size=1, max_size=40).map(lambda text: text.strip() or "x")


@given(
    st.lists(
        st.tuples(st.sampled_from([Fit.WHOLE, Fit.BREAK]), st.sampled_from(["left", "right"])),
        min_size=1,
        max_size=6,
    ),
    st.data(),
)
def test_no_name_or_figure_is_ever_cut(kinds: list[tuple[Fit, Align]], data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 4))
    columns = [
        Cells((f"h{index}", *(data.draw(NAMES) for _ in range(rows))), align=align, fit=fit)
        for index, (fit, align) in enumerate(kinds)
    ]
    width = data.draw(st.integers(1, 120))
    printed = list(table_lines(columns, width))
    text = "\n".join(printed)
    for column in columns:
        for cell in column.texts:
            assert re.search(rf"(^|\s){re.escape(cell)}(\s|$)", text)
    widths = column_widths(columns, width)
    longest = max((one.widest for one in columns if one.fit is Fit.BREAK), default=0)
    assert max(map(cell_len, printed)) <= max(width, sum(widths) + GAP * len(widths) + longest)
