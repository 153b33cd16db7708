"""The project's own table of measurements, judged by the tool that judges any file."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TABLE = ROOT / "broker" / "specs" / "measurements_serving.csv"
Group = dict[str, float]


@pytest.fixture(scope="module")
def summed() -> dict[str, dict[str, Group]]:
    """Give the summary by metric, GPU and kind."""
    done = subprocess.run(  # noqa: S603 - our own script
        [
            sys.executable,
            str(ROOT / "tools" / "validate_sizing.py"),
            *("serving", str(TABLE), "--format", "json", "--summary"),
        ],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    found = json.loads(done.stdout)["summary"]
    return {name: {one["group"]: one for one in groups} for name, groups in found.items()}


@pytest.mark.parametrize(
    ("metric", "median", "top"),
    [
        ("tokens per second", 14, 55),
        ("time per token", 16, 45),
        ("time to first token", 28, 95),
    ],
)
def test_errors_stay_what_they_were_when_the_constants_were_fitted(
    summed: dict[str, dict[str, Group]], metric: str, median: float, top: float
) -> None:
    assert summed["metric"][metric]["median_percent"] < median
    assert summed["metric"][metric]["top_percent"] < top


def test_few_rows_are_refused_and_bands_hold_nine_of_ten(
    summed: dict[str, dict[str, Group]],
) -> None:
    everything = summed["all"]["all"]
    assert everything["refused"] / everything["rows"] < 0.10
    assert 0.85 < everything["within_share"] < 0.95


def test_naive_baselines_are_far_worse(summed: dict[str, dict[str, Group]]) -> None:
    pace = summed["metric"]["time per token"]
    assert pace["naive_percent"]["bandwidth only"] > 2 * pace["median_percent"]
