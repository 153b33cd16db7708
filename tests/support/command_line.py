"""What a command of gpubroker did, for tests of the command line."""

import contextlib
import fcntl
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from cli.app import run

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "broker" / "examples"

NO_SOCKETS = """
import sys

def refuse(event, arguments):
    if event == "socket.__new__":
        raise RuntimeError("a socket was opened")

sys.addaudithook(refuse)
"""
"""A `sitecustomize` under which this process and its children can open no socket at all."""


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


Gpubroker = Callable[..., Ended]
"""Runs one command line."""


@dataclass(frozen=True)
class Solved:
    """A workloads file, the plan file that was made of it, and how the command ended."""

    workloads: Path
    plan: Path
    ended: Ended


Solve = Callable[[str], Solved]
"""Plans an example over the recordings; each is solved once a run of the tests."""


def run_apart(data_dir: Path, *arguments: str) -> Ended:
    """Run one command line in this process for a fixture that outlives its test."""
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setenv("GPUBROKER_DATA_DIR", str(data_dir))
        patch.setenv("GPUBROKER_SETTINGS_FILE", os.devnull)
        patch.setenv("COLUMNS", "80")
        code = run(arguments)
    return Ended(code, out.getvalue(), err.getvalue())


def made_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """Fill a folder, unless another process has done so or is about to."""
    folder.mkdir(exist_ok=True)
    done = folder / "done"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(folder)
            done.touch()
    return folder


def solve_once(folder: Path, name: str) -> Solved:
    """Plan an example over the recordings, unless another process has done so in this folder."""
    workloads, out = EXAMPLES / f"{name}.yaml", folder / name / "plan.json"
    told = folder / name / "ended.json"

    def solve(made: Path) -> None:
        options = ("--recorded", "--out", str(out))
        ended = run_apart(made / "data", "plan", str(workloads), *options)
        told.write_text(json.dumps(asdict(ended)), encoding="utf-8")

    made_once(folder / name, solve)
    return Solved(workloads, out, Ended(**json.loads(told.read_text(encoding="utf-8"))))


def run_without_sockets(
    folder: Path, arguments: Sequence[str], *, packages: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, with our packages from `packages`, unable to open a socket."""
    hooks = folder / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "sitecustomize.py").write_text(NO_SOCKETS)
    environment = {
        "PATH": os.defpath,
        "PYTHONPATH": os.pathsep.join([str(hooks), str(packages)]),
        "GPUBROKER_DATA_DIR": str(folder / "data"),
        "GPUBROKER_SETTINGS_FILE": os.devnull,
        "LC_ALL": "C.UTF-8",
    }
    return subprocess.run(  # noqa: S603 - the arguments are those of the tests
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
