"""A cap on what one plan commits to newly: by hand, by rows, and by enumeration.

A node costs 4 USD an hour, or for a year 1 an hour and 8,760 upfront, which is one more an hour.
"""

import pytest
from both_ways import both_ways, cost_what_enumeration_finds, exact_usd
from changed_cases import with_workloads
from random_cases import random_case
from savings_cases import rate, two_thirds
from solving import least_usd, program_of, same_cost, solved
from tiny_cases import case, offer, service_entry, serving, workloads
from wide_cases import wide_case

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from solver.milp.dump import lines

BOX = offer("4")
YEAR = offer("1", kind=PriceKind.RESERVED, term_months=12, upfront_usd="8760")
MANY = [*range(14), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(14, 80))]


@pytest.mark.parametrize(("rung", "committed"), [(6, 3), (5.99, 2), (4, 2), (1.99, 0), (0, 0)])
def test_so_many_nodes_are_committed_to_as_the_rung_holds(rung: float, committed: int) -> None:
    assert exact_usd(_three(rung)) == 24 * (2 * committed + 4 * (3 - committed))


def test_a_promise_counts_as_much_as_it_is_an_hour() -> None:
    """At half the price 4 USD an hour would be promised; with 3 a node and a half are covered."""
    capped = two_thirds(rate("2"), max_new_usd_per_hour=3)
    (promised,) = [one.savings for one in solved(capped).purchases if one.savings]
    assert float(promised.usd_per_hour) == 3
    both_ways(capped)


def test_rows_of_new_commitments() -> None:
    of = _three(5)
    assert list(lines(program_of(of), "new_commitments")) == [
        "new_commitments[plan]: +2 committed_nodes[0] <= 5"
    ]
    assert list(lines(program_of(_three(None)), "new_commitments")) == []


@pytest.mark.parametrize("seed", MANY)
def test_a_rung_costs_what_enumeration_finds(seed: int) -> None:
    cost_what_enumeration_finds(_capped(seed), most_committed=3)


def test_a_rung_costs_money_in_some_random_cases() -> None:
    free = [
        with_workloads(_capped(seed), {"policy.commitments.max_new_usd_per_hour": None})
        for seed in range(14)
    ]
    bound = [least_usd(_capped(seed)) for seed in range(14)]
    dearer = [not same_cost(usd, least_usd(one)) for usd, one in zip(bound, free, strict=True)]
    assert sum(dearer) > 2


@pytest.mark.parametrize(
    "seeds", [range(6), pytest.param(range(6, 50), marks=pytest.mark.long)], ids=["few", "many"]
)
def test_step_by_step_costs_what_the_whole_program_does(seeds: range) -> None:
    for seed in seeds:
        rung = {"policy.commitments.max_new_usd_per_hour": (1, 3, 7)[seed % 3]}
        both_ways(with_workloads(wide_case(seed), {"policy.max_groups": 1, **rung}))


def _three(rung: float | None) -> Case:
    file = workloads(
        services=[service_entry(3, 3)],
        policy={"commitments": {} if rung is None else {"max_new_usd_per_hour": rung}},
    )
    return case(file, [BOX, YEAR], serving=[serving(BOX, [1])])


def _capped(seed: int) -> Case:
    rung = {"policy.commitments.max_new_usd_per_hour": (0.5, 1.5, 3, 5)[seed % 4]}
    return with_workloads(random_case(seed), {"policy.max_groups": 1, **rung})
