"""A log is read by the names of its columns, whatever its dialect; bad rows are counted."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from broker.domain.errors import ConfigurationError
from broker.planning.profiling.columns import ColumnNames
from broker.planning.profiling.instants import InstantReader
from broker.planning.profiling.prometheus import is_reply, read_rates
from broker.planning.profiling.request_log import RequestLog, read_requests

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp()


def log_of(tmp_path: Path, text: str | bytes, **given: str) -> RequestLog:
    path = tmp_path / "log.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_requests(path, ColumnNames(**given), InstantReader())


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("TIMESTAMP,ContextTokens,GeneratedTokens", "2026-03-02 12:00:00.0000000,5,7"),
        ("Timestamp,Model,Request tokens,Response tokens", "2026-03-02T12:00:00Z,gpt,5,7"),
        ("arrived_at;num_prefill_tokens;num_decode_tokens", "1772452800;5;7"),
        ("output_tokens\tinput_tokens\tts", "7\t5\t1772452800000"),
        ('"created_at","prompt_tokens","completion_tokens"', '"2026-03-02T13:00:00+01:00",5.0,"7"'),
        ("\ufefftime,input,output,prompt", "1772452800000000,5,7,9"),
    ],
)
def test_columns_and_instants_of_many_servers(tmp_path: Path, header: str, row: str) -> None:
    log = log_of(tmp_path, f"{header}\r\n{row}\r\n")
    assert (*log.times_s, *log.input_tokens, *log.output_tokens) == (NOON, 5, 7)
    assert log.left_out == ()


def test_a_compressed_log_is_read(tmp_path: Path) -> None:
    log = log_of(tmp_path, gzip.compress(b"ts,input,output\n1772452800,5,7\n"))
    assert list(log.input_tokens) == [5]


def test_columns_can_be_named(tmp_path: Path) -> None:
    text = "ts,when,input,a,b\n1,1772452800,1,5,7\n"
    log = log_of(tmp_path, text, time="when", input="A", output="b")
    assert (*log.times_s, *log.input_tokens, *log.output_tokens) == (NOON, 5, 7)


def test_rows_that_are_no_requests_are_counted_by_reason(tmp_path: Path) -> None:
    rows = ["1772452860,1,1", "soon,1,1", "1772452800,5,7", "1772452800,0,7", "1772452800,5,-7"]
    rows += ["1772452800,2.5,1", "1772452800", "", "later,1,1", "1772452800,1,1e99"]
    log = log_of(tmp_path, "ts,input,output\n" + "\n".join(rows))
    assert list(log.times_s) == [NOON, NOON + 60]
    assert {one.reason: (one.row_count, one.example) for one in log.left_out} == {
        "no instant": (2, "line 3: soon,1,1"),
        "no prompt": (1, "line 5: 1772452800,0,7"),
        "no number of tokens": (3, "line 6: 1772452800,5,-7"),
        "too few cells": (1, "line 8: 1772452800"),
    }


def test_instants_without_a_zone_are_of_the_zone_given() -> None:
    reader = InstantReader(ZoneInfo("America/New_York"))
    assert reader.seconds("2026-03-02 07:00:00") == NOON
    assert reader.seconds("2026-03-02T12:00:00+00:00") == NOON


def test_seconds_since_the_start_of_a_log_need_the_start() -> None:
    with pytest.raises(ValueError, match="unknown start"):
        InstantReader().seconds("12.5")
    assert InstantReader(start_s=NOON).seconds("12.5") == NOON + 12.5


@pytest.mark.parametrize(
    ("text", "told", "remedy"),
    [
        ("a,b\n1,2\n", "no column is known to hold the instant", "--time COLUMN"),
        ("ts,b\n1,2\n", "no column is known to hold prompt tokens", "its first line says: ts, b"),
        ("", "no column is known", "none"),
        ("ts,input,output\n", "no row is a request", "--time"),
        ("ts,input,output\n5,1,1\n", "1 × seconds since an unknown start", "--start 2026"),
    ],
)
def test_a_log_that_cannot_be_used(tmp_path: Path, text: str, told: str, remedy: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        log_of(tmp_path, text)
    assert told in str(error.value)
    assert remedy in error.value.hint


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="--time 'when' is no column"):
        log_of(tmp_path, "ts,input,output\n1,1,1\n", time="when")


def reply(path: Path, *series: list[list[object]], kind: str = "matrix") -> Path:
    result = [{"metric": {"pod": str(at)}, "values": one} for at, one in enumerate(series)]
    data = {"resultType": kind, "result": result}
    path.write_text(json.dumps({"status": "success", "data": data}), encoding="utf-8")
    return path


def test_series_of_prometheus_are_added_up_and_gaps_are_unknown(tmp_path: Path) -> None:
    at = [NOON + 300 * step for step in range(4)]
    one: list[list[object]] = [[at[0], "1.5"], [at[1], "2"], [at[3], "NaN"]]
    two: list[list[object]] = [[at[0], "0.5"], [at[3], "4"]]
    path = reply(tmp_path / "rates.json", one, two)
    rates, series, left_out = read_rates(path)
    assert is_reply(path)
    assert (rates.start_s, rates.step_s, series) == (NOON, 300, 2)
    assert rates.per_s[[0, 1, 3]].tolist() == [2, 2, 4]
    assert rates.known.tolist() == [True, True, False, True]
    assert [(one.reason, one.row_count) for one in left_out] == [("no rate at an instant", 1)]


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"status": "error", "error": "bad query"}',
        '{"status": "success", "data": {"resultType": "vector", "result": []}}',
        '{"status": "success", "data": {"resultType": "matrix", "result": []}}',
    ],
)
def test_what_is_no_range_query(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rates.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as error:
        read_rates(path)
    assert "/api/v1/query_range" in error.value.hint


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00", "9999-12-31T23:59:59Z"])
def test_a_moment_at_which_nothing_happens_is_no_instant(tmp_path: Path, moment: str) -> None:
    log = log_of(tmp_path, f"ts,input,output\n{moment},1,1\n2026-03-02T12:00:00Z,5,7\n")
    assert list(log.times_s) == [NOON]
    assert [(one.reason, one.row_count) for one in log.left_out] == [("no instant", 1)]


def test_samples_of_prometheus_at_no_instant_are_left_out(tmp_path: Path) -> None:
    at: list[list[object]] = [[NOON, "1"], [NOON + 300, "2"], [1e300, "3"], [-1, "3"]]
    rates, _, left_out = read_rates(reply(tmp_path / "rates.json", at))
    assert (rates.start_s, rates.per_s.tolist()) == (NOON, [1, 2])
    assert [one.row_count for one in left_out] == [2]


def test_a_log_without_lines_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="its first line names no columns"):
        log_of(tmp_path, "x" * 200_000)


def test_a_compressed_log_that_is_damaged_is_told(tmp_path: Path) -> None:
    rows = b"".join(b"%d,5,7\n" % (1772452800 + at * 977) for at in range(3000))
    packed = gzip.compress(b"ts,input,output\n" + rows)
    with pytest.raises(ConfigurationError, match="cannot read the log"):
        log_of(tmp_path, packed[:60] + b"\xff" * 200 + packed[260:])
