"""The project's own tables of training, judged by the tool that judges any file."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from broker.specs.load import Specs

ROOT = Path(__file__).parents[3]
TOOLS = ROOT / "tools" / "accuracy"
STEPS = ROOT / "broker" / "specs" / "measurements_training.csv"
PEAKS = ROOT / "broker" / "specs" / "measurements_memory_training.csv"
GIVEN = ROOT.parent / "shared" / "data" / "measurements" / "training_ground_truth.csv"


@pytest.fixture(scope="module")
def tools() -> Iterator[Mapping[str, ModuleType]]:
    """Load the tools by name."""
    sys.path.insert(0, str(TOOLS))
    try:
        import judge_memory  # noqa: PLC0415 - a tool, no package
        import judge_training  # noqa: PLC0415 - a tool, no package
        import judging  # noqa: PLC0415 - a tool, no package
        import measured_models  # noqa: PLC0415 - a tool, no package
        import training_rows  # noqa: PLC0415 - a tool, no package

        yield {
            "memory": judge_memory,
            "training": judge_training,
            "judging": judging,
            "rows": training_rows,
            "models": measured_models,
        }
    finally:
        sys.path.remove(str(TOOLS))


@pytest.fixture(scope="module")
def steps(tools: Mapping[str, ModuleType], specs: Specs) -> list[Any]:
    """Judge every row of the table of steps, once."""
    found: list[Any] = tools["training"].judge(STEPS, specs)
    return found


@pytest.mark.parametrize(
    ("kind", "median", "top"),
    [
        ("dense tuned", 10, 29),
        ("adapters tuned", 10, 29),
        ("dense torch", 12, 35),
        ("dense hf", 18, 50),
        ("sparse", 15, 55),
    ],
)
def test_step_errors_stay_what_they_were_when_the_constants_were_fitted(
    tools: Mapping[str, ModuleType], steps: list[Any], *, kind: str, median: float, top: float
) -> None:
    found = [one for one in steps if one.kind == kind]
    told = tools["judging"].summary(kind, found)
    assert told.median_percent < median
    assert told.top_percent < top


def test_few_steps_are_refused_each_with_a_reason_and_bands_hold(
    tools: Mapping[str, ModuleType], steps: list[Any]
) -> None:
    told = tools["judging"].summary("all", steps)
    assert told.refused / told.rows < 0.10
    assert all(one.reason for one in steps if one.predicted is None)
    assert 0.88 < told.within_share < 0.97


def test_peaks_are_closer_than_eighteen_bytes_a_parameter(
    tools: Mapping[str, ModuleType], specs: Specs
) -> None:
    found = [one for one in tools["memory"].judge(PEAKS, specs) if one.metric == "peak_memory"]
    told = tools["judging"].summary("all", found)
    assert told.median_percent < 8
    assert told.top_percent < 28
    assert told.median_percent < told.naive_percent["18 bytes a parameter"] / 4
    assert told.refused / told.rows < 0.10


def test_a_row_is_read_as_it_was_laid_out(tools: Mapping[str, ModuleType], specs: Specs) -> None:
    cells = {
        "id": "X-1",
        "model": "GPT-3 175B",
        "params_b": "174.6",
        "active_params_b": "174.6",
        "gpu": "H100-SXM-96GB (500W)",
        "gpus": "512",
        "gpus_per_node": "8",
        "intra_link": "NVLink4 900GB/s + NVSwitch",
        "fabric": "Storage: 2x IB HDR 200Gb/s, Compute: 8x ConnectX-7 IB NDR 400Gb/s",
        "precision": "FP8",
        "parallelism": "TP=4 PP=8 CP=1 VP=6 MBS=2 GBS=2048 AC=none",
        "seq_len": "2048",
        "global_batch_tokens": "4194304",
        "metric": "tokens_per_s_per_gpu",
        "value": "700",
        "source": "MLPerf Training v4.1 closed results",
        "source_date": "2024-11",
    }
    models = tools["models"].measured_models(specs)
    row = tools["rows"].row_of(cells, specs, models)
    assert row.reason == ""
    setup = row.setup
    split = setup.split
    assert (split.tensor, split.pipeline, split.data, split.virtual_stages) == (4, 8, 16, 6)
    assert split.micro_batches == 2048 / (16 * 2)
    assert setup.wires.between_gb_per_s == 8 * 400 / 8
    assert setup.year == 2024.8
    assert row.step_s == pytest.approx(4_194_304 / (700 * 512))
    # a limit of 500 of 700 W leaves the cube root of it of the clock
    assert setup.gpu.bf16_tflops == pytest.approx(989 * (500 / 700) ** (1 / 3))
    untold = tools["rows"].row_of({**cells, "metric": "time_to_train_min"}, specs, models)
    assert untold.reason == "work_not_stated"


@pytest.mark.skipif(not GIVEN.exists(), reason="the given measurements are not here")
def test_the_given_rows_are_predicted_too(tools: Mapping[str, ModuleType], specs: Specs) -> None:
    found = tools["training"].judge(GIVEN, specs)
    told = [one for one in found if one.reason != "work_not_stated"]
    assert sum(one.predicted is None for one in told) / len(told) < 0.10
