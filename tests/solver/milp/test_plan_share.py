"""A provider's share of a whole plan: the program finds what trying every plan finds."""

import math

import pytest
from changed_cases import with_workloads
from oracle_plan_share import cheapest_shared_usd, plan_share_case
from random_cases import random_case
from solving import EXACT, assembled, no_dearer, program_of, same_cost, solved
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case
from broker.domain.plan import Status
from broker.verification.check import check
from solver.milp.dump import lines
from solver.milp.optimize import optimize, relaxed_bound_usd

SEEDS = range(60)
ACME, BOLT = offer("1", provider="acme"), offer("3", provider="bolt", gpus=2)


@pytest.mark.parametrize("seed", SEEDS)
def test_shares_of_a_plan_cost_what_enumeration_finds(seed: int) -> None:
    of = plan_share_case(seed)
    expected = cheapest_shared_usd(of)
    for found in (solved(of), optimize(of, EXACT)):
        if math.isinf(expected):
            assert found.status is Status.INFEASIBLE
            continue
        assert same_cost(float(found.total_usd), expected)
        assert check(assembled(of, found), of) == ()
        assert relaxed_bound_usd(of) <= expected * (1 + 1e-6)


def test_some_shares_cost_money_and_some_cannot_be_kept() -> None:
    drawn = [plan_share_case(seed) for seed in SEEDS]
    costs = [cheapest_shared_usd(of) for of in drawn]
    free = [cheapest_shared_usd(_with_share(of, 1.0)) for of in drawn]
    assert sum(map(math.isinf, costs)) > 3
    assert sum(less < usd < math.inf for less, usd in zip(free, costs, strict=True)) > 10


@pytest.mark.parametrize("seed", range(25))
def test_with_commitments_and_owned_nodes_no_bound_is_above_the_optimum(seed: int) -> None:
    drawn = random_case(seed, machines=(2, 3), providers=("acme", "zeta"))
    of = _with_share(drawn, 0.7)
    whole, found = solved(of), optimize(of, EXACT)
    assert found.status is whole.status
    if whole.status is Status.INFEASIBLE:
        return
    assert same_cost(float(found.total_usd), float(whole.total_usd))
    assert no_dearer(float(solved(drawn).total_usd), float(whole.total_usd))
    assert check(assembled(of, found), of) == ()
    assert relaxed_bound_usd(of) <= float(whole.total_usd) * (1 + 1e-6)


def test_rows_of_shares_of_a_plan() -> None:
    """GPU-hours of a day in one period: a replica takes 24, the gang of two GPUs 16 in 8 h."""
    run = run_entry(8 * 3600, window={"earliest": "2026-12-01", "deadline": "2026-12-01T08:00Z"})
    file = workloads(services=[service_entry(1, 1)], training=[run])
    free = case(file, [ACME, BOLT], serving=[serving(ACME, [1])], training=[training(BOLT)])
    of = _with_share(free, 0.75)
    assert list(lines(program_of(of), "plan_share")) == [
        "plan_share[acme]: +6 replicas[0,0] -12 option_used[0] <= 0",
        "plan_share[bolt]: -18 replicas[0,0] +4 option_used[0] <= 0",
    ]
    assert lines(program_of(free), "plan_share") == []


def test_work_of_all_workloads_counts_together() -> None:
    """Three replicas with acme are 72 GPU-hours of 104, as the run has 32 with bolt anyway."""
    file = workloads(services=[service_entry(3, 3)], training=[run_entry(12 * 3600)])
    boxes = [ACME, BOLT]
    options = [serving(ACME, [1]), serving(BOLT, [1])]
    of = case(file, boxes, serving=options, training=[training(BOLT)])
    found = optimize(_with_share(of, 0.65), EXACT)
    assert {one.machine for one in found.serving} == {ACME.machine, BOLT.machine}
    assert found.total_usd > optimize(of, EXACT).total_usd
    assert optimize(_with_share(of, 0.7), EXACT).total_usd == optimize(of, EXACT).total_usd


def test_a_plan_with_one_provider_alone_is_refused() -> None:
    of = case(
        workloads(services=[service_entry(4, 4)]),
        [ACME, BOLT],
        serving=[serving(ACME, [1]), serving(BOLT, [1])],
    )
    shared = _with_share(of, 0.75)
    plan = assembled(shared, optimize(of, EXACT))
    (found,) = check(plan, shared)
    assert (found.rule, found.subject) == ("plan_share", "acme")
    assert found.message == "has 100.00% of the GPU-hours; 75.00% may be with one"


def _with_share(of: Case, share: float) -> Case:
    return with_workloads(of, {"policy.max_share_per_provider": share})
