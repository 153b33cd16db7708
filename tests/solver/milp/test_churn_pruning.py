"""Moved nodes and pruning: what costs more but counts fewer moves stays in the program."""

from dataclasses import replace
from decimal import Decimal

import pytest
from both_ways import exact_usd
from changed_cases import with_workloads
from churn_cases import ACME, churn_policy, held, replicas
from tiny_cases import case, offer, served_case, service_entry, serving, workloads

from broker.domain.offer import Block, PriceKind
from solver.milp.prune import prune

MONTH = offer("0.5", provider="acme", kind=PriceKind.RESERVED, term_months=1)
_HOURS = 24


def test_a_dominated_machine_stays_if_the_plan_in_force_has_nodes_there() -> None:
    cheap, dear = offer("2", name="cheap", gpus=2), offer("3", name="dear", gpus=2)
    spot = offer("2.9", name="dear", gpus=2, kind=PriceKind.SPOT)
    of = replicas(2, {}, usd=30, offers=[cheap, dear, spot])
    assert prune(of).dominated == {dear.machine: cheap.machine}
    for line in (dear.key, spot.key):
        stays = replace(of, in_force=held({line: 1}))
        assert prune(stays).dominated == {}
    assert exact_usd(replace(of, in_force=held({dear.key: 1}))) == 3 * _HOURS


def test_smaller_nodes_stand_for_no_larger_one() -> None:
    """Two nodes for 1 USD an hour are cheaper than one for 2.5, but are two moves."""
    small, large = offer("1", name="small", gpus=2), offer("2.5", name="large", gpus=4)
    of = served_case([small, large], service_entry(4, 4), policy=churn_policy(10))
    assert prune(of).dominated == {large.machine: small.machine}
    moved = replace(of, in_force=())
    assert prune(moved).dominated == {}
    assert exact_usd(moved) == 2 * _HOURS + 2 * 10
    dearer = with_workloads(moved, {"policy.churn.usd_per_moved_node": "13"})
    assert exact_usd(dearer) == 2.5 * _HOURS + 13


def test_no_price_by_the_hour_replaces_what_counts_fewer_moves() -> None:
    """A replica of eight GPUs costs a little more than eight of one, but is one node."""
    small, large = offer("1", name="small"), offer("9", name="large", gpus=8)
    file = workloads(services=[service_entry(8, 8)], policy=churn_policy(10))
    of = case(file, [small, large], serving=[serving(small, [1]), serving(large, [8], gpus=8)])
    assert {one.machine for one in prune(of).case.serving} == {small.machine}
    assert exact_usd(of) == 8 * _HOURS
    assert exact_usd(replace(of, in_force=())) == 9 * _HOURS + 10


def test_a_commitment_that_a_cheaper_one_stands_for_stays_if_it_is_in_force() -> None:
    cheaper = MONTH.model_copy(update={"usd_per_hour": Decimal("0.49")})
    upfront = offer(
        "0.4", provider="acme", kind=PriceKind.RESERVED, term_months=1, upfront_usd="73"
    ).model_copy(update={"price_kind": PriceKind.CONTRACT})
    more = {"offers": [ACME, cheaper, upfront], "days": 28, "slot": "24 h"}
    of = replicas(2, {}, usd=100, **more)
    assert upfront.key not in {one.key for one in prune(of).case.offers}
    stays = replace(of, in_force=held({upfront.key: 2}))
    assert upfront.key in {one.key for one in prune(stays).case.offers}
    assert exact_usd(stays) == pytest.approx(2 * 28 * _HOURS * 0.5)


def test_a_block_that_renting_stands_for_stays_if_its_machine_is_in_force() -> None:
    block = offer("1", provider="acme", kind=PriceKind.CAPACITY_BLOCK).model_copy(
        update={"block": Block(lengths_h=(24,))}
    )
    of = replicas(2, {}, usd=100, offers=[ACME, block], slot="24 h")
    assert block.key not in {one.key for one in prune(of).case.offers}
    booked = f"{ACME.machine}@capacity_block-20261201T0000Z-24h"
    stays = replace(of, in_force=held({booked: 2}))
    assert block.key in {one.key for one in prune(stays).case.offers}
    assert exact_usd(stays) == 2 * _HOURS
