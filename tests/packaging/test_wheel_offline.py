"""From the wheel alone, with its recordings and migrations, and without a socket."""

import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from command_line import ROOT, run_without_sockets

MAIN = "from cli.app import main; main()"
PACKAGES = ("broker", "providers", "solver", "cli")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and unpack it, far from the checkout."""
    built, folder = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("installed")
    subprocess.run(  # noqa: S603 - the build backend of the project
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = built.glob("*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_the_code_that_runs_is_that_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    show = f"import {', '.join(PACKAGES)}; print(*(m.__path__[0] for m in ({', '.join(PACKAGES)})))"
    ended = run_without_sockets(tmp_path, ["-c", show], packages=installed)
    assert ended.stdout.split() == [str(installed / package) for package in PACKAGES]


def test_the_catalog_is_made_with_the_migrations_of_the_wheel(
    installed: Path, tmp_path: Path
) -> None:
    for arguments in (["refresh", "--recorded"], ["status", "--format", "json"]):
        ended = run_without_sockets(tmp_path, ["-c", MAIN, *arguments], packages=installed)
        assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["offers"] >= 300
    assert (tmp_path / "data" / "catalog.sqlite3").is_file()
