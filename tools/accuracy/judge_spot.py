"""Judge spot estimates: replay jobs on availability traces, beside what the formulas say.

    PYTHONPATH=tools/accuracy .venv/bin/python tools/accuracy/judge_spot.py [FOLDER]

Without a folder, the node lifetimes of the project's own table (broker/specs/spot_lifetimes.csv).
With one, its traces.csv and changes.csv: the first half of each trace predicts the second.
"""

import csv
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

from broker.specs.tables import read_table, text
from solver.sizing.restarts import billed_hours, forecast_up_h, makespan_range

_WORK_H = (4.0, 8.0, 24.0, 48.0)
_INTERVAL_H = (1 / 6, 0.5, 1.0)
_PAUSES_H = ((1 / 60, 3 / 60), (3 / 60, 10 / 60))
_STARTS = 60
_LEAST_REPLAYS = 15
_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of a trace in hours, with or without the capacity."""

    start_h: float
    end_h: float
    is_up: bool

    @property
    def length_h(self) -> float:
        """Give its length."""
        return self.end_h - self.start_h


@dataclass(frozen=True, slots=True)
class Outcome:
    """One job on one trace: predicted and replayed billed hours, and how makespans fell."""

    trace: str
    predicted_h: float
    replayed_h: float
    inside_share: float


@dataclass(frozen=True, slots=True)
class _Job:
    work_h: float
    interval_h: float
    pause_h: float
    restart_h: float


def main() -> int:
    """Print errors of billed hours, and how many makespans the range holds."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if folder is None:
        for name, losses, hours in own_clusters():
            print(f"{name:28} {losses:4} losses, one in {hours / losses:.1f} instance-hours")
        return 0
    outcomes = [one for trace in traces(folder) for one in judged(*trace)]
    errors = sorted(abs(one.predicted_h / one.replayed_h - 1) for one in outcomes)
    print(f"{len(outcomes)} jobs on {len({one.trace for one in outcomes})} traces")
    print(f"billed hours: median {100 * statistics.median(errors):.1f} %, ", end="")
    print(f"p90 {100 * errors[int(0.9 * len(errors))]:.1f} %")
    held = statistics.mean(one.inside_share for one in outcomes)
    print(f"makespans inside the nominal 90 % range: {held:.0%}")
    return 0


def own_clusters() -> Iterator[tuple[str, int, float]]:
    """Give losses and instance-hours of each cluster of the project's own table."""
    found: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for row in read_table("spot_lifetimes.csv"):
        length = float(text(row, "removed_s")) - float(text(row, "added_s"))
        found[text(row, "trace")].append((length / _SECONDS, text(row, "removed") == "1"))
    for name, lives in found.items():
        yield name, sum(removed for _, removed in lives), sum(hours for hours, _ in lives)


def traces(folder: Path) -> Iterator[tuple[str, list[Period]]]:
    """Read traces as periods in which all wished instances are there, or not."""
    with (folder / "traces.csv").open(encoding="utf-8", newline="") as lines:
        wished = {row["trace"]: row for row in csv.DictReader(lines)}
    changes: dict[str, list[tuple[float, str]]] = defaultdict(list)
    with (folder / "changes.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            changes[row["trace"]].append((float(row["t_seconds"]) / _SECONDS, row["available"]))
    for name, row in wished.items():
        need = 1.0 if row["kind"] == "held-cluster" else float(row["target_instances"] or 1)
        yield name, _periods(changes[name], need)


def judged(name: str, periods: list[Period]) -> Iterator[Outcome]:
    """Let the first half of a trace predict the second, for each kind of job."""
    if len(periods) < 3:  # noqa: PLR2004 - nothing ever changes
        return
    middle = (periods[0].start_h + periods[-1].end_h) / 2
    past = [
        Period(one.start_h, min(one.end_h, middle), one.is_up)
        for one in periods
        if one.start_h < middle
    ]
    future = [
        Period(max(one.start_h, middle), one.end_h, one.is_up)
        for one in periods
        if one.end_h > middle
    ]
    ups = [one.length_h for one in past if one.is_up]
    downs = [one.length_h for one in past if not one.is_up]
    if not ups:
        return
    losses = sum(one.is_up for one in past[:-1])
    up_h, down_h = forecast_up_h(ups, losses=losses), statistics.mean(downs) if downs else 0.0
    for work, interval, (pause, restart) in product(_WORK_H, _INTERVAL_H, _PAUSES_H):
        job = _Job(work, interval, pause, restart)
        outcome = _outcome(name, future, job, up_h=up_h, down_h=down_h)
        if outcome is not None:
            yield outcome


def _outcome(
    name: str, future: Sequence[Period], job: _Job, *, up_h: float, down_h: float
) -> Outcome | None:
    first, last = future[0].start_h, future[-1].end_h
    starts = [first + (last - first) * place / _STARTS for place in range(_STARTS)]
    ends = [end for at in starts if (end := _replayed(future, at, job)) is not None]
    if len(ends) < _LEAST_REPLAYS:
        return None
    predicted = billed_hours(
        work_h=job.work_h,
        interval_h=job.interval_h,
        pause_h=job.pause_h,
        restart_h=job.restart_h,
        up_h=up_h,
    )
    low, high = makespan_range(work_h=job.work_h, billed_h=predicted, up_h=up_h, down_h=down_h)
    inside = statistics.mean(low <= makespan <= high for _, makespan in ends)
    return Outcome(name, predicted, statistics.mean(billed for billed, _ in ends), inside)


def _replayed(periods: Sequence[Period], at: float, job: _Job) -> tuple[float, float] | None:
    """Run a job from a moment; billed hours and makespan, None where the trace ends before it."""
    done, billed = 0.0, 0.0
    for one in periods:
        start = max(one.start_h, at)
        useful = one.end_h - start - job.restart_h
        if not one.is_up or one.end_h <= at:
            continue
        left = job.work_h - done
        needed = left + (math.ceil(left / job.interval_h - 1e-9) - 1) * job.pause_h
        if useful >= needed:
            return billed + job.restart_h + needed, start + job.restart_h + needed - at
        billed += one.end_h - start
        kept = max(0.0, useful) // (job.interval_h + job.pause_h) * job.interval_h
        done = min(job.work_h, done + kept)
    return None


def _periods(changes: Sequence[tuple[float, str]], need: float) -> list[Period]:
    found: list[Period] = []
    for (start, state), (end, _) in pairwise(changes):
        if state == "end":
            continue
        is_up = float(state) >= need
        if found and found[-1].is_up == is_up:
            found[-1] = Period(found[-1].start_h, end, is_up)
        else:
            found.append(Period(start, end, is_up))
    return found


if __name__ == "__main__":
    raise SystemExit(main())
