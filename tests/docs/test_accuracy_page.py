"""docs/accuracy.md claims what the project's own tables of measurements show."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from broker.specs.load import Specs, load_specs

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "accuracy.md"
TOOLS = ROOT / "tools" / "accuracy"
MANY_ROWS = 50
SPLITS = 3
"""Of the thirty that the page is printed from: each lies in the span that the page gives."""

Table = dict[str, Sequence[str]]


@pytest.fixture(scope="module")
def tools() -> Iterator[Mapping[str, ModuleType]]:
    """Load the tools by name."""
    sys.path.insert(0, str(TOOLS))
    try:
        import fit_training  # noqa: PLC0415 - a tool, no package
        import serving_report  # noqa: PLC0415 - a tool, no package
        import training_report  # noqa: PLC0415 - a tool, no package

        yield {"serving": serving_report, "training": training_report, "fit": fit_training}
    finally:
        sys.path.remove(str(TOOLS))


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def tables() -> Iterator[Table]:
    """Read the tables of the page: rows by the text of their first cell."""
    found: Table = {}
    for line in [*PAGE.read_text(encoding="utf-8").splitlines(), ""]:
        if line.startswith("|"):
            name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
            found[name] = cells
        elif found:
            yield found
            found = {}


def table(head: str) -> Table:
    """Find the table whose first column has a heading."""
    return next(one for one in tables() if head in one)


def spans(cell: str) -> list[float]:
    """Read `9.8–15.0 / 27–49` as four numbers."""
    return [float(one) for one in re.findall(r"\d+(?:\.\d+)?", cell)]


def is_told(cell: str, medians: Sequence[float], tops: Sequence[float]) -> bool:
    """Say whether every split lies in the span of a cell, rounding aside."""
    least, most, least_top, most_top = spans(cell)
    inside = least - 0.1 <= min(medians) and max(medians) <= most + 0.1
    return inside and least_top - 1 <= min(tops) and max(tops) <= most_top + 1


def test_bands_hold_nine_of_ten_of_every_class_of_many_rows() -> None:
    serving = next(one for one in tables() if list(one.get("class", ())) == ["rows", "held in %"])
    held: dict[str, float] = {}
    for name, (rows, *_, share) in [*serving.items(), *table("90 % band").items()]:
        count = rows.replace(",", "")
        if count.isdigit() and int(count) > MANY_ROWS:
            held[f"{name} of {count}"] = float(share.strip("%"))
    assert sum(name.startswith("all of") for name in held) == 2
    assert len(held) > 15
    assert {name: share for name, share in held.items() if not 85 <= share <= 95} == {}


@pytest.mark.long
def test_serving_errors_are_those_of_the_page(
    tools: Mapping[str, ModuleType], specs: Specs
) -> None:
    report = tools["serving"]
    rows = report.usable(list(report.own_rows(specs)))
    found = report.held_out(rows, SPLITS)
    told = table("held out, median / p90 in %")
    for line in report._LINES:
        chosen = np.array([line.holds(row) for row in rows])
        assert int(told[line.name][0].replace(",", "")) == chosen.sum()
        assert is_told(told[line.name][2], *report._quantiles(chosen, found)), line.name


@pytest.mark.long
def test_training_errors_are_those_of_the_page(
    tools: Mapping[str, ModuleType], specs: Specs
) -> None:
    report = tools["training"]
    rows = report.usable(report.own_rows(specs))
    found = report.held_out(rows, SPLITS)
    told = next(one for one in tables() if "encoders" in one)
    for name, kinds in tools["fit"].CLASSES.items():
        chosen = np.array([row.kind in kinds for row in rows])
        medians, tops = report.quantiles_of([split[chosen] for split in found.splits])
        assert is_told(told[name][2], medians.tolist(), tops.tolist()), name
    everything = report.own_memory_rows(specs)
    peaks = report.memory_held_out(
        report.usable_peaks(everything), report.judged_verdicts(everything), SPLITS
    )
    medians, tops = report.quantiles_of(peaks.splits)
    memory = table("figure")
    assert is_told(memory["peak, median / p90"][1], medians.tolist(), tops.tolist())
    least, most = spans(memory["fits or not"][1])
    assert least - 0.1 <= 100 * min(peaks.right) <= 100 * max(peaks.right) <= most + 0.1
