"""The scripts that a launching tool runs, run here by a shell."""

import shutil
import subprocess
from datetime import UTC, datetime

import pytest

from broker.exports.launch_text import ending_at, required

SHELL = shutil.which("sh") or ""
LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)
FAR_AHEAD = datetime(2201, 1, 1, tzinfo=UTC)

pytestmark = pytest.mark.skipif(
    not SHELL or not shutil.which("timeout"), reason="needs a shell and GNU timeout"
)


def _run(script: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": "/usr/bin:/bin", **environment}
    return subprocess.run(  # noqa: S603 - a script of ours
        [SHELL, "-c", script], env=environment, capture_output=True, text=True, check=False
    )


def test_a_command_runs_inside_its_window() -> None:
    done = _run(ending_at(FAR_AHEAD, ("echo", "--served", '"$MODEL_ID"')), MODEL_ID="a model")
    assert (done.returncode, done.stdout) == (0, "--served a model\n")


def test_past_its_window_a_command_fails_at_once_and_says_why() -> None:
    done = _run(ending_at(LONG_AGO, ("echo", "served")))
    assert done.returncode == 1
    assert done.stdout == ""
    assert "ended at 2001-01-01T00:00:00Z" in done.stderr


def test_the_environment_moves_the_end() -> None:
    done = _run(ending_at(LONG_AGO, ("echo", "served")), WINDOW_END="2201-01-01T00:00:00Z")
    assert done.stdout == "served\n"


def test_a_command_that_fails_fails_the_script() -> None:
    assert _run(ending_at(FAR_AHEAD, ("false",))).returncode == 1


def test_a_script_stops_where_a_name_is_missing() -> None:
    script = required("TRAIN_SCRIPT", "name your script") + "echo trained\n"
    assert _run(script).returncode == 1
    assert "name your script" in _run(script).stderr
    assert _run(script, TRAIN_SCRIPT="train.py").stdout == "trained\n"
