import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from command_line import EXAMPLES, ROOT, Gpubroker, Solve, run_without_sockets
from tiny_files import ROWS, write_sheet, write_workloads

from broker.domain.plan import Plan, Status

SMALL_EXAMPLES = [
    "13b-smallest-card",
    "long-prompts",
    "regulated-hospital",
    "research-group",
    "small-models",
    pytest.param("7b-small-team", marks=pytest.mark.long),
]
MAIN = "from cli.app import main; main()"


@pytest.fixture
def tiny(tmp_path: Path) -> tuple[str, ...]:
    """Give the arguments of a plan that is made in a moment."""
    workloads, sheet = write_workloads(tmp_path), write_sheet(tmp_path)
    return ("plan", str(workloads), "--sheet", str(sheet))


@pytest.mark.parametrize("name", SMALL_EXAMPLES)
def test_an_example_is_planned_with_a_proof(name: str, solve: Solve) -> None:
    solved = solve(name)
    plan = Plan.model_validate_json(solved.plan.read_bytes())
    assert solved.ended.code == 0
    assert plan.status is Status.OPTIMAL
    assert plan.gap_fraction <= plan.settings.gap_fraction == 0.01
    assert 0 < plan.bound_usd <= plan.total_usd


@pytest.mark.parametrize("name", SMALL_EXAMPLES)
def test_the_table_tells_what_to_buy_at_80_columns(name: str, solve: Solve) -> None:
    solved = solve(name)
    plan = Plan.model_validate_json(solved.plan.read_bytes())
    lines = solved.ended.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("Purchase plan  2026-12-01 to 2026-12-")
    single_usd = plan.comparisons[0].total_usd
    for label, told in (
        ("Total", f"{plan.total_usd:,.2f}"),
        ("Bound", f"{plan.bound_usd:,.2f}"),
        ("Best single provider", "has no plan" if single_usd is None else f"{single_usd:,.2f}"),
    ):
        (line,) = [line for line in lines if line.startswith(label)]
        assert told in line
    for purchase in plan.purchases:
        assert f"{purchase.usd:,.2f}" in solved.ended.out


def test_stderr_tells_where_the_plan_is_and_draws_nothing(solve: Solve) -> None:
    solved = solve("13b-smallest-card")
    assert solved.ended.err == f"plan written to {solved.plan}\n"


def test_the_json_that_is_printed_is_the_file_that_is_written(
    tiny: tuple[str, ...], gpubroker: Gpubroker, tmp_path: Path
) -> None:
    out = tmp_path / "plan.json"
    options = ("--gap", "0.2", "--time-limit", "9", "--seed", "7", "--as-of", "2026-11-21")
    ended = gpubroker(*tiny, *options, "--format", "json", "--out", str(out))
    assert (ended.code, ended.out) == (0, out.read_text(encoding="utf-8"))
    told = json.loads(ended.out)
    assert told["schema"] == "gpubroker.plan/1"
    assert told["total_usd"] == "55.276169"  # money is text: no reader makes a float of it
    assert told["settings"] == {"gap_fraction": 0.2, "time_limit_s": 9.0, "seed": 7}
    assert told["catalog"]["as_of"] == "2026-11-21T00:00:00Z"
    again = gpubroker(*tiny, *options, "--format", "yaml")
    assert yaml.safe_load(again.out) == told  # the same answer, to the byte


def test_csv_has_a_row_for_each_purchase(tiny: tuple[str, ...], gpubroker: Gpubroker) -> None:
    ended = gpubroker("--quiet", *tiny, "--format", "csv", "--gap", "0")
    (row,) = csv.DictReader(io.StringIO(ended.out))
    assert (ended.code, ended.err) == (0, "")
    assert (row["action"], row["provider"], row["instance_type"]) == ("rent", "aws", "g6e.xlarge")
    assert (row["fewest_nodes"], row["most_nodes"], row["workloads"]) == ("1", "1", "chat")
    assert Decimal(row["usd"]) == 24 * Decimal("2.30")


def test_an_old_plan_stays_where_the_new_one_fails(gpubroker: Gpubroker, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    out.write_text("an older plan")
    workloads = write_workloads(tmp_path, ("mistral-7b", "mistral-8b"))
    ended = gpubroker("plan", str(workloads), "--recorded", "--out", str(out))
    assert ended.code == 2
    assert out.read_text() == "an older plan"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("mean: 1, peak: 2", "mean: 1, peak: 2000"), "each workload fits somewhere"),
        (("{p95: 80 ms}", "{p95: 1 ms}"), "chat cannot serve eu-central: tpot missed (2 offers)"),
        (("services:", "policy: {budget_usd_per_month: 1}\nservices:"), "budget"),
    ],
)
def test_without_a_plan_the_exit_code_is_4_and_the_reasons_are_told(
    change: tuple[str, str], reason: str, gpubroker: Gpubroker, tmp_path: Path
) -> None:
    rows = (f"{ROWS[0]},1", ROWS[1] + ",1")
    header = (
        "provider,instance_type,gpu_name,gpu_count,region,price_kind,price,currency,observed_on"
        ",max_nodes"
    )
    workloads = write_workloads(tmp_path, change)
    sheet, out = write_sheet(tmp_path, *rows, header=header), tmp_path / "plan.json"
    ended = gpubroker("plan", str(workloads), "--sheet", str(sheet), "--out", str(out))
    assert ended.code == 4
    assert "There is no plan." in ended.out
    first, *_ = [line for line in ended.err.splitlines() if line.startswith("error: ")]
    assert first == "error: no purchase meets every rule of the workloads file:"
    assert reason in ended.err
    assert ended.err.splitlines()[-1].startswith("hint: loosen what is named here")
    assert Plan.model_validate_json(out.read_bytes()).status is Status.INFEASIBLE
    check = gpubroker("verify", str(out), str(workloads), "--sheet", str(sheet))
    assert check.out.startswith("accepted: it buys nothing (that no plan exists is the solver's")


def test_the_recordings_are_planned_without_a_socket(tmp_path: Path) -> None:
    control = run_without_sockets(tmp_path, ["-c", "import socket; socket.socket()"])
    assert "a socket was opened" in control.stderr
    few = ("services:", "policy: {providers: {allow: [runpod]}}\nservices:")
    workloads = str(write_workloads(tmp_path, few))
    ended = run_without_sockets(tmp_path, ["-c", MAIN, "plan", workloads, "--recorded"])
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Purchase plan")
    assert max(map(len, ended.stdout.splitlines())) <= 80  # no terminal, no COLUMNS


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the list of processes")
def test_ctrl_c_ends_the_solver_too_and_shows_no_traceback(tmp_path: Path) -> None:
    screen, terminal = pty.openpty()
    with subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-c", MAIN, "plan", str(EXAMPLES / "company.yaml"), "--recorded"],
        cwd=ROOT,
        env={"PATH": os.defpath, "GPUBROKER_DATA_DIR": str(tmp_path), "TERM": "xterm"},
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    ) as running:
        os.close(terminal)
        shown = _read_until(screen, b"solving over")
        while len(_alive_in_group(running.pid)) < 3:  # the resource tracker, and a solver
            shown += os.read(screen, 4096)
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        shown += _read_until(screen, b"")
        assert running.wait(10) == 130
    os.close(screen)
    assert b"Traceback" not in shown
    assert b"Purchase plan" not in shown
    until = time.monotonic() + 5  # the last one may be closing its files
    while _alive_in_group(running.pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert _alive_in_group(running.pid) == []


def _read_until(screen: int, wanted: bytes) -> bytes:
    """Read what a command draws until it says something, or, for nothing, until it ends."""
    shown = b""
    while not wanted or wanted not in shown:
        try:
            shown += os.read(screen, 4096)
        except OSError:  # nobody holds the terminal any more
            assert not wanted, shown
            break
    return shown


def _alive_in_group(group: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of, *_ = path.read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if int(of) == group and state != "Z":
            found.append(int(path.parent.name))
    return found


def test_a_plan_in_force_is_read_and_weighed(tiny: tuple[str, ...], gpubroker: Gpubroker) -> None:
    first = Path(tiny[1]).parent / "first.json"
    assert gpubroker(*tiny, "--out", str(first)).code == 0
    again = gpubroker(*tiny, "--in-force", str(first), "--format", "json")
    assert again.code == 0
    assert json.loads(again.out)["total_usd"] == json.loads(first.read_text())["total_usd"]
    refused = gpubroker(*tiny, "--in-force", str(first), "--out", str(first))
    assert refused.code == 2
    beside = gpubroker(*tiny, "--in-force", str(first), "--what-if", "traffic=1.1")
    assert beside.code == 2
    assert "--in-force does not go with --what-if" in beside.err
    missing = gpubroker(*tiny, "--in-force", f"{first}.gone")
    assert missing.code == 2
    assert "cannot read plan" in missing.err
