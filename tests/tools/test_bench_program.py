"""Runs of the bench: measured, kept, known again, and told."""

from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path

import bench_program
import pytest
from program_bench import run
from program_bench.case import case_of
from program_bench.generate import generate
from program_bench.goals import default_ends
from program_bench.records import (
    TABLE,
    Asked,
    Point,
    Row,
    append_row,
    known_row,
    marks,
    program_version,
    read_rows,
)
from program_bench.report import PAGE, page_of
from program_bench.run import extras_of, run_here, verdict
from program_bench.wishes import Wishes

from broker.domain.case import Case
from solver.milp.optimize import optimize
from solver.milp.optimum import Optimum
from solver.milp.solve import Limits
from solver.milp.start import NOWHERE
from solver.milp.watch import Watch

LITTLE = Wishes(offers=25, services=1, jobs=0, hours=24)
ASKED = Asked("small", 3, 1.0, 20.0, 0.05)


def row(**more: object) -> Row:
    """Give a row of a medium instance that got to 2.5 % in 400 s."""
    values: dict[str, object] = {
        "made_on": date(2026, 11, 28),
        "program": "0123456789",
        "size": "medium",
        "seed": 1,
        "scale": 1.0,
        "extras": "",
        "time_limit_s": 900.0,
        "gap_asked": 0.03,
        "status": "optimal",
        "usd": 10_000.5,
        "bound_usd": 9_750.4,
        "gap": 0.025,
        **marks([Point(40.0, 11_000, 9_000), Point(400.0, 10_000.5, 9_750.4)]),
        "solve_s": 400.0,
        "instance_s": 1.5,
        "peak_mib": 1500,
        "verified": "yes",
        "offers": 4574,
        "options": 45_000,
        "cpu": "a processor, of a kind",
        "cores": 2,
        "memory_gib": 24.0,
        "load": 0.5,
        "python": "3.11.2",
        "ortools": "9.15",
    }
    return Row.model_validate(values | more)


def test_a_run_is_measured_and_its_plan_checked() -> None:
    told = run_here(ASKED, LITTLE)
    assert (told.status, told.verified) == ("optimal", "yes")
    *before, end = told.points
    assert 0 < end.bound_usd <= end.usd
    assert end.gap <= 0.05
    assert end.seconds == told.solve_s
    assert before, "the search tells of a plan before its end"
    for one, later in pairwise(told.points):
        assert 0 < one.seconds <= later.seconds
        assert one.usd >= later.usd * (1 - 1e-6)
    assert told.peak_mib > 50


def test_a_run_may_begin_from_the_plan_before_prices_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def told(case: Case, limits: Limits, watch: Watch | None = None) -> Optimum:
        asked.append((case, limits))
        return optimize(case, limits, watch=watch)

    monkeypatch.setattr(run, "optimize", told)
    moved = replace(LITTLE, prices_moved=0.03)
    assert run_here(ASKED, replace(moved, known_plan_s=7.0)).verified == "yes"
    (before, before_that), (case, limits) = asked
    assert (before_that.start, before_that.time_limit_s) == (NOWHERE, 7.0)
    assert limits.start.kinds <= {
        (one.service, one.user_region, one.machine, one.candidate.id) for one in case.serving
    }
    assert limits.start.kinds
    assert {one.key for one in before.offers} == {one.key for one in case.offers}
    assert before.offers != case.offers


def test_a_plan_that_breaks_a_rule_is_told() -> None:
    case = case_of(generate("small", 3, LITTLE))
    optimum = optimize(case, Limits(0.05, 20.0))
    assert verdict(case, optimum, ASKED) == "yes"
    dearer = replace(optimum, total_usd=optimum.total_usd + 1)
    assert "it is no plan: Value error, the cost lines add up to" in verdict(case, dearer, ASKED)
    assert "failed its independent check" in verdict(case, replace(optimum, serving=()), ASKED)


def test_a_gap_is_reached_at_the_first_point_within_it() -> None:
    points = [Point(1.0, 110.0, 100.0), Point(4.0, 104.0, 100.0), Point(9.0, 101.0, 100.5)]
    assert marks(points) == {
        "first_plan": 1.0,
        "to_5": 4.0,
        "to_3": 9.0,
        "to_1": 9.0,
        "to_0_5": 9.0,
        "to_0_1": None,
    }
    assert set(marks([]).values()) == {None}


def test_rows_come_back_from_the_table_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "new" / "program.csv"
    nothing = {"usd": None, "bound_usd": None, "gap": None, "verified": "", **marks([])}
    rows = (row(), row(seed=2, status="ended with -9", **nothing))
    for one in rows:
        append_row(one, path)
    assert read_rows(path) == rows
    assert read_rows(tmp_path / "none.csv") == ()


def test_a_run_is_known_only_of_the_same_program_and_question() -> None:
    rows = [row(load=9.0), row(), row(seed=2)]
    asked = Asked("medium", 1, 1.0, 900.0, 0.03)
    assert known_row(rows, "0123456789", asked) == rows[1]
    assert known_row(rows, "another", asked) is None
    assert known_row(rows, "0123456789", asked._replace(scale=8.0)) is None


def test_the_version_is_that_of_the_program() -> None:
    assert program_version() == program_version()
    assert len(program_version()) == 10


def test_the_page_says_of_each_goal_what_the_last_run_that_was_after_it_reached() -> None:
    late = row(seed=5, **marks([Point(1000.0, 100, 98)]), solve_s=1000.0, gap=0.02)
    short = row(seed=1, gap_asked=0.05, time_limit_s=5.0, gap=None, usd=None, **marks([]))
    page = page_of([row(), late, row(seed=2, **marks([]), gap=0.113), short])
    goals = [line for line in page.splitlines() if line.startswith("| medium | 3.0%")]
    reached = "1: 400 s; 2: 11.30% after 400 s; 5: 1000 s, late"
    assert goals == [f"| medium | 3.0% in 900 s | {reached} |"]
    assert "| medium | 5.0% in 300 s | 1: no plan in 5 s;" in page
    assert "| huge | 15.0% in 1800 s | not run yet |" in page
    assert (
        "| medium | 1 | 3.0% or 900 s | 10,000.50 | 9,750.40 | 2.50% | 400 / 400 / – / – / – | "
        "400.0 | 1,500 | yes | 2026-11-28 | `0123456789` | 0.5 |" in page
    )


def test_a_run_is_kept_and_not_done_twice(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "program.csv"
    little = ["--offers", "25", "--services", "1", "--jobs", "0", "--hours", "24"]
    asked = ["small", "--seed", "3", "--gap", "0.05", *little, "--table", str(table)]
    assert bench_program.main(asked) == 0
    (first,) = read_rows(table)
    assert (first.verified, first.extras) == ("yes", "offers=25 services=1 jobs=0 hours=24")
    assert (tmp_path / "program.md").read_text(encoding="utf-8") == page_of([first])
    capfd.readouterr()
    assert bench_program.main(asked) == 0
    assert read_rows(table) == (first,)
    assert f"measured on {first.made_on}, program {program_version()}" in capfd.readouterr().out


def test_a_run_whose_process_dies_is_kept_too(tmp_path: Path) -> None:
    table = tmp_path / "program.csv"
    asked = ["small", "--hours", "7", "--table", str(table)]
    assert bench_program.main(asked) == 1
    (only,) = read_rows(table)
    assert (only.status, only.usd, only.verified) == ("ended with 1", None, "")


def test_the_page_in_the_docs_is_that_of_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page_of(read_rows(TABLE))


def test_a_run_ends_at_the_hardest_goal_of_its_instance() -> None:
    assert default_ends("small", 1.0) == (0.001, 120.0)
    assert default_ends("small", 8.0) == (0.001, 60.0)
    assert default_ends("medium", 2.0) == default_ends("medium", 1.0) == (0.03, 900.0)


def test_only_what_is_asked_beyond_size_seed_and_scale_is_an_extra() -> None:
    assert extras_of(Wishes(scale=8.0)) == ""
    wishes = Wishes(size_classes=4, data_sets=True)
    assert extras_of(wishes) == "size_classes=4 data_sets=True"
