"""Batch jobs in the program: the oracle's cost, every day by itself, rows as those of runs."""

from dataclasses import replace

import pytest
from batch_cases import batch, daily, random_batch_case
from oracle import INFEASIBLE, Tiny, cheapest_usd
from rows_text import rows_text
from solving import EXACT, assembled, program_of, solved
from tiny_cases import case, offer

from broker.domain.candidate import BatchCandidate
from broker.domain.offer import PriceKind
from broker.domain.plan import Status
from broker.verification.check import check
from solver.milp.optimize import optimize
from solver.milp.prune import prune

SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_batch_job_costs_what_enumeration_finds(seed: int) -> None:
    tiny = random_batch_case(seed)
    expected = cheapest_usd(Tiny(tiny, most_committed=4))
    optimum = solved(tiny)
    if expected == INFEASIBLE:
        assert optimum.status is Status.INFEASIBLE
        return
    assert float(optimum.total_usd) == pytest.approx(expected, rel=1e-5, abs=1e-4)
    assert check(assembled(tiny, optimum), tiny) == ()


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_search_and_pricing_prove_the_same_cost(seed: int) -> None:
    tiny = random_batch_case(seed)
    exact, found = solved(tiny), optimize(tiny, EXACT)
    assert found.status is exact.status
    if exact.status is Status.INFEASIBLE:
        return
    assert float(found.total_usd) == pytest.approx(float(exact.total_usd), rel=1e-5, abs=1e-4)
    assert float(found.bound_usd) <= float(exact.total_usd) * (1 + 1e-6) + 1e-4
    pruned = solved(prune(tiny).case)
    assert float(pruned.total_usd) == pytest.approx(float(exact.total_usd), rel=1e-5, abs=1e-4)


def test_random_cases_place_jobs_on_spot_and_on_firm_nodes() -> None:
    plans = [solved(random_batch_case(seed)) for seed in SEEDS]
    sides = [one.on_spot for plan in plans for one in plan.training]
    assert sides.count(True) > 2
    assert sides.count(False) > 2


def test_each_day_is_done_in_its_own_window_and_may_be_on_another_machine() -> None:
    """A day needs one slot; spot costs 1, firm 2: 8 USD on spot, but 16 on the day it may not."""
    box, spot = offer("2", name="box"), offer("1", name="box", kind=PriceKind.SPOT)
    file = daily(3, tokens_per_day=8 * 3600.0)
    days = [one.name for one in file.runs]
    runs = [batch(box, run=day) for day in days]
    runs += [batch(box, run=day, on_spot=True) for day in days[:2]]
    of = case(file, [box, spot], training=runs)
    optimum = optimize(of, EXACT)
    assert float(optimum.total_usd) == 8 + 8 + 16
    assert check(assembled(of, optimum), of) == ()
    assert [(one.run, one.on_spot) for one in optimum.training] == [
        ("embed@2026-12-01", True),
        ("embed@2026-12-02", True),
        ("embed@2026-12-03", False),
    ]


def test_a_window_that_crosses_midnight_is_worked_in_on_both_days() -> None:
    """16 h of work fit only into the slots from 16:00 to 08:00."""
    box = offer("2", name="box")
    file = daily(2, tokens_per_day=16 * 3600.0, after="16:00 UTC", by="08:00 UTC")
    (day,) = file.runs
    of = case(file, [box], training=[batch(box, run=day.name)])
    (done,) = optimize(of, EXACT).training
    assert (f"{done.steps[0].from_at:%d %H}", f"{done.steps[-1].to_at:%d %H}") == ("01 16", "02 08")


def test_idle_nodes_that_are_owned_do_the_work_for_nothing() -> None:
    box = offer("2", name="box")
    file = daily(1, tokens_per_day=8 * 3600.0)
    of = case(file, [box], training=[batch(box, run=file.runs[0].name)], owned=[(box, 1)])
    assert optimize(of, EXACT).total_usd == 0


def test_egress_is_paid_for_each_day() -> None:
    box = offer("2", name="box")
    file = daily(2, tokens_per_day=8 * 3600.0, data={"at": "acme/there", "size": "1 TB"})
    runs = [batch(box, run=one.name, egress_usd="7.5") for one in file.runs]
    of = case(file, [box], training=runs)
    optimum = optimize(of, EXACT)
    assert float(optimum.total_usd) == 2 * (16 + 7.5)
    assert check(assembled(of, optimum), of) == ()


def test_rows_of_run_work_of_two_days() -> None:
    box = offer("2", name="box")
    file = daily(2, slot="12 h", tokens_per_day=8 * 3600.0)
    runs = [batch(box, run=one.name, nodes=2, startup_s=1800) for one in file.runs]
    of = case(file, [box], training=runs)
    program = program_of(of)
    assert (
        rows_text(program, "run_work")
        == """\
run_work[0]: 0 <= +12 gang_up[0,0] +12 gang_up[0,1] -0.5 gang_start[0,0]
    -0.5 gang_start[0,1] -8 option_used[0]
run_work[1]: 0 <= +12 gang_up[1,2] +12 gang_up[1,3] -0.5 gang_start[1,2]
    -0.5 gang_start[1,3] -8 option_used[1]
"""
    )
    assert isinstance(program.sets.run_options[0].option.candidate, BatchCandidate)


def test_a_quota_below_the_nodes_of_a_job_leaves_no_plan() -> None:
    box = offer("2", name="box")
    file = daily(1, tokens_per_day=8 * 3600.0)
    wide = batch(box, run=file.runs[0].name, nodes=4, tokens_per_s=4)
    of = case(file, [box], training=[wide])
    quota = {"quotas": [{"provider": "acme", "gpus": 3}]}
    data = file.model_dump(by_alias=True) | quota
    held = replace(of, workloads=type(file).model_validate(data, strict=False))
    assert optimize(of, EXACT).status is Status.OPTIMAL
    assert optimize(held, EXACT).status is Status.INFEASIBLE
