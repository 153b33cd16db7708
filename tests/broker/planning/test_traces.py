"""A workloads file may name a log instead of a curve: what is planned is what the log says."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tiny_files import WORKLOADS

from broker.domain.errors import ConfigurationError
from broker.domain.workload import Workloads
from broker.planning.catalog_view import CatalogView
from broker.planning.traces import trace_warnings
from broker.planning.what_if import Inputs, changed, parse_change
from broker.planning.workloads_file import (
    parse_workloads,
    read_workloads,
    workloads_from,
    workloads_sha256,
)

CURVE = "traffic: {requests_per_s: {mean: 1, peak: 2, timezone: Europe/Berlin}}"
Read = Callable[..., Workloads]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a workloads file with a log beside it, whose traffic is as given."""
    rows = "".join(f"{1_780_272_000 + at},{100 if at % 3 else 5000},50\n" for at in range(1800))
    (tmp_path / "log.csv").write_text(f"ts,input,output\n{rows}", encoding="utf-8")

    def reading(traffic: str, *, sizes: bool = False) -> Workloads:
        text = WORKLOADS.replace(CURVE, f"traffic: {traffic}")
        text = (
            text
            if sizes
            else "".join(
                line
                for line in text.splitlines(keepends=True)
                if "sizes:" not in line and "input_tokens" not in line
            )
        )
        path = tmp_path / "workloads.yaml"
        path.write_text(text, encoding="utf-8")
        return read_workloads(path)

    return reading


def test_curve_and_sizes_come_from_the_log(read: Read) -> None:
    """A third of the requests has 5,000 tokens: 0.333 × 5,005 are as many."""
    (service,) = read("{trace: log.csv}").services
    assert service.traffic.requests_per_s.mean == pytest.approx(1, rel=0.01)
    assert [(one.input_tokens, one.share) for one in service.sizes] == [(100, 0.667), (5005, 0.333)]
    assert service.traffic.trace == "log.csv"
    assert service.traffic.trace_read is not None


def test_sizes_of_the_file_are_kept(read: Read) -> None:
    (service,) = read("{trace: log.csv}", sizes=True).services
    assert [one.input_tokens for one in service.sizes] == [600, 2500]


def test_what_was_read_stands_without_the_log(read: Read, tmp_path: Path) -> None:
    first = read("{trace: log.csv}")
    kept = first.model_dump_json(by_alias=True)
    (tmp_path / "log.csv").unlink()
    assert workloads_from(json.loads(kept), "plan") == first
    assert parse_workloads(kept, "plan.yaml") == first


def test_another_log_is_another_demand(read: Read, tmp_path: Path) -> None:
    first = read("{trace: log.csv}")
    with (tmp_path / "log.csv").open("a", encoding="utf-8") as log:
        log.write("1780273800,100,50\n")
    second = read("{trace: log.csv}")
    assert workloads_sha256(first) != workloads_sha256(second)


def test_a_plan_is_warned_of_what_the_log_cannot_tell(read: Read) -> None:
    (warning, *_) = trace_warnings(read("{trace: log.csv}"))
    assert warning.startswith("chat: of log.csv: it covers 0.5 h, which is no whole day")


@pytest.mark.parametrize(
    ("traffic", "told", "remedy"),
    [
        ("{trace: nothing.csv}", "services[0].traffic.trace: cannot read the log", "check the"),
        ("{trace: workloads.yaml}", "no column is known to hold the instant", "gpubroker profile"),
        ("{trace: log.csv, requests_per_s: {mean: 1, peak: 2}}", "not both", "schema"),
        ("{tracee: log.csv}", "there is no such key; did you mean 'trace'", "schema"),
        ("{trace: 3}", "services[0].traffic.trace: 3 is not right", "schema"),
        (
            "{trace: log.csv, trace_read: {sha256: abc}}",
            "'log.csv' is another file than the one with the hash 'abc'",
            "take the old file",
        ),
    ],
)
def test_a_trace_that_cannot_be_used(read: Read, traffic: str, told: str, remedy: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        read(traffic)
    assert told in str(error.value)
    assert remedy in error.value.hint


def test_a_trace_without_a_folder_is_refused() -> None:
    text = WORKLOADS.replace(CURVE, "traffic: {trace: log.csv}")
    with pytest.raises(ConfigurationError, match="is read beside the file"):
        parse_workloads(text, "stdin")


def test_a_log_of_rates_needs_sizes(read: Read, tmp_path: Path) -> None:
    values = [[1_780_272_000 + 300 * at, "2"] for at in range(10)]
    data = {"resultType": "matrix", "result": [{"metric": {}, "values": values}]}
    rates = json.dumps({"status": "success", "data": data})
    (tmp_path / "rates.json").write_text(rates, encoding="utf-8")
    assert read("{trace: rates.json}", sizes=True).services[0].traffic.requests_per_s.mean == 2
    with pytest.raises(ConfigurationError, match=r"services\[0\]\.sizes: this key is missing"):
        read("{trace: rates.json}")


def test_the_folder_of_the_file_is_what_counts(read: Read, tmp_path: Path) -> None:
    read("{trace: log.csv}")
    other = tmp_path / "other"
    other.mkdir()
    shutil.move(tmp_path / "log.csv", other / "log.csv")
    assert read("{trace: other/log.csv}").services[0].traffic.trace == "other/log.csv"


def test_a_log_cannot_be_exchanged_after_it_was_read(read: Read) -> None:
    noon = datetime(2026, 6, 1, 12, tzinfo=UTC)
    view = CatalogView((), (), (), as_of=noon, now=noon, snapshot="")
    with pytest.raises(ConfigurationError, match="a log is read with the workloads file"):
        changed(
            Inputs(read("{trace: log.csv}"), view),
            [parse_change("services.chat.traffic.trace=other.csv")],
        )


@pytest.mark.parametrize("trace", ["~nobody-at-all/log.csv", '"log\\0.csv"'])
def test_a_log_that_no_path_leads_to_is_told(read: Read, trace: str) -> None:
    with pytest.raises(ConfigurationError, match=r"services\[0\]\.traffic\.trace: '.* is no path"):
        read(f"{{trace: {trace}}}")
