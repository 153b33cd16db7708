import functools
import os
from pathlib import Path

import pytest
from command_line import EXAMPLES, Ended, Gpubroker, Solve, Solved, run_apart

from cli.app import run


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
def solve(tmp_path_factory: pytest.TempPathFactory) -> Solve:
    """Plan an example over the recordings, with its table printed and its JSON written."""

    @functools.cache
    def plan(name: str) -> Solved:
        folder = tmp_path_factory.mktemp(name)
        workloads, out = EXAMPLES / f"{name}.yaml", folder / "plan.json"
        arguments = ("plan", str(workloads), "--recorded", "--out", str(out))
        return Solved(workloads, out, run_apart(folder / "data", *arguments))

    return plan
