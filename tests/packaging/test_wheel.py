"""The wheel holds all that the product needs, and the main job runs from it alone."""

import os
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
ABOUT = f"gpubroker-{version('gpubroker')}.dist-info"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    built = list(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"]))
    return Path(built[0])


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def run(unpacked: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command from the unpacked wheel, which comes before the checkout on the path."""
    code = "import cli.app; print(cli.app.__file__, flush=True); cli.app.main()"
    ended = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-P", "-c", code, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env={
            "PATH": os.defpath,
            "PYTHONPATH": str(unpacked),
            "PYTHONUTF8": "1",
            "GPUBROKER_DATA_DIR": str(folder / "data"),
        },
        check=False,
    )
    assert ended.stdout.startswith(str(unpacked)), ended.stderr
    return ended


def test_the_wheel_has_our_packages_and_nothing_else(names: set[str]) -> None:
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"broker", "providers", "solver", "cli", ABOUT}


def test_the_wheel_has_every_file_of_the_packages(names: set[str]) -> None:
    for package in ("broker", "providers", "solver", "cli"):
        for path in (ROOT / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert str(path.relative_to(ROOT)) in names, path


def test_the_recordings_lie_where_the_code_looks(names: set[str]) -> None:
    for path in (ROOT / "fixtures").rglob("*.json"):
        assert f"providers/_recorded/{path.relative_to(ROOT / 'fixtures')}" in names, path


def test_the_wheel_states_its_command_and_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        commands = archive.read(f"{ABOUT}/entry_points.txt").decode()
        metadata = archive.read(f"{ABOUT}/METADATA").decode()
        licence = archive.read(f"{ABOUT}/licenses/LICENSE").decode()
    assert "gpubroker = cli.launch:main" in commands
    assert "License-Expression: Apache-2.0" in metadata
    assert "Apache License" in licence
    assert "Requires-Python: >=3.11" in metadata


@pytest.mark.long
def test_the_main_job_runs_from_the_wheel_in_an_empty_folder(
    unpacked: Path, tmp_path: Path
) -> None:
    copied = run(unpacked, tmp_path, "examples", "--copy", "7b-small-team")
    assert copied.returncode == 0, copied.stderr
    planned = run(
        unpacked, tmp_path, "plan", "7b-small-team.yaml", "--recorded", "--out", "plan.json"
    )
    assert planned.returncode == 0, planned.stderr
    verified = run(unpacked, tmp_path, "verify", "plan.json", "7b-small-team.yaml")
    assert verified.returncode == 0, verified.stderr
    assert "accepted" in verified.stdout
    assert not (tmp_path / "data").exists()
