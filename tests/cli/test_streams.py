"""What is printed: UTF-8 in files and pipes, and all of it, or an error that says so."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Gpubroker
from rich.console import Group
from rich.table import Table
from rich.text import Text
from tiny_files import write_sheet, write_workloads

from cli.output import Terminal

ROOT = Path(__file__).parents[2]
MAIN = "from cli.app import main; main()"


def shell(script: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a script in which `gpubroker` is this checkout."""
    return subprocess.run(  # noqa: S603 - the scripts are those of this file
        ["/bin/bash", "-c", f'gpubroker() {{ "$0" -c "{MAIN}" "$@"; }}; {script}', sys.executable],
        capture_output=True,
        cwd=ROOT,
        env={"PATH": os.defpath, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", **environment},
        check=False,
    )


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_pipe_gets_utf_8_whatever_the_terminal_speaks(encoding: str) -> None:
    ended = shell("gpubroker examples | cat", PYTHONIOENCODING=encoding)
    assert ended.stderr == b""
    assert "────" in ended.stdout.decode()


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_disk_that_is_full_is_told(unbuffered: str, tmp_path: Path) -> None:
    """`ulimit -f` takes two blocks of a file, as a full disk does."""
    out = tmp_path / "schema.json"
    script = f"ulimit -f 2; gpubroker schema plan > {out}"
    ended = shell(script, PYTHONUNBUFFERED=unbuffered, PYTHONDONTWRITEBYTECODE="1")
    assert 0 < out.stat().st_size <= 2048
    assert ended.returncode == 2
    assert ended.stderr.decode().splitlines() == [
        "error: what is printed cannot be written: File too large",
        "hint: free some space, or write to another place; what is there is not whole",
    ]


def test_a_little_that_nobody_reads_causes_no_trace() -> None:
    ended = shell("gpubroker --version | true; exit ${PIPESTATUS[0]}")
    assert (ended.returncode, ended.stderr) == (1, b"")


def test_a_closed_output_is_no_bug() -> None:
    ended = shell("gpubroker examples >&-")
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "w.yaml", "--out", "{}"),
        ("catalog", "export", "{}"),
        ("examples", "--copy", "company", "--to", "{}"),
        ("init", "--yes", "--workloads", "{}"),
        ("init", "--yes", "--workloads", "new.yaml", "--settings", "{}"),
        ("record", "oci", "--out", "{}"),
        ("approve", "{}", "--by", "ana"),
    ],
)
def test_what_the_system_refuses_is_no_bug(
    arguments: tuple[str, ...],
    gpubroker: Gpubroker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    long = "x" * 300
    ended = gpubroker(*(one.format(long) for one in arguments))
    assert (ended.code, ended.out) == (2, "")
    assert f"{long}' cannot be used: File name too long" in ended.err
    assert "hint: check the path, and the rights" in ended.err


def test_a_link_that_leads_to_itself_cannot_be_written(
    gpubroker: Gpubroker, tmp_path: Path
) -> None:
    link = tmp_path / "plan.json"
    link.symlink_to(link)
    ended = gpubroker("plan", "w.yaml", "--out", str(link))
    assert ended.code == 2
    assert f"--out '{link}' is a link that leads to itself" in ended.err


@pytest.mark.parametrize("name", ["[/x]", "[red]x", "[bold"])
def test_a_name_in_brackets_is_no_markup_of_what_is_being_done(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    with terminal.working(f"asking {name}") as step:
        step(name)
    with terminal.progress("planning", 1) as advance:
        advance(name)
    assert f"asking {name}: {name} …" in capsys.readouterr().err


@pytest.mark.parametrize("colour", ["", "1"])
def test_a_page_shows_names_from_outside_as_they_are_and_is_not_steered_by_them(
    colour: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", colour)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    names = "acme[/x]/[red]box[/red]/a:fire:b/\x1b[2J\x1b]0;title\x07"
    table = Table("offer")
    table.add_row(names)
    Terminal().page(Group(names, Text(names, style="bold"), table))
    shown = capsys.readouterr().out
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert plain.count("acme[/x]/[red]box[/red]/a:fire:b/�[2J�]0;title") == 3
    assert ("\x1b[1m" in shown) == bool(colour)  # our own
    assert "\x1b" not in plain


def test_an_error_that_repeats_a_row_does_not_steer_the_terminal(
    gpubroker: Gpubroker, tmp_path: Path
) -> None:
    row = "acme,\x1b[2Jbox,NONE-80,8,here,on_demand,16.00,USD,2026-05-01"
    ended = gpubroker("offers", "--sheet", str(write_sheet(tmp_path, row)))
    assert ended.code == 2
    assert "its first row, �[2Jbox" in ended.err
    assert "\x1b" not in ended.err


def test_an_example_that_a_full_disk_does_not_take_is_not_there(tmp_path: Path) -> None:
    target = tmp_path / "mine.yaml"
    script = f"ulimit -f 1; gpubroker examples --copy company --to {target}"
    ended = shell(script, PYTHONDONTWRITEBYTECODE="1")
    assert ended.returncode == 2
    assert b"cannot write" in ended.stderr
    assert not target.exists()


@pytest.mark.parametrize("options", [(), ("--sheet", "loop.csv")])
def test_a_link_that_leads_to_itself_cannot_be_read(
    options: tuple[str, ...],
    gpubroker: Gpubroker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("loop.yaml", "loop.csv"):
        Path(name).symlink_to(name)
    write_workloads(tmp_path)
    workloads = "workloads.yaml" if options else "loop.yaml"
    ended = gpubroker("nightly", workloads, "--dry-run", *options)
    assert (ended.code, ended.out) == (2, "")
    assert "Too many levels of symbolic links" in ended.err
