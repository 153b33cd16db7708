"""What a command of gpubroker did, for tests of the command line."""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
"""Plans an example over the recordings; each is solved once a session."""


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
