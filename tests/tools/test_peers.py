"""Rivals on tiny cases, worked by hand: what they choose, how they are repaired, what it costs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from peers_bench.greedy import greedy
from peers_bench.instances import Instance, instance_names, read_instance
from peers_bench.judge import Judged, judged_wish
from peers_bench.market import Market
from peers_bench.melange import answers, melange
from peers_bench.narrowed import Estimate, Solver, solve_narrowed
from peers_bench.records import FROM_A_START, OURS, Times
from peers_bench.reservation import reservation
from peers_bench.rivals import compared
from peers_bench.skypilot import skypilot
from peers_bench.ways import Wish
from tiny_cases import START, case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case
from broker.domain.errors import ConfigurationError
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Status
from broker.domain.workload import Workloads
from broker.planning.case import CaseReport
from broker.planning.planner import Catalog
from broker.planning.service import open_service
from broker.planning.strategies import single_provider
from broker.settings import load_settings
from solver.milp.build import build_sets
from solver.milp.optimize import optimize, relaxed_bound_usd
from solver.milp.optimum import Optimum
from solver.milp.solve import Limits

BUSY_MORNING = {"requests_per_s": {"step": "8 h", "by_size": [[20, 0, 0]]}}


def instance(of: Case) -> Instance:
    return Instance("tiny", CaseReport(of, (), ()), Catalog("", len(of.offers), START))


def judged(of: Case, wish: Wish, market: Market) -> Judged:
    return judged_wish(instance(of), market, wish)


def usd(judged: Judged) -> float | None:
    assert not judged.refusal
    return None if judged.usd is None else float(judged.usd)


def served(of: Workloads, *offers: Offer) -> Case:
    """2 requests/s a GPU, on every machine that is rented."""
    rented = [one for one in offers if one.commitment is None]
    options = [serving(one, [2], on_spot=one.price_kind is PriceKind.SPOT) for one in rented]
    return case(of, offers, serving=options)


def a_day(load: float = 4, **more: object) -> Workloads:
    return workloads(services=[service_entry(load, load, **more)])


def test_greedy_looks_at_the_gpu_hour_and_skypilot_at_the_node() -> None:
    one = served(a_day(), offer("2.5", name="small"), offer("4", name="big", gpus=2))
    market = Market(build_sets(one))
    assert usd(judged(one, greedy(market), market)) == 24 * 4  # a big node: $2 a GPU
    assert usd(judged(one, skypilot(market), market)) == 24 * 2 * 2.5


def test_what_is_not_in_stock_is_taken_where_the_rival_would_take_it_next() -> None:
    small, big = offer("2.5", name="small", max_nodes=1), offer("4", name="big", gpus=2)
    one = served(a_day(), small, big)
    market = Market(build_sets(one))
    wish = skypilot(market)
    found = judged(one, wish, market)
    assert wish.own_usd == 24 * 2 * 2.5
    assert usd(found) == 24 * (2.5 + 4)
    assert found.repairs == (
        "chat/us-east: replicas moved, for want of nodes or to another provider: 1",
    )


def test_spares_are_added() -> None:
    one = served(a_day(availability={"spare_replicas": 1}), offer("2.5", name="small"))
    market = Market(build_sets(one))
    found = judged(one, greedy(market), market)
    assert usd(found) == 24 * 3 * 2.5
    assert found.repairs == (
        "chat/us-east: 3 replicas at the peak, 2 wanted (spares 1, at least 1)",
    )


def test_no_provider_gets_more_than_its_share() -> None:
    both = offer("2", name="a"), offer("3", name="b", provider="other")
    one = served(a_day(availability={"max_provider_share": 0.5}), *both)
    market = Market(build_sets(one))
    assert usd(judged(one, greedy(market), market)) == 24 * (2 + 3)


@pytest.mark.parametrize("max_groups", [1, 2])
def test_spot_takes_what_may_be_on_it(max_groups: int) -> None:
    firm, spot = offer("2", name="a"), offer("1", name="a", kind=PriceKind.SPOT)
    demand = workloads(
        services=[service_entry(4, 4, spot={"max_share": 0.5})], policy={"max_groups": max_groups}
    )
    one = served(demand, firm, spot)
    market = Market(build_sets(one))
    wish = greedy(market)
    assert usd(judged(one, wish, market)) == wish.own_usd == 24 * (2 + 1)


def test_a_mix_becomes_the_cheapest_kind_alone_where_one_kind_may_serve() -> None:
    small, large = offer("1", name="small"), offer("3", name="large", gpus=2)
    options = [serving(small, [2]), serving(large, [8], gpus=2)]
    for max_groups, expected in ((1, 5), (2, 4)):  # 9 requests/s: five small ones, or one of each
        demand = workloads(services=[service_entry(9, 9)], policy={"max_groups": max_groups})
        one = case(demand, [small, large], serving=options)
        market = Market(build_sets(one))
        wish = melange(market, answers(market, 10.0), keeps_peak=False)
        found = judged(one, wish, market)
        assert usd(found) == 24 * expected
        assert bool(found.repairs) is (max_groups == 1)


def test_nodes_that_would_stand_idle_are_given_back() -> None:
    big, other = offer("4", name="big", gpus=2), offer("10", name="other")
    demand = workloads(
        services=[service_entry(1, 1, traffic=BUSY_MORNING, min_replicas=0)],
        training=[run_entry(7 * 3600)],
    )
    one = case(demand, [big, other], serving=[serving(big, [2])], training=[training(other)])
    market = Market(build_sets(one))
    found = answers(market, 10.0)
    run_usd = 10 * 8
    peak = judged(one, melange(market, found, keeps_peak=True), market)
    assert usd(peak) == 5 * 4 * 8 + run_usd
    assert peak.repairs[-1].startswith("does not keep its peak (unused_nodes")
    by_hour = judged(one, melange(market, found, keeps_peak=False), market)
    assert usd(by_hour) == 5 * 4 * 8 + run_usd


def test_seventy_percent_of_the_peak_are_reserved() -> None:
    big = offer("4", name="big", gpus=2)
    reserved = offer("2", name="big", gpus=2, kind=PriceKind.RESERVED, term_months=1)
    one = served(a_day(20), big, reserved)  # ten replicas on five nodes, 3.5 of them reserved
    market = Market(build_sets(one))
    assert usd(judged(one, reservation(market), market)) == 24 * (4 * 2 + 1 * 4)


def test_no_more_is_reserved_than_may_be_committed_to_newly() -> None:
    big = offer("4", name="big", gpus=2)
    reserved = offer("2", name="big", gpus=2, kind=PriceKind.RESERVED, term_months=1)
    limits = {"commitments": {"max_term_months": 12, "max_new_usd_per_hour": 7}}
    one = served(workloads(services=[service_entry(20, 20)], policy=limits), big, reserved)
    market = Market(build_sets(one))
    found = judged(one, reservation(market), market)
    assert usd(found) == 24 * (3 * 2 + 2 * 4)
    assert found.repairs == ("acme/big/here: 3 nodes reserved, 4 wanted",)


def test_what_is_reserved_beyond_the_horizon_without_a_reason_is_rented() -> None:
    big = offer("4", name="big", gpus=2)
    reserved = offer("2", name="big", gpus=2, kind=PriceKind.RESERVED, term_months=1)
    demand = workloads(services=[service_entry(1, 1, traffic=BUSY_MORNING, min_replicas=0)])
    one = served(demand, big, reserved)
    market = Market(build_sets(one))
    wish = reservation(market)
    found = judged(one, wish, market)
    assert wish.own_usd == 4 * 2 * 24 + 1 * 4 * 8
    assert usd(found) == 5 * 4 * 8
    assert found.repairs == ("acme/big/here: 0 nodes reserved, 4 wanted",)


def test_a_run_takes_its_owner_s_idle_nodes_first_and_waits_for_stock() -> None:
    box = offer("2", name="box", max_nodes=1)
    runs = [run_entry(7 * 3600, name="one"), run_entry(7 * 3600, name="two")]
    options = [training(box, run="one"), training(box, run="two")]
    alone = case(workloads(training=runs), [box], training=options)
    market = Market(build_sets(alone))
    found = judged(alone, greedy(market), market)
    assert usd(found) == 2 * 2 * 8
    assert found.repairs == ("two: begins later, for want of nodes",)
    owned = case(workloads(training=runs), [box], training=options, owned=[(box, 1)])
    market = Market(build_sets(owned))
    assert usd(judged(owned, greedy(market), market)) == 0


def test_where_runs_are_kept_apart_a_run_takes_its_owner_s_nodes_all_the_same() -> None:
    box = offer("2", name="box", max_nodes=0)
    demand = workloads(training=[run_entry(7 * 3600)], policy={"sharing": "split"})
    one = case(demand, [box], training=[training(box)], owned=[(box, 1)])
    market = Market(build_sets(one))
    assert usd(judged(one, greedy(market), market)) == 0


def test_a_surcharge_is_paid_on_a_peak_that_is_kept() -> None:
    box = offer("4", name="box", gpus=2)
    policy = {"surcharges": [{"rate": 0.5, "providers": ["acme"]}]}
    demand = workloads(services=[service_entry(4, 8)], policy=policy)
    one = served(demand, box)
    market = Market(build_sets(one))
    kept = judged(one, melange(market, answers(market, 10.0), keeps_peak=True), market)
    assert usd(kept) == 24 * 2 * 4 * 1.5


def test_a_rival_for_which_nothing_has_room_is_told() -> None:
    box = offer("2", name="box", max_nodes=1)
    runs = [run_entry(20 * 3600, name="one"), run_entry(20 * 3600, name="two")]
    options = [training(box, run="one"), training(box, run="two")]
    one = case(workloads(training=runs), [box], training=options)
    market = Market(build_sets(one))
    found = judged(one, greedy(market), market)
    assert (found.plan, found.refusal) == (None, "two: none of its 1 options has room in time")


@contextmanager
def here() -> Iterator[Solver]:
    yield Solver(optimize, relaxed_bound_usd)


def test_a_narrower_strategy_takes_its_cheapest_choice() -> None:
    one = served(a_day(), offer("3", name="a"), offer("2", name="b", provider="other"))
    strategy = single_provider(one)
    estimate = Estimate(Market(build_sets(one)))
    guessed = {choice.name: estimate(choice) for choice in strategy.choices}
    assert guessed == {"acme": 24 * 2 * 3, "other": 24 * 2 * 2}
    with here() as solver:
        found = solve_narrowed(strategy, solver, Limits(0.0, 20.0), estimate)
    assert found.choice is not None
    assert found.optimum is not None
    assert (found.choice.name, float(found.optimum.total_usd)) == ("other", 24 * 2 * 2)
    assert 0 < found.bound_usd <= 24 * 2 * 2


def test_a_narrower_strategy_without_a_plan_says_why() -> None:
    one = served(a_day(), offer("3", name="a", max_nodes=1))
    estimate = Estimate(Market(build_sets(one)))
    with here() as solver:
        found = solve_narrowed(single_provider(one), solver, Limits(0.0, 20.0), estimate)
        late = solve_narrowed(single_provider(one), solver, Limits(0.0, 0.5), estimate)
    assert (found.optimum, found.why) == (None, "no choice has a plan")
    assert (late.optimum, late.why) == (None, "the time was up")


def test_no_rival_costs_less_than_our_plan() -> None:
    small, big = offer("2.5", name="small"), offer("4", name="big", gpus=2)
    reserved = offer("1.5", name="small", kind=PriceKind.RESERVED, term_months=1)
    one = served(a_day(5), small, big, reserved)
    times = Times(gap=0.0, ours_s=20, strategy_s=10, melange_s=5)
    results = {found.rival: found for found in compared(instance(one), times, here)}
    ours = results.pop(OURS)
    assert usd(ours.judged) == 24 * 3 * 1.5
    assert FROM_A_START not in results
    assert len(results) == 8
    assert all((usd(found.judged) or 0) >= 24 * 3 * 1.5 for found in results.values())


def test_where_a_rival_costs_less_we_begin_again_from_its_plan() -> None:
    """Our search of nothing, as one that ran out of time, is followed by one that has a start."""
    one = served(a_day(), offer("2", name="small"))
    times = Times(gap=0.0, ours_s=20, strategy_s=10, melange_s=5)

    @contextmanager
    def late_without_a_start() -> Iterator[Solver]:
        def solve(of: Case, limits: Limits) -> Optimum:
            found = optimize(of, limits)
            return found if limits.start.kinds else replace(found, status=Status.INFEASIBLE)

        yield Solver(solve, relaxed_bound_usd)

    results = {found.rival: found for found in compared(instance(one), times, late_without_a_start)}
    assert results[OURS].usd is None
    assert usd(results[FROM_A_START].judged) == 24 * 2 * 2


def test_instances_are_examples_and_generated_ones() -> None:
    names = instance_names()
    assert "company" in names
    assert names[-3:] == ("small:1", "small:2", "small:5")
    service = open_service(load_settings())
    assert len(read_instance("small:5", service).report.case.workloads.services) == 3
    with pytest.raises(ConfigurationError, match="'small:x' has no seed"):
        read_instance("small:x", service)
