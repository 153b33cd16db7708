import os
import shutil
from pathlib import Path

import pytest
from command_line import Ended, Gpubroker, made_once, run_apart

from cli.app import run


@pytest.fixture(scope="module", autouse=True)
def quick_children(forked_children: None) -> None:
    """Plan in child processes that begin at once."""


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the command a data folder of its own, and a terminal of 80 characters."""
    folder = tmp_path / "data"
    monkeypatch.setenv("GPUBROKER_DATA_DIR", str(folder))
    monkeypatch.setenv("GPUBROKER_SETTINGS_FILE", os.devnull)  # not that of whoever runs the tests
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return folder


@pytest.fixture
def gpubroker(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> Gpubroker:
    """Run one command line in this process."""
    assert not data_dir.exists()

    def call(*arguments: str) -> Ended:
        code = run(arguments)
        printed = capsys.readouterr()
        return Ended(code, printed.out, printed.err)

    return call


@pytest.fixture(scope="session")
def recorded_store(shared_folder: Path) -> Path:
    """Make a data folder whose catalog all recordings have filled, once for all workers."""

    def refresh(folder: Path) -> None:
        assert run_apart(folder / "data", "refresh", "--recorded").code == 0

    return made_once(shared_folder / "recorded", refresh) / "data"


@pytest.fixture
def filled(recorded_store: Path, gpubroker: Gpubroker, data_dir: Path) -> Gpubroker:
    """Run one command line with a copy of that data folder."""
    shutil.copytree(recorded_store, data_dir)
    return gpubroker
