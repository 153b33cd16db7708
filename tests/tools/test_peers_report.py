"""Rows of a comparison: kept, known again, and told within 80 columns."""

from datetime import date
from pathlib import Path

from peers_bench.records import FROM_A_START, OURS, TABLE, PeerRow, Times, known_rows
from peers_bench.report import PAGE, is_dearer, page_of, summary_of, text_of
from program_bench.records import append_row, read_table


def row(rival: str, usd: float | None, **more: object) -> PeerRow:
    values: dict[str, object] = {
        "made_on": date(2026, 11, 28),
        "program": "0123456789",
        "instance": "company",
        "snapshot": "abcdef",
        "times": str(Times()),
        "rival": rival,
        "choice": "",
        "own_usd": usd,
        "usd": usd,
        "bound_usd": None,
        "seconds": 1.5,
        "repairs": "",
        "remarks": "",
        "refusal": "",
        "cpu": "a processor, of a kind",
        "cores": 2,
        "load": 0.5,
    }
    return PeerRow.model_validate(values | more)


def test_rows_come_back_from_the_table_as_they_were(tmp_path: Path) -> None:
    rows = (row(OURS, 900.0), row("greedy", None, refusal="no room, none at all", own_usd=None))
    for one in rows:
        append_row(one, tmp_path / "peers.csv")
    assert read_table(tmp_path / "peers.csv", PeerRow) == rows


def test_a_comparison_is_known_of_the_same_program_prices_and_times() -> None:
    rows = [row(OURS, 1000.0), row(OURS, 900.0), row("greedy", 1.0, times="others")]
    asked = ("0123456789", ("company", "abcdef"), str(Times()))
    assert known_rows(rows, *asked) == (rows[1],)
    assert known_rows(rows, "another", *asked[1:]) == ()
    assert known_rows(rows, asked[0], ("company", "newer"), asked[2]) == ()


def test_a_table_is_eighty_columns_wide_and_shows_the_repairs() -> None:
    long = "a service somewhere: " + "moved " * 30
    rows = [
        row("greedy", 12_345_678.0, bound_usd=1_234_567.0, repairs=f"{long} | and more"),
        row("best single provider", 1000.0, choice="a provider of a long name"),
        row(OURS, 900.0, bound_usd=899.0),
    ]
    lines = text_of(rows).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[2].split() == ["joint", "plan", "(ours)", "900.00", "900.00", "899.00", "2", "–"]
    assert lines[4].endswith("10.0%")
    assert "  greedy: and more" in lines


def test_the_median_saving_over_each_rival_is_told() -> None:
    rows = [
        *(row(OURS, 90.0, instance=name) for name in "abc"),
        *(
            row("greedy", usd, instance=name)
            for name, usd in zip("abc", (100, 180, 900), strict=True)
        ),
        row("skypilot", None, refusal="no room"),
    ]
    assert summary_of(rows) == [
        "greedy: median saving 50.0% (10.0% to 90.0%, 3 instances)",
        "skypilot: no plan to compare with",
    ]


def test_where_our_plan_is_dearer_it_is_said_plainly() -> None:
    rows = [row(OURS, 900.0), row("greedy", 899.0), row("skypilot", 901.0)]
    assert is_dearer(rows)
    assert "Our plan is dearer than greedy, by 1.00 USD." in text_of(rows)
    assert "**Our plan is dearer than greedy, by 1.00 USD.**" in page_of(rows)
    assert not is_dearer([row(OURS, 900.0), row("greedy", 900.001)])
    assert is_dearer([row(OURS, None), row("greedy", 900.0)])


def test_what_our_search_missed_without_a_start_is_said() -> None:
    rows = [row("greedy", 899.0), row(OURS, 900.0), row(FROM_A_START, 890.0)]
    told = "Without the plan of greedy to begin with, our search ended 1.00 USD above it."
    assert not is_dearer(rows)
    assert told in text_of(rows).replace("\n  ", " ")
    assert told in page_of(rows)


def test_the_page_in_the_docs_is_that_of_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page_of(read_table(TABLE, PeerRow))


def test_the_page_has_the_last_run_of_each_instance() -> None:
    old = [row(OURS, 950.0, program="older"), row("greedy", 1000.0, program="older")]
    page = page_of([*old, row("greedy", 1200.0), row(OURS, 900.0), row("greedy", 1000.0)])
    assert "950.00" not in page
    assert "1,200.00" not in page
    assert "- greedy: median saving 10.0% (10.0% to 10.0%, 1 instance)" in page
    assert "| greedy | 1,000.00 | 1,000.00 | – | 1.5 | 10.0% |" in page
