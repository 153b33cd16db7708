from dataclasses import replace
from decimal import Decimal
from functools import partial

import pytest
from random_cases import random_case
from solving import EXACT, same_cost, solved
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case
from broker.domain.gpu import Precision
from broker.domain.offer import PriceKind
from broker.domain.plan import Status
from broker.planning.bare_plan import violations
from solver.milp.forced import forced_optimum, forced_program, is_used
from solver.milp.search import search

A, B = offer("1", name="a"), offer("3", name="b")
SEEDS = [0, 3, 5, 11, 19, 23, 73]  # in 73, work moved to the forced machine would make it idle


def two_requests(**policy: object) -> Case:
    file = workloads(services=[service_entry(2, 2)], policy={"max_groups": 2, **policy})
    return case(file, [A, B], serving=[serving(A, [1.0]), serving(B, [1.0])])


def test_the_least_use_is_one_node_where_the_rest_stays_cheaper() -> None:
    forced = forced_optimum(two_requests(), B.key, EXACT)
    assert forced.total_usd == 24 * (1 + 3)
    assert {one.id: one.node_hours for one in forced.purchases} == {A.key: 24, B.key: 24}


def test_with_one_kind_of_replica_its_machines_share_the_work() -> None:
    forced = forced_optimum(two_requests(max_groups=1), B.key, EXACT)
    assert forced.total_usd == 24 * (1 + 3)


def test_with_one_kind_of_replica_another_kind_is_all_or_nothing() -> None:
    of = two_requests(max_groups=1)
    on_a, on_b = of.serving
    in_8_bit = on_b.candidate.model_copy(update={"precision": Precision.FP8})
    of = replace(of, serving=(on_a, replace(on_b, candidate=in_8_bit)))
    assert forced_optimum(of, B.key, EXACT).total_usd == 24 * 2 * 3


@pytest.mark.parametrize("seed", SEEDS)
def test_the_plan_uses_the_offer_keeps_every_rule_and_is_never_cheaper(seed: int) -> None:
    of = random_case(seed)
    best = solved(of)
    for one in of.offers:
        forced = forced_optimum(of, one.key, EXACT)
        if forced.status is Status.INFEASIBLE:
            assert not is_used(best, [one.key])
            continue
        assert is_used(forced, [one.key])
        assert violations(forced, of) == ()
        if is_used(best, [one.key]):
            assert same_cost(float(forced.total_usd), float(best.total_usd))
        else:
            assert float(forced.total_usd) >= float(best.total_usd) * (1 - 5e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_pruning_changes_no_forced_plan(seed: int) -> None:
    of = random_case(seed)
    for one in of.offers:
        pruned = forced_optimum(of, one.key, EXACT)
        whole = search(of, partial(forced_program, key=one.key), EXACT)
        assert pruned.status is whole.status
        assert same_cost(float(pruned.total_usd), float(whole.total_usd))


def test_a_node_that_stands_idle_beside_owned_ones_is_no_use() -> None:
    """One request needs one node, which is owned already: renting a second has nothing to carry."""
    file = workloads(services=[service_entry(1, 1)])
    of = case(file, [A], serving=[serving(A, [1.0])], owned=[(A, 1)])
    assert forced_optimum(of, A.key, EXACT).status is Status.INFEASIBLE
    without = replace(of, owned=())
    assert forced_optimum(without, A.key, EXACT).total_usd == 24


def test_work_beyond_the_committed_nodes_is_found_to_use_a_rented_one() -> None:
    """Three quarters of the day one node is needed, for 8 hours two: only then is one rented."""
    curve = {"requests_per_s": {"mean": 1, "peak": 2, "peak_hour": 12}}
    file = workloads(services=[service_entry(1, 2, traffic=curve)])
    committed = offer("0.5", name="a", kind=PriceKind.RESERVED, term_months=12)
    of = case(file, [A, committed], serving=[serving(A, [1.6])])
    both = forced_optimum(of, A.key, EXACT)
    assert is_used(both, [A.key])
    assert violations(both, of) == ()


def test_gangs_of_split_pools_use_rented_nodes_of_their_own() -> None:
    file = workloads(
        services=[service_entry(1, 1)],
        training=[run_entry(8 * 3600)],
        policy={"sharing": "split"},
    )
    of = case(file, [A], serving=[serving(A, [1.0])], training=[training(A)], owned=[(A, 1)])
    forced = forced_optimum(of, A.key, EXACT)
    assert forced.total_usd == Decimal(8)
    assert violations(forced, of) == ()


def test_an_offer_that_carries_nothing_cannot_be_used() -> None:
    assert (
        forced_optimum(replace(two_requests(), serving=(serving(A, [1.0]),)), B.key, EXACT).status
        is Status.INFEASIBLE
    )
