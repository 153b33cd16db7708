"""A service's replicas are spread over providers: rows and costs worked out by hand.

A node is one replica here and carries 1 request/s. `acme` rents at 1 USD an hour, `bolt` at 3; a
third shop, `resale`, sells machines of acme at 2.
"""

from fractions import Fraction

import numpy as np
import pytest
from both_ways import both_ways, broken_without, exact_usd
from changed_cases import with_workloads
from solving import EXACT, program_of, solved
from tiny_cases import offer, served_case, service_entry
from wide_cases import wide_case

from broker.domain.case import Case
from broker.domain.offer import Offer
from broker.domain.plan import Status
from solver.milp.constraints.provider_share import share_prices
from solver.milp.dump import lines
from solver.milp.optimize import optimize
from solver.milp.shares import most_with_one

ACME = offer("1", provider="acme")
BOLT = offer("3", provider="bolt")
RESALE = offer("2", provider="resale").model_copy(update={"operator": "acme"})
_HOURS = 24


@pytest.mark.parametrize(
    ("share", "most"),
    [
        ("1", [0, 1, 2, 3, 4, 5]),
        ("7/10", [0, 1, 1, 2, 3, 4]),
        ("1/2", [0, 1, 1, 2, 2, 3]),
        ("1/3", [0, 1, 1, 1, 2, 2]),
    ],
)
def test_a_share_is_rounded_up_but_never_to_all_of_two_or_more(share: str, most: list[int]) -> None:
    assert [most_with_one(Fraction(share), count) for count in range(6)] == most


@pytest.mark.parametrize("max_groups", [1, 2])
def test_the_dearer_provider_takes_what_the_share_leaves(max_groups: int) -> None:
    of = _five_replicas([ACME, BOLT], share=0.7, max_groups=max_groups)
    assert exact_usd(of) == (4 * 1 + 1 * 3) * _HOURS
    assert exact_usd(_five_replicas([ACME, BOLT], share=0.5, max_groups=max_groups)) == (
        (3 * 1 + 2 * 3) * _HOURS
    )
    assert exact_usd(_five_replicas([ACME, BOLT], share=1.0, max_groups=max_groups)) == 5 * _HOURS


def test_the_smaller_of_the_policy_and_the_service_holds() -> None:
    both = _five_replicas([ACME, BOLT], share=0.7, policy={"max_provider_share": 0.5})
    assert exact_usd(both) == (3 * 1 + 2 * 3) * _HOURS
    policy_alone = _five_replicas([ACME, BOLT], share=1.0, policy={"max_provider_share": 0.5})
    assert exact_usd(policy_alone) == exact_usd(both)


@pytest.mark.parametrize("max_groups", [1, 2])
def test_a_resold_machine_counts_for_the_cloud_behind_it(max_groups: int) -> None:
    of = _five_replicas([ACME, RESALE, BOLT], share=0.7, max_groups=max_groups)
    assert exact_usd(of) == (4 * 1 + 1 * 3) * _HOURS
    none = _five_replicas([ACME, RESALE], share=0.7, max_groups=max_groups)
    assert optimize(none, EXACT).status is Status.INFEASIBLE


@pytest.mark.parametrize("max_groups", [1, 2])
def test_two_replicas_are_never_with_one_provider_and_one_may_be(max_groups: int) -> None:
    two = _replicas(2, [ACME, BOLT], share=0.9, max_groups=max_groups)
    assert exact_usd(two) == (1 + 3) * _HOURS
    one = _replicas(1, [ACME, BOLT], share=0.9, max_groups=max_groups)
    assert exact_usd(one) == 1 * _HOURS


def test_a_large_fleet_may_be_shared_replica_by_replica() -> None:
    of = _replicas(60, [ACME, BOLT], share=0.5)
    assert exact_usd(of) == (30 * 1 + 30 * 3) * _HOURS


def test_a_fleet_that_grows_keeps_the_share_at_each_size() -> None:
    """8 h of 1, 8 h of 3 and 8 h of 2 replicas; of 3 one must be bolt's, and so of 2, not of 1."""
    load = {"requests_per_s": {"step": "8 h", "by_size": [[1.0, 3.0, 2.0]]}}
    of = _of([ACME, BOLT], service_entry(1, 1, traffic=load), share=0.7)
    assert exact_usd(of) == 8 * 1 + 8 * (2 + 3) + 8 * (1 + 3)


def test_rows_under_one_kind_bind_a_used_kind() -> None:
    of = _five_replicas([ACME, BOLT], share=0.7)
    up = {at: " ".join(f"+1 replicas[{at},{block}]" for block in range(5)) for at in (0, 1)}
    assert list(lines(program_of(of), "provider_share")) == [
        f"provider_share[0,acme,0]: -4 kind_used[0] {up[0]} <= 0",
        f"provider_share[0,bolt,0]: -4 kind_used[0] {up[1]} <= 0",
    ]


def test_rows_where_kinds_mix_bind_by_the_fleet() -> None:
    """0.7 of all, and 9/10 more; of at most five replicas all but a fifth of those beside one."""
    of = _five_replicas([ACME, BOLT], share=0.7, max_groups=2)
    assert list(lines(program_of(of), "provider_share")) == [
        "provider_share[share,0,acme,0]: +0.3 replicas[0,0] -0.7 replicas[1,0] <= 0.9",
        "provider_share[share,0,bolt,0]: -0.7 replicas[0,0] +0.3 replicas[1,0] <= 0.9",
        "provider_share[apart,0,acme,0]: +0.2 replicas[0,0] -0.8 replicas[1,0] <= 0.2",
        "provider_share[apart,0,bolt,0]: -0.8 replicas[0,0] +0.2 replicas[1,0] <= 0.2",
    ]


def test_no_rows_where_one_provider_may_have_all() -> None:
    for max_groups in (1, 2):
        of = _five_replicas([ACME, BOLT], share=1.0, max_groups=max_groups)
        assert list(lines(program_of(of), "provider_share")) == []


@pytest.mark.parametrize("max_groups", [1, 2])
def test_without_the_rows_a_plan_is_refused(max_groups: int) -> None:
    of = _five_replicas([ACME, BOLT], share=0.7, max_groups=max_groups)
    assert {one.rule for one in broken_without("provider_share", of)} == {"provider_share"}


@pytest.mark.parametrize(
    ("seeds", "least"),
    [(range(3), 1), pytest.param(range(3, 14), 3, marks=pytest.mark.long)],
    ids=["few", "many"],
)
def test_random_cases_are_solved_and_accepted_and_the_share_costs_something(
    seeds: range, least: int
) -> None:
    """The dearer plan under a share is right, whether it is found whole or step by step."""
    dearer = 0
    for seed in seeds:
        free = wide_case(seed)
        share = (0.5, 0.7)[seed % 2]
        of = with_workloads(free, {"policy.max_provider_share": share})
        whole, _ = both_ways(of)
        if whole.status is not Status.INFEASIBLE:
            dearer += whole.total_usd > solved(free).total_usd
    assert dearer >= least


def _five_replicas(
    offers: list[Offer],
    *,
    share: float,
    max_groups: int = 1,
    policy: dict[str, object] | None = None,
) -> Case:
    return _replicas(5, offers, share=share, max_groups=max_groups, policy=policy)


def _replicas(count: int, offers: list[Offer], **more: object) -> Case:
    return _of(offers, service_entry(count, count), **more)


def _of(
    offers: list[Offer],
    service: dict[str, object],
    *,
    share: object,
    max_groups: object = 1,
    policy: object = None,
) -> Case:
    asked = {"availability": {"max_provider_share": share}}
    rules = {"max_groups": max_groups, **(policy if isinstance(policy, dict) else {})}
    return served_case(offers, service | asked, policy=rules)


def test_prices_of_the_rows_are_read_off_duals_by_kind_and_provider() -> None:
    """A dual of −2 makes acme's replicas 2 USD dearer, and a used kind 4 times that cheaper."""
    sets = program_of(_five_replicas([ACME, BOLT], share=0.7)).sets
    (priced,) = share_prices(sets, sets, np.array([-2.0, 0.0])).values()
    assert priced.credit_usd == 4 * 2
    dearer = priced.usd(sets, np.array([0, 1]), sets.kinds[0].up())
    assert dearer.tolist() == [[2.0] * 5, [0.0] * 5]
