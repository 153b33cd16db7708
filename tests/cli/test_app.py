import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Gpubroker

from broker.exports.forms import FORMS

ROOT = Path(__file__).parents[2]
MAIN = "from cli.app import main; main()"
COMMANDS = ("plan", "verify", "examples", "schema", "offers", "refresh", "status")


def child(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return shell('exec "$0" "$@"', "-c", code, *arguments, **environment)


def shell(script: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in which $0 is this Python."""
    return subprocess.run(  # noqa: S603 - the scripts are those of this file
        ["/bin/sh", "-c", script, sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PATH": os.defpath, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", **environment},
        check=False,
    )


def test_help_answers_in_three_tenths_of_a_second() -> None:
    def cpu_s() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    took = []
    for _ in range(3):
        before = cpu_s()
        assert child(MAIN, "--help").returncode == 0
        took.append(cpu_s() - before)
    assert min(took) < 0.3


@pytest.mark.parametrize(
    "heavy", ["pydantic", "sqlmodel", "sqlalchemy", "httpx", "ortools", "rich", "structlog"]
)
def test_help_does_not_import_what_it_does_not_need(heavy: str) -> None:
    code = f"import sys, cli.app; sys.exit({heavy!r} in sys.modules)"
    assert child(code).returncode == 0


def test_the_help_of_export_names_every_form(gpubroker: Gpubroker) -> None:
    told = " ".join(gpubroker("export", "--help").out.split())
    (named,) = re.findall(r"The form to write: (.+?)\.", told.replace("1.2", "1·2"))
    assert sorted(re.split(r", | or ", named.replace("·", "."))) == sorted(FORMS)


def test_help_lists_every_command(gpubroker: Gpubroker) -> None:
    ended = gpubroker("--help")
    assert ended.code == 0
    assert all(name in ended.out for name in COMMANDS)


@pytest.mark.parametrize(
    "arguments", [["offers", "--foo"], ["nonsense"], ["offers", "--format", "xml"], []]
)
def test_a_wrong_command_line_ends_with_2(arguments: list[str], gpubroker: Gpubroker) -> None:
    assert gpubroker(*arguments).code == 2


def test_an_error_has_a_hint_on_stderr_and_its_own_code(gpubroker: Gpubroker) -> None:
    ended = gpubroker("offers")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines() == [
        "error: the catalog is empty",
        "hint: fill it: gpubroker refresh --recorded (offline), or gpubroker refresh (live)",
    ]


def test_a_wrong_setting_names_its_variable(
    gpubroker: Gpubroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUBROKER_PROVIDER_TIMEOUT_S", "soon")
    ended = gpubroker("status")
    assert ended.code == 2
    assert ended.err.startswith(
        "error: GPUBROKER_PROVIDER_TIMEOUT_S: 'soon' is not right: input should be a valid number"
    )


def test_a_list_setting_that_is_no_json_says_how_to_write_it(
    gpubroker: Gpubroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUBROKER_AWS_REGIONS", "us-east-1")
    ended = gpubroker("status")
    assert ended.code == 2
    assert 'GPUBROKER_AWS_REGIONS=["us-east-1"]' in ended.err


CRASH = """
from cli.app import app, main

@app.command()
def crash() -> None:
    raise RuntimeError("boom")

main()
"""


def test_a_bug_is_told_in_two_lines_and_ends_with_1() -> None:
    ended = child(CRASH, "crash")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.splitlines() == [
        "error: gpubroker has a bug: RuntimeError: boom",
        "hint: run it again with --debug before the command, and report it",
    ]


@pytest.mark.parametrize(
    ("option", "environment"), [("--debug", {}), ("--quiet", {"GPUBROKER_DEBUG": "1"})]
)
def test_debug_shows_the_traceback_of_a_bug(option: str, environment: dict[str, str]) -> None:
    ended = child(CRASH, option, "crash", **environment)
    assert ended.returncode == 1
    assert "Traceback" in ended.stderr


INTERRUPTED = """
import os, signal
from cli.app import app, main

@app.command()
def wait() -> None:
    os.kill(os.getpid(), signal.SIGINT)

main()
"""


def test_ctrl_c_ends_with_130() -> None:
    ended = child(INTERRUPTED, "wait")
    assert (ended.returncode, ended.stdout) == (130, "")
    assert "Traceback" not in ended.stderr


INTERRUPTED_AT_ONCE = """
import os, signal, sys

class Pressed:
    def find_spec(self, name, *_):
        if name == "cli.app":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Pressed())
from cli.launch import main
main()
"""


def test_ctrl_c_while_the_command_line_is_loaded_ends_with_130_and_no_word() -> None:
    ended = child(INTERRUPTED_AT_ONCE, "--help")
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_a_reader_that_leaves_early_causes_no_traceback(recorded_store: Path) -> None:
    offers = f"\"$0\" -c '{MAIN}' offers --format csv"
    ended = shell(f"{offers} | head -n 1", GPUBROKER_DATA_DIR=str(recorded_store))
    assert ended.stdout.startswith("key,provider,")
    assert "Traceback" not in ended.stderr
    assert "bug" not in ended.stderr


@pytest.mark.parametrize("arguments", [("--help",), ("--help", "plan"), ("--quiet", "--help")])
def test_the_help_before_a_command_lists_all_of_them(
    arguments: tuple[str, ...], gpubroker: Gpubroker
) -> None:
    told = gpubroker(*arguments).out
    assert {"  plan ", "  catalog ", "  offers "} <= {
        line[: line.find(" ", 2) + 1] for line in told.split("\n")
    }


def test_a_command_is_found_behind_the_options_of_all(gpubroker: Gpubroker) -> None:
    assert "  import " in gpubroker("--log-format", "json", "catalog", "--help").out
