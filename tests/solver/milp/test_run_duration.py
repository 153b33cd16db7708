"""The longest duration of a run: its rows, and what a plan does with it.

An owned node is free on the Sunday and the Saturday of a week; a run of 40 h would use it on both,
in two pieces that are six days apart. A rented node costs 24 a day.
"""

from datetime import timedelta

import pytest
from solving import assembled, program_of, solved
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case
from broker.domain.plan import Status
from broker.verification.check import check
from solver.milp.build import build_sets
from solver.milp.dump import lines
from solver.milp.local_search import search
from solver.milp.optimize import optimize
from solver.milp.pairs import ways_by_demand
from solver.milp.solve import Limits

EXACT = Limits(gap_fraction=0.0, time_limit_s=20)


def week(*, max_duration: str | None, days: int = 7, tokens: float = 40 * 3600) -> Case:
    box = offer("1")
    curve = {"requests_per_s": {"mean": 1, "peak": 1, "weekend_factor": 0}}
    last = 6 + days
    run = run_entry(
        tokens,
        restartable=True,
        max_duration=max_duration,
        window={"earliest": "2026-12-06", "deadline": f"2026-12-{last:02}"},
    )
    file = workloads(
        services=[service_entry(1, 1, traffic=curve, min_replicas=0)],
        training=[run],
        horizon={"start": "2026-12-06", "days": days, "slot": "24 h"},
    )
    options = [serving(box, [1])]
    return case(file, [box], serving=options, training=[training(box)], owned=[(box, 1)])


def test_rows() -> None:
    of = week(max_duration="2 d", days=3)
    assert list(lines(program_of(of), "run_duration")) == [
        "run_duration[begun,0,0]: -1 run_begun[0,0] +1 gang_up[0,0] <= 0",
        "run_duration[begun,0,1]: -1 run_begun[0,1] +1 gang_up[0,1] <= 0",
        "run_duration[begun,0,2]: -1 run_begun[0,2] +1 gang_up[0,2] <= 0",
        "run_duration[goes_on,0,1]: +1 run_begun[0,0] -1 run_begun[0,1] <= 0",
        "run_duration[goes_on,0,2]: +1 run_begun[0,1] -1 run_begun[0,2] <= 0",
        "run_duration[over,0,2]: +1 run_begun[0,0] +1 gang_up[0,2] <= 1",
    ]


@pytest.mark.parametrize(("longest", "usd"), [(None, 0), ("7 d", 0), ("6 d", 24)])
def test_pieces_are_no_farther_apart_than_that(longest: str | None, usd: int) -> None:
    of = week(max_duration=longest)
    found = optimize(of, EXACT)
    assert found.total_usd == usd
    (run,) = found.training
    assert run.steps[-1].to_at - run.steps[0].from_at <= timedelta(days=7 if usd == 0 else 6)
    assert check(assembled(of, found), of) == ()


def test_a_run_that_takes_longer_than_it_may_has_no_plan() -> None:
    assert optimize(week(max_duration="1 d"), EXACT).status is Status.INFEASIBLE
    assert optimize(week(max_duration="47 h"), EXACT).status is Status.INFEASIBLE
    assert optimize(week(max_duration="1 d", tokens=3600), EXACT).total_usd == 0


def test_the_search_keeps_pieces_together() -> None:
    sets = build_sets(week(max_duration="6 d"))
    found = search(sets, ways_by_demand(sets), seed=0, ends_at=float("inf"))
    assert found is not None
    ((_, up),) = found.draft.runs.values()
    assert max(up) - min(up) < 6
    assert found.usd == 24


def test_a_plan_whose_run_takes_longer_is_refused() -> None:
    apart = week(max_duration=None)
    plan = assembled(apart, solved(apart))
    limited = week(max_duration="6 d")
    refused = check(plan.model_copy(update={"workloads": limited.workloads}), limited)
    assert ("durations", "tune") in {(one.rule, one.subject) for one in refused}


def test_a_duration_shorter_than_a_slot_is_refused_when_the_file_is_read() -> None:
    with pytest.raises(ValueError, match="shorter than a slot"):
        week(max_duration="23 h")
