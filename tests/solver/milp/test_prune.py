"""What is dominated goes before the program is built, what may still be worth its price stays.

Replicas of 1 GPU on nodes of 2 are parts of a node, so that no price stands for itself and only
machines are compared. Each case is also solved with and without pruning: the cost is the same.
"""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

import pytest
from prune_cases import box, demand, machines_left, names_left, pruned, served
from random_cases import random_case
from solving import EXACT, least_usd, no_dearer
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case
from broker.domain.offer import Limits, Offer, PriceKind
from solver.milp.optimize import optimize
from solver.milp.prune import prune

CHEAP, DEAR = "acme/cheap/here", "acme/dear/here"


def test_a_dearer_machine_that_does_the_same_goes() -> None:
    of = _two_machines(box("cheap", "2"), box("dear", "3"))
    assert prune(of).dominated == {DEAR: CHEAP}
    assert machines_left(of) == {CHEAP}
    assert {one.machine for one in prune(of).case.offers} == {CHEAP}


@pytest.mark.parametrize(
    ("cheap_rate", "left"), [(3.0, {CHEAP}), (2.99, {CHEAP, DEAR})], ids=["as fast", "slower"]
)
def test_a_dearer_machine_stays_where_it_is_faster(cheap_rate: float, left: set[str]) -> None:
    cheap, dear = box("cheap", "2"), box("dear", "2.1")
    of = demand([cheap, dear], [serving(cheap, [cheap_rate]), serving(dear, [3.0])])
    assert machines_left(of) == left


def test_a_dearer_machine_stays_where_it_serves_a_region_more() -> None:
    cheap, dear = box("cheap", "2"), box("dear", "3")
    options = [serving(cheap, [3]), serving(dear, [3])]
    near = [serving(one, [3], user_region="eu-west") for one in (cheap, dear)]
    users = {"us-east": 0.5, "eu-west": 0.5}
    assert machines_left(demand([cheap, dear], [*options, *near], users=users)) == {CHEAP}
    of = demand([cheap, dear], [*options, near[1]], users=users)
    assert machines_left(of) == {CHEAP, DEAR}


def test_a_dearer_machine_stays_where_a_replica_takes_fewer_gpus() -> None:
    cheap, dear = box("cheap", "2", gpus=4), box("dear", "2.1", gpus=4)
    of = demand([cheap, dear], [serving(cheap, [4], gpus=2), serving(dear, [2], gpus=1)])
    assert machines_left(of) == {CHEAP, DEAR}
    # Two replicas of 1 GPU do what one of 2 does, but a fleet of both machines is of one layout.
    of = demand([cheap, dear], [serving(cheap, [2], gpus=1), serving(dear, [4], gpus=2)])
    assert machines_left(of) == {CHEAP, DEAR}
    same = [serving(cheap, [4], gpus=2), serving(dear, [4], gpus=2)]
    assert machines_left(demand([cheap, dear], same)) == {CHEAP}


def test_an_owned_machine_stays() -> None:
    cheap, dear = box("cheap", "2"), box("dear", "3")
    of = demand([cheap, dear], served(cheap, dear), owned=[(dear, 1)])
    assert prune(of).dominated == {}
    assert machines_left(of) == {CHEAP, DEAR}


@pytest.mark.parametrize(
    "limits",
    [
        Limits(stock_nodes=1),
        Limits(stock_nodes=1000),
        Limits(stock_pool="host", stock_gpus=8),
        Limits(max_nodes=1),
    ],
    ids=["stock", "large stock", "pool", "most nodes"],
)
def test_a_limited_machine_never_dominates(limits: Limits) -> None:
    few = box("cheap", "2").model_copy(update={"limits": limits})
    of = _two_machines(few, box("dear", "3"))
    assert machines_left(of) == {CHEAP, DEAR}


def test_a_limit_on_any_price_kind_of_a_machine_counts() -> None:
    cheap, dear = box("cheap", "2"), box("dear", "3")
    spot = box("cheap", "1", kind=PriceKind.SPOT, limits=Limits(stock_nodes=1))
    of = demand([cheap, dear, spot], served(cheap, dear))
    assert machines_left(of) == {CHEAP, DEAR}


def test_a_limited_machine_is_dominated_all_the_same() -> None:
    few = box("dear", "3").model_copy(update={"limits": Limits(stock_nodes=1)})
    assert machines_left(_two_machines(box("cheap", "2"), few)) == {CHEAP}


@pytest.mark.parametrize(
    "quota",
    [
        {"provider": "acme", "gpus": 2},
        {"provider": "ACME", "gpus": 1000},
        {"provider": "acme", "price_kind": "on_demand", "gpus": 2},
        {"provider": "acme", "gpu": "H100-SXM", "region": "here", "gpus": 2},
    ],
    ids=str,
)
def test_a_machine_under_a_quota_never_dominates(quota: Mapping[str, object]) -> None:
    cheap, dear = box("cheap", "2"), box("dear", "3", provider="zeta")
    of = demand([cheap, dear], served(cheap, dear), quotas=[quota])
    assert machines_left(of) == {CHEAP, dear.machine}


@pytest.mark.parametrize(
    "quota",
    [{"provider": "zeta", "gpus": 2}, {"provider": "acme", "price_kind": "spot", "gpus": 2}],
    ids=str,
)
def test_quotas_on_others_do_not_keep_a_machine(quota: Mapping[str, object]) -> None:
    cheap, dear = box("cheap", "2"), box("dear", "3", provider="zeta")
    of = demand([cheap, dear], served(cheap, dear), quotas=[quota])
    assert machines_left(of) == {CHEAP}


def test_a_machine_with_a_cheaper_commitment_stays() -> None:
    cheap, dear = box("cheap", "2"), box("dear", "3")
    year = box("dear", "1.9", kind=PriceKind.RESERVED, term_months=12)
    assert machines_left(demand([cheap, dear, year], served(cheap, dear))) == {CHEAP, DEAR}


@pytest.mark.parametrize(
    ("usd", "term_months", "upfront_usd", "left"),
    [
        ("1.8", 12, "0", {CHEAP, DEAR}),
        ("1.9", 12, "0", {CHEAP, DEAR}),
        ("1.91", 12, "0", {CHEAP, DEAR}),
        ("1.8", 1, "0", {CHEAP, DEAR}),
        ("1.8", 12, "1", {CHEAP, DEAR}),
    ],
    ids=["cheaper", "as dear", "dearer", "of another term", "with cash upfront"],
)
def test_a_commitment_that_outlives_the_horizon_is_matched_by_no_other_commitment(
    usd: str, term_months: int, *, upfront_usd: str, left: set[str]
) -> None:
    # On demand both are 3.
    cheap, dear = box("cheap", "3"), box("dear", "3")
    theirs = box("dear", "1.9", kind=PriceKind.RESERVED, term_months=12)
    ours = box(
        "cheap",
        usd,
        kind=PriceKind.RESERVED,
        term_months=term_months,
        upfront_usd=upfront_usd,
    )
    assert machines_left(demand([cheap, dear, theirs, ours], served(cheap, dear))) == left


def test_a_commitment_is_not_matched_by_one_that_breaks_even_later() -> None:
    # 1.8 of 2.5 are 0.72 of the time, 1.9 of 3 are 0.63.
    cheap, dear = box("cheap", "2.5"), box("dear", "3")
    years = [
        box(name, usd, kind=PriceKind.RESERVED, term_months=12)
        for name, usd in [("cheap", "1.8"), ("dear", "1.9")]
    ]
    of = demand([cheap, dear, *years], served(cheap, dear))
    assert machines_left(of) == {CHEAP, DEAR}


def test_a_commitment_is_matched_by_rented_nodes_that_are_no_dearer() -> None:
    cheap, dear = box("cheap", "1.9"), box("dear", "3")
    year = box("dear", "1.9", kind=PriceKind.RESERVED, term_months=12)
    assert machines_left(demand([cheap, dear, year], served(cheap, dear))) == {CHEAP}


@pytest.mark.parametrize(
    ("spot_usd", "left"), [("2", {CHEAP}), ("1.99", {CHEAP, DEAR})], ids=["as dear", "cheaper"]
)
def test_spot_nodes_are_matched_by_rented_ones_that_are_no_dearer(
    spot_usd: str, left: set[str]
) -> None:
    cheap, dear = box("cheap", "2"), box("dear", "3")
    spot = box("dear", spot_usd, kind=PriceKind.SPOT)
    options = [*served(cheap, dear), serving(dear, [3], on_spot=True)]
    of = demand([cheap, dear, spot], options, spot={"max_share": 0.5})
    assert machines_left(of) == left


def test_spot_that_no_option_uses_keeps_no_machine() -> None:
    cheap, dear = box("cheap", "2"), box("dear", "3")
    spot = box("dear", "0.1", kind=PriceKind.SPOT)
    assert machines_left(demand([cheap, dear, spot], served(cheap, dear))) == {CHEAP}


@pytest.mark.parametrize(
    "better",
    [
        {"nodes": 2},
        {"tokens_per_s": 0.9},
        {"startup_s": 60.0},
        {"egress_usd": "0.01"},
    ],
    ids=["more nodes", "slower", "longer start", "more egress"],
)
def test_a_machine_stays_that_does_a_run_better(better: Mapping[str, object]) -> None:
    # The cheap one has a commitment, so that its gangs have no price that stands for itself.
    cheap, dear = box("cheap", "2"), box("dear", "3")
    year = box("cheap", "1.9", kind=PriceKind.RESERVED, term_months=12)
    runs = [training(cheap, **better), training(dear)]  # type: ignore[arg-type] - by keyword
    of = demand([cheap, dear, year], served(cheap, dear), runs=runs)
    assert machines_left(of) == {CHEAP, DEAR}
    same = demand([cheap, dear, year], served(cheap, dear), runs=[training(cheap), runs[1]])
    assert machines_left(same) == {CHEAP}


@pytest.mark.parametrize(
    ("usd", "left"), [("1.99", {"small"}), ("2.01", {"small", "large"})], ids=["cheaper", "dearer"]
)
def test_smaller_nodes_stand_for_a_larger_one(usd: str, left: set[str]) -> None:
    small, large = box("small", usd), box("large", "4", gpus=4)
    of = demand([small, large], [serving(small, [3]), serving(large, [3])])
    assert names_left(of) == left


def test_smaller_nodes_do_not_stand_for_a_larger_one_that_a_run_can_use() -> None:
    small, large = box("small", "1"), box("large", "4", gpus=4)
    options = [serving(small, [3]), serving(large, [3])]
    runs = [training(small, nodes=2), training(large)]
    year = box("large", "3.9", gpus=4, kind=PriceKind.RESERVED, term_months=12)
    of = demand([small, large, year], options, runs=runs)
    assert names_left(of) == {"small", "large"}
    assert names_left(demand([small, large], options)) == {"small"}


def test_smaller_nodes_that_do_not_divide_a_larger_one_do_not_stand_for_it() -> None:
    small, large = box("small", "1", gpus=2), box("large", "4", gpus=3)
    of = demand([small, large], [serving(small, [3]), serving(large, [3])])
    assert names_left(of) == {"small", "large"}


def test_a_larger_node_stands_for_a_smaller_one_at_the_same_price() -> None:
    small, large = box("small", "4", gpus=2), box("large", "4", gpus=4)
    of = demand([small, large], [serving(small, [3]), serving(large, [3])])
    assert names_left(of) == {"large"}


def test_a_slower_machine_stays_for_the_larger_use_that_it_makes_of_a_commitment() -> None:
    """Two slow nodes that a service needs on Friday do the run at the weekend for nothing more.

    One fast node serves as well: then only one may be committed to, and the run rents the other.
    """
    slow, fast = box("slow", "10", gpus=1), box("fast", "10", gpus=1)
    years = [
        box(name, "3", gpus=1, kind=PriceKind.RESERVED, term_months=12) for name in ("slow", "fast")
    ]
    curve = {"requests_per_s": {"mean": 2, "peak": 2, "weekend_factor": 0}}
    file = workloads(
        services=[service_entry(2, 2, traffic=curve, min_replicas=0)],
        training=[
            run_entry(48 * 3600, window={"earliest": "2026-12-05", "deadline": "2026-12-07"})
        ],
        horizon={"start": "2026-12-04", "days": 3, "slot": "24 h"},
    )
    of = case(
        file,
        [slow, fast, *years],
        serving=[serving(slow, [1]), serving(fast, [2])],
        training=[training(slow, nodes=2), training(fast, nodes=2)],
    )
    assert prune(of).dominated == {}
    # Two slow ones for 72 h at 3; with the fast one it would be 72 × 3 + 48 × 10.
    assert least_usd(prune(of).case) == 2 * 72 * 3
    assert least_usd(of) == 2 * 72 * 3


@pytest.mark.parametrize("seed", range(60))
def test_pruning_of_many_machines_never_changes_the_cost(seed: int) -> None:
    pruned(random_case(seed, machines=(3, 4, 5)))


def test_pruning_leaves_something_out_of_many_of_them() -> None:
    drawn = [random_case(seed, machines=(3, 4, 5)) for seed in range(60)]
    after = [prune(one) for one in drawn]
    fewer = [
        len(two.case.serving) + len(two.case.training) < len(one.serving) + len(one.training)
        for one, two in zip(drawn, after, strict=True)
    ]
    assert sum(fewer) > 20
    assert sum(bool(one.dominated) for one in after) > 5


def _two_machines(first: Offer, second: Offer) -> Case:
    return demand([first, second], served(first, second))


@pytest.mark.parametrize("order", [1, -1], ids=["slower last", "slower first"])
def test_of_two_models_that_may_answer_the_faster_stays(order: int) -> None:
    box = offer("4.00")
    options = []
    for model, rate in (("fast", 4.0), ("slow", 1.0))[::order]:
        one = serving(box, [rate])
        known = one.candidate.model_copy(update={"model": model, "id": model})
        options.append(replace(one, candidate=known))
    file = workloads(services=[service_entry(3.0, 4.0)])
    both = case(file, [box], serving=options)
    assert "fast" in {one.candidate.model for one in prune(both).case.serving}
    assert no_dearer(least_usd(both), 24 * 4.0)
    found = optimize(both, EXACT)
    assert no_dearer(float(found.total_usd), 24 * 4.0)
    assert no_dearer(float(found.bound_usd), 24 * 4.0)


@pytest.mark.parametrize(
    ("more_usd", "left"), [("0.05", {CHEAP}), ("0.06", {CHEAP, DEAR})], ids=["as much", "more"]
)
def test_a_dearer_machine_stays_where_weights_are_kept_for_less(
    more_usd: str, left: set[str]
) -> None:
    # A node holds two replicas, so what keeping the weights of each costs more counts twice.
    cheap, dear = box("cheap", "2"), box("dear", "2.1")
    options = [
        replace(serving(cheap, [3]), storage_usd_per_hour=Decimal("0.01") + Decimal(more_usd)),
        replace(serving(dear, [3]), storage_usd_per_hour=Decimal("0.01")),
    ]
    assert machines_left(demand([cheap, dear], options)) == left
