import json
from pathlib import Path

import pytest
from command_line import Gpubroker
from tiny_files import write_workloads


@pytest.fixture
def file(gpubroker: Gpubroker, tmp_path: Path) -> Path:
    """Fill a catalog and export it."""
    for provider in ("lambda", "vast"):
        assert gpubroker("refresh", "--recorded", "--provider", provider).code == 0
    path = tmp_path / "catalog.jsonl.gz"
    assert gpubroker("catalog", "export", str(path)).code == 0
    return path


def test_an_export_tells_what_went_into_the_file_and_its_hash(
    gpubroker: Gpubroker, file: Path
) -> None:
    ended = gpubroker("catalog", "export", str(file), "--format", "json")
    told = json.loads(ended.out)
    assert told["schema"] == "gpubroker.exchange/1"
    assert [row["provider"] for row in told["providers"]] == ["lambda", "vast"]
    assert told["snapshot"] in ended.err
    offers = json.loads(gpubroker("offers", "--format", "json").out)
    assert offers["snapshot"] == told["snapshot"]


def test_two_exports_of_one_catalog_are_one_file(gpubroker: Gpubroker, file: Path) -> None:
    first = file.read_bytes()
    assert gpubroker("catalog", "export", str(file)).code == 0
    assert file.read_bytes() == first
    assert [path.name for path in file.parent.glob("*.gz*")] == [file.name]


def test_an_empty_machine_plans_over_what_was_imported_by_its_hash(
    gpubroker: Gpubroker, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUBROKER_DATA_DIR", str(tmp_path / "elsewhere"))
    ended = gpubroker("catalog", "import", str(file), "--format", "json")
    assert ended.code == 0
    told = json.loads(ended.out)
    assert {row["result"] for row in told["providers"]} == {"imported"}
    snapshot = told["snapshot"]
    assert f"the catalog is the exported one: --snapshot {snapshot}" in ended.err
    offers = json.loads(
        gpubroker("offers", "--snapshot", snapshot, "--limit", "0", "--format", "json").out
    )
    assert offers["snapshot"] == snapshot
    assert offers["matching"] == sum(row["offers"] for row in told["providers"])
    out = tmp_path / "plan.json"
    workloads = str(write_workloads(tmp_path))
    planned = gpubroker("plan", workloads, "--snapshot", snapshot, "--out", str(out))
    assert planned.code == 0, planned.err
    assert json.loads(out.read_text())["catalog"]["snapshot"] == snapshot


def test_an_import_into_a_catalog_with_others_says_that_it_is_another_one(
    gpubroker: Gpubroker, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUBROKER_DATA_DIR", str(tmp_path / "elsewhere"))
    assert gpubroker("refresh", "--recorded", "--provider", "cudo").code == 0
    ended = gpubroker("catalog", "import", str(file))
    assert ended.code == 0
    assert "the catalog holds other offers, too" in ended.err
    assert "GPUBROKER_DATA_DIR" in ended.err


def test_a_damaged_file_is_refused_and_nothing_is_changed(
    gpubroker: Gpubroker, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(bytes(content))
    monkeypatch.setenv("GPUBROKER_DATA_DIR", str(tmp_path / "elsewhere"))
    ended = gpubroker("catalog", "import", str(file))
    assert ended.code == 2
    assert "cannot be used" in ended.err
    assert gpubroker("status").code == 2  # as empty as before


def test_a_file_that_is_not_there_is_named(gpubroker: Gpubroker, tmp_path: Path) -> None:
    ended = gpubroker("catalog", "import", str(tmp_path / "none.gz"))
    assert ended.code == 2
    assert "none.gz" in ended.err


def test_an_export_as_of_a_date_before_the_first_refresh_is_refused(
    gpubroker: Gpubroker, file: Path
) -> None:
    ended = gpubroker("catalog", "export", str(file), "--as-of", "2001-01-01")
    assert ended.code == 2
    assert "the catalog is empty as of 2001-01-01" in ended.err


def test_an_export_to_a_folder_is_refused(gpubroker: Gpubroker, tmp_path: Path) -> None:
    ended = gpubroker("catalog", "export", str(tmp_path))
    assert ended.code == 2
    assert "is a folder" in ended.err
    assert "catalog.jsonl.gz" in ended.err
