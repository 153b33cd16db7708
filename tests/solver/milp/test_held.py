"""Nodes whose term or window begins or ends inside a slot: they count for limits in that slot, too.

A node of `box` costs 4 USD an hour on demand, and 2 in a block. The horizon begins on 2026-12-01.
"""

from datetime import timedelta

import pytest
from both_ways import both_ways
from tiny_cases import START, case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case
from broker.domain.offer import Block, Limits, Offer, PriceKind
from broker.domain.plan import Purchase, Status

_HOUR = timedelta(hours=1)
RENTED = offer("4")


@pytest.mark.parametrize(
    ("gpus", "usd"), [(2, 2 * 24 + 4 * 25), (1, 4 * 48)], ids=["enough for both", "for one"]
)
def test_a_block_counts_for_a_quota_from_its_first_minute(gpus: int, usd: int) -> None:
    """From 12:30 on for a day: the slot from 12:00 has a rented node, and the block's beside it."""
    block = _block("2", 24, starts_at=START + 12.5 * _HOUR)
    quota = {"provider": "acme", "gpus": gpus}
    file = workloads(services=[service_entry(1, 1)], quotas=[quota], slot="1 h", days=2)
    of = case(file, [RENTED, block], serving=[serving(RENTED, [1.0])])
    assert sum(one.usd for one in _planned(of)) == usd


@pytest.mark.parametrize(("nodes", "kinds"), [(2, 2), (1, 1)], ids=["two nodes", "one node"])
def test_a_term_counts_for_the_stock_to_its_last_hour(nodes: int, kinds: int) -> None:
    """A month of 730 hours ends on the 31st at 10:00, and its slot has a rented node."""
    there = Limits(stock_nodes=nodes)
    month = offer("1", kind=PriceKind.RESERVED, term_months=1)
    offers = [one.model_copy(update={"limits": there}) for one in (RENTED, month)]
    file = workloads(services=[service_entry(1, 1)], slot="24 h", days=32)
    of = case(file, offers, serving=[serving(RENTED, [1.0])])
    assert len({one.price_kind for one in _planned(of)}) == kinds


def test_blocks_of_one_node_do_not_overlap_inside_a_slot() -> None:
    """One from 0 to 30 h and one from 24 to 54 h, of which slots of 12 h use 24 h each."""
    block = _block("2", 30).model_copy(update={"limits": Limits(max_nodes=1)})
    entry = run_entry(
        48 * 3600, window={"earliest": "2026-12-01", "deadline": "2026-12-04"}, restartable=True
    )
    file = workloads(training=[entry], slot="12 h", days=3)
    dear = offer("100")
    of = case(file, [dear, block], training=[training(dear)])
    assert len([one for one in _planned(of) if one.block is not None]) == 1


def _planned(of: Case) -> tuple[Purchase, ...]:
    """Solve whole and step by step, and have both plans checked."""
    whole, stepwise = both_ways(of)
    assert whole.status is Status.OPTIMAL
    return stepwise.purchases


def _block(usd: str, *lengths_h: int, **more: object) -> Offer:
    block = Block.model_validate({"lengths_h": lengths_h} | more)
    return offer(usd, kind=PriceKind.CAPACITY_BLOCK).model_copy(update={"block": block})
