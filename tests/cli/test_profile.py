import json
from pathlib import Path

import pytest
import yaml
from command_line import Gpubroker
from tiny_files import WORKLOADS, write_sheet

from broker.planning.workloads_file import parse_workloads

START = 1_780_272_000
"""Monday, 2026-06-01, UTC."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Write a log of eight days: one request each 20 s, two at noon and at night none."""
    rows = ["TIMESTAMP;ContextTokens;GeneratedTokens"]
    for at in range(0, 8 * 86_400, 20):
        hour = at // 3600 % 24
        count = 2 if hour == 12 else 0 if hour < 6 else 1
        rows += [f"{START + at};{4000 if at % 80 else 400};100"] * count
    rows.append("yesterday;1;1")
    path = tmp_path / "requests.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def test_a_service_is_printed_as_a_workloads_file_has_it(gpubroker: Gpubroker, log: Path) -> None:
    ended = gpubroker("profile", str(log), "--service", "chat")
    assert ended.code == 0
    (service,) = yaml.safe_load(ended.out)["services"]
    text = yaml.safe_load(WORKLOADS)
    text["services"][0].update(service)
    (read,) = parse_workloads(yaml.safe_dump(text), "with the profile").services
    curve = read.traffic.requests_per_s
    assert (curve.mean, curve.peak) == (0.03958, 0.1)
    assert [(one.input_tokens, one.share) for one in read.sizes] == [(400, 0.25), (4000, 0.75)]


def test_the_chart_and_what_is_not_known_go_to_stderr(gpubroker: Gpubroker, log: Path) -> None:
    ended = gpubroker("profile", str(log))
    assert "1 row: no instant (line 27362: yesterday;1;1)" in " ".join(ended.err.split())
    assert "requests/s of the mean weekday by the hour, UTC" in ended.err
    assert "█" in ended.err
    assert "whether the load grows is not known" in " ".join(ended.err.split())
    assert "█" not in ended.out
    assert max(map(len, ended.err.splitlines())) <= 80
    quiet = gpubroker("--quiet", "profile", str(log))
    assert (quiet.out, quiet.err) == (ended.out, "")


def test_json_has_all_that_is_known(gpubroker: Gpubroker, log: Path) -> None:
    told = json.loads(gpubroker("profile", str(log), "--format", "json").out)
    assert told["schema"] == "gpubroker.profile/1"
    assert told["request_count"] == sum(one["request_count"] for one in told["classes"])
    assert len(told["chart"]) == 24


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--timezone", "Berlin"], "--timezone 'Berlin' is no time zone"),
        (["--service", "Chat Bot"], "--service 'Chat Bot' is no name"),
        (["--time", "when"], "--time 'when' is no column"),
        (["--classes", "0"], "--classes"),
    ],
)
def test_an_option_that_is_wrong(
    gpubroker: Gpubroker, log: Path, options: list[str], told: str
) -> None:
    ended = gpubroker("profile", str(log), *options)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err


def test_a_log_that_is_not_there(gpubroker: Gpubroker, tmp_path: Path) -> None:
    ended = gpubroker("profile", str(tmp_path / "nothing.csv"))
    assert (ended.code, ended.out) == (2, "")
    assert "cannot read the log" in ended.err


@pytest.mark.long
def test_a_plan_of_a_log_holds_what_was_read_and_is_verified(
    gpubroker: Gpubroker, log: Path, tmp_path: Path
) -> None:
    curve = "traffic: {requests_per_s: {mean: 1, peak: 2, timezone: Europe/Berlin}}"
    workloads = tmp_path / "workloads.yaml"
    workloads.write_text(WORKLOADS.replace(curve, f"traffic: {{trace: {log.name}}}"))
    given, out = ["--sheet", str(write_sheet(tmp_path))], tmp_path / "plan.json"
    ended = gpubroker("plan", str(workloads), *given, "--out", str(out))
    assert ended.code == 0, ended.err
    plan = json.loads(out.read_text(encoding="utf-8"))
    traffic = plan["workloads"]["services"][0]["traffic"]
    assert (traffic["trace"], traffic["requests_per_s"]["peak"]) == ("requests.csv", 0.1)
    assert any("of requests.csv: it covers less than two weeks" in one for one in plan["warnings"])
    assert gpubroker("verify", str(out), str(workloads), *given).code == 0
    with log.open("a", encoding="utf-8") as file:
        file.write(f"\n{START + 5};50000;100")
    assert gpubroker("verify", str(out), str(workloads), *given).code != 0
