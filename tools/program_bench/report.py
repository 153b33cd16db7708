"""docs/benchmarks/program.md: what the rows of docs/benchmarks/program.csv say."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from program_bench.goals import GOALS, Goal, instance_name
from program_bench.records import MARKS, TABLE, Row

PAGE = TABLE.with_suffix(".md")
_HEAD = """# The program on generated instances

Written by `make bench` and `make bench-one`; do not edit. All runs, with facts of their machine,
are in program.csv beside this page, from the first one on.

An instance is made from a size and a seed by `tools/program_bench/generate.py`: prices of
on-demand, spot and committed nodes with their stock, services with loads by size class and hour,
training runs with windows. What it has and the program does not know yet (spot prices by the hour,
costs of a change) is told in the modules there, and is left out or stands for a mean. Reservations
of a week and shares of a provider are in where a run says so.

The gap is (plan − bound) / plan: no plan under the same rules costs less than the bound. Seconds
are those of the search, without making the instance; each is the first moment at which it told of
such a gap; rows of a bench that heard of the end alone have that everywhere. *Checked* says
whether the plan passed the independent check. *Load* is the machine's when a run began: above its
number of cores, others ran beside it.
"""
_GOALS_HEAD = """
## Goals

Of the last run of each seed that was after this gap, whatever its program: the seconds in which the
gap was reached, or the gap at the end where it was not.

| instance | goal | seeds |
| --- | --- | --- |
"""
_RUNS_HEAD = """
## Last runs

| instance | seed | ends at | plan USD | bound USD | gap | seconds to 5 / 3 / 1 / 0.5 / 0.1 % | \
seconds | peak MiB | checked | on | program | load |
| --- | --: | --- | --: | --: | --: | --- | --: | --: | --- | --- | --- | --: |
"""


def write_page(rows: Sequence[Row], path: Path) -> None:
    """Write the page anew."""
    path.write_text(page_of(rows), encoding="utf-8")


def page_of(rows: Sequence[Row]) -> str:
    """Write what the last run of each kind says."""
    last = list({row.asked: row for row in rows}.values())
    last.sort(key=lambda row: (_order(row.size), row.scale, row.extras, row.seed, row.gap_asked))
    goals = "".join(f"{line}\n" for line in _goal_lines(rows))
    runs = "".join(f"{_run_line(row)}\n" for row in last)
    return f"{_HEAD}{_GOALS_HEAD}{goals}{_RUNS_HEAD}{runs}{_machines(last)}"


def gist(row: Row) -> str:
    """Tell a run in a line."""
    plan, bound = _figure(row.usd, ",.2f"), _figure(row.bound_usd, ",.2f")
    gap, seconds = _figure(row.gap, ".2%"), _figure(row.solve_s, ".1f")
    return (
        f"plan {plan} USD, bound {bound} USD, gap {gap}, {seconds} s, "
        f"{_figure(row.peak_mib, ',d')} MiB, checked: {row.verified or '–'}"
    )


def _order(size: str) -> int:
    sizes = list(dict.fromkeys(one.size for one in GOALS))
    return sizes.index(size) if size in sizes else -1


def _goal_lines(rows: Sequence[Row]) -> Iterator[str]:
    for goal in GOALS:
        seeds = {
            row.seed: row
            for row in rows
            if (row.size, row.scale, row.extras) == (goal.size, goal.scale, "")
            and row.gap_asked <= goal.gap
        }
        told = "; ".join(f"{seed}: {_reached(goal, seeds[seed])}" for seed in sorted(seeds))
        wanted = f"{goal.gap:.1%} in {goal.within_s:g} s"
        yield f"| {goal.instance} | {wanted} | {told or 'not run yet'} |"


def _reached(goal: Goal, row: Row) -> str:
    at = _seconds_to(goal, row)
    if at is not None:
        late = "" if at <= goal.within_s else ", late"
        return f"{at:g} s{late}"
    if row.gap is None:
        return f"no plan in {row.time_limit_s:g} s"
    return f"{row.gap:.2%} after {row.solve_s:g} s"


def _seconds_to(goal: Goal, row: Row) -> float | None:
    if goal.gap in MARKS:
        return row.seconds_to(goal.gap)
    is_reached = row.gap is not None and row.gap <= goal.gap
    return row.solve_s if is_reached else None


def _run_line(row: Row) -> str:
    name = " ".join([instance_name(row.size, row.scale), row.extras]).strip()
    to = " / ".join(_figure(row.seconds_to(gap), "g") for gap in MARKS)
    cells = (
        name,
        str(row.seed),
        f"{row.gap_asked:.1%} or {row.time_limit_s:g} s",
        _figure(row.usd, ",.2f"),
        _figure(row.bound_usd, ",.2f"),
        _figure(row.gap, ".2%") if row.gap is not None else row.status,
        to,
        _figure(row.solve_s, ".1f"),
        _figure(row.peak_mib, ",d"),
        row.verified or "–",
        row.made_on.isoformat(),
        f"`{row.program}`",
        f"{row.load:g}",
    )
    return f"| {' | '.join(cells)} |"


def _figure(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _machines(rows: Sequence[Row]) -> str:
    """Name the machines that the runs were on."""
    known = dict.fromkeys(
        f"{row.cpu}, {row.cores} cores, {row.memory_gib:g} GiB, Python {row.python}, "
        f"OR-Tools {row.ortools}"
        for row in rows
    )
    if not known:
        return ""
    return "\nMeasured on: " + "; ".join(known) + ".\n"
