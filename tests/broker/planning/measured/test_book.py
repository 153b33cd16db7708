from dataclasses import replace
from pathlib import Path

import pytest

from broker.domain.errors import ConfigurationError
from broker.domain.gpu import Precision
from broker.domain.workload import Method, TrainingStack
from broker.planning.measured.book import Measurements, read_book, write_book
from broker.planning.measured.service import measured_rows, own_numbers_of
from broker.settings import Settings
from broker.specs.load import Specs
from solver.sizing.measured import (
    NO_NUMBERS,
    Deployment,
    ServingPoint,
    TrainedOn,
    TrainingPoint,
)

POINT = ServingPoint(
    Deployment("llama-3.1-70b", "H100-SXM", "vllm", Precision.FP8),
    2,
    1000.0,
    300.0,
    32.0,
    tpot_s=0.03,
    ttft_s=0.25,
    tokens_per_s=320.0,
    engine_version="0.12.0",
    source="bench.json",
)
RUN = TrainingPoint(
    TrainedOn("llama-3.1-8b", "H100-SXM", TrainingStack.TORCH, Method.FULL, Precision.BF16),
    16,
    8,
    4096,
    1_048_576,
    190_000.0,
    fabric="infiniband",
    fabric_gbit_per_s=3200.0,
    source="mine.csv",
)


def test_what_is_written_is_read_again(tmp_path: Path, specs: Specs) -> None:
    path = tmp_path / "new folder" / "measurements.csv"
    kept = Measurements((POINT,), (RUN,))
    write_book(path, kept)
    assert read_book(path, specs) == kept
    assert [one.name for one in path.parent.iterdir()] == ["measurements.csv"]


def test_a_point_at_the_same_place_replaces_the_older_one() -> None:
    newer = replace(POINT, tpot_s=0.04)
    other = replace(POINT, concurrency=64.0)
    kept = Measurements((POINT,)).with_more(Measurements((newer, other)))
    assert kept.serving == (newer, other)


def test_no_file_is_no_numbers(tmp_path: Path, specs: Specs) -> None:
    assert own_numbers_of(Settings(data_dir=tmp_path), specs) is NO_NUMBERS
    assert len(read_book(tmp_path / "none.csv", specs)) == 0


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_book(tmp_path / "file" / "measurements.csv", Measurements((POINT,)))


def test_the_list_says_why_points_are_not_used(tmp_path: Path, specs: Specs) -> None:
    strange = replace(POINT, deployment=replace(POINT.deployment, engine="lmdeploy"))
    write_book(tmp_path / "measurements.csv", Measurements((POINT, strange), (RUN,)))
    kept = read_book(tmp_path / "measurements.csv", specs)
    own = own_numbers_of(Settings(data_dir=tmp_path), specs)
    used = {(row.kind, row.engine): row.used for row in measured_rows(kept, own)}
    assert used["serving", "vllm"] == "no: needs 3 points"
    assert used["serving", "lmdeploy"] == "no: no service runs on lmdeploy"
    assert used["training", "torch full"] == "yes"
