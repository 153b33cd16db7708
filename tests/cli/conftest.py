from pathlib import Path

import pytest
from command_line import Ended, Gpubroker

from cli.app import run


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the command a data folder of its own, and a terminal of 80 characters."""
    folder = tmp_path / "data"
    monkeypatch.setenv("GPUBROKER_DATA_DIR", str(folder))
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
