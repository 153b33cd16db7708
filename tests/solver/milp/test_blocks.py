"""Capacity blocks: which windows a plan may book, what they cost, what a plan does with them.

A node of `box` costs 4 USD an hour on demand, and 2 in a block. The horizon begins on 2026-12-01.
"""

import random
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from both_ways import both_ways, broken_without
from solving import EXACT, assembled, program_of
from tiny_cases import START, case, offer, run_entry, service_entry, serving, training, workloads
from wide_cases import wide_case

from broker.domain.case import Case
from broker.domain.offer import Block, Limits, Offer, PriceKind
from broker.domain.plan import Purchase, Status, Term
from broker.verification.check import check
from solver.milp.blocks import BlockWindow, block_windows
from solver.milp.constraints import CONSTRAINTS
from solver.milp.dump import lines, term_lines
from solver.milp.forced import forced_optimum
from solver.milp.optimum import Optimum
from solver.milp.prune import prune

_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
RENTED = offer("4")


def test_a_run_is_done_in_the_shortest_block_that_holds_it() -> None:
    """20 h of work: 24 h at 2 are 48, on demand it is 20 h at 4, 80."""
    found = _planned(_run(20, _block("2", 24, 48), days=2))
    (bought,) = found.purchases
    assert _window(bought) == (START, 24)
    assert (bought.usd, bought.upfront_usd, bought.later_usd) == (48, 48, 0)
    assert (bought.node_hours, bought.breakeven_utilization) == (24, 0.5)
    assert bought.id == "acme/box/here@capacity_block-20261201T0000Z-24h"
    (line,) = found.cost_lines
    assert (line.term, line.usd) == (Term.CAPACITY_BLOCK, 48)


def test_a_block_that_ends_after_the_horizon_is_charged_whole() -> None:
    """A day is planned, and 36 h are sold at 2: 72 in all, less than 20 h at 4."""
    (bought,) = _planned(_run(20, _block("2", 36))).purchases
    assert (bought.usd, bought.node_hours) == (72, 24)
    assert bought.block is not None
    dear = _planned(_run(16, _block("2", 36)))
    assert [one.price_kind for one in dear.purchases] == [PriceKind.ON_DEMAND]


def test_a_block_serves_by_its_hours_beside_rented_nodes() -> None:
    """Two days of one replica; a block of one day is sold: 24 h at 2 for each of them."""
    of = _service(1, [RENTED, _block("2", 24)], days=2)
    found = _planned(of)
    assert [_window(one) for one in found.purchases] == [(START, 24), (START + _DAY, 24)]
    assert found.total_usd == 96


def test_a_run_and_a_service_share_a_block() -> None:
    """The service needs a node in 8 of 24 h, the run the other 16: one node at 2 for the day."""
    load = {"step": "8 h", "by_size": [[1.0, 0.0, 0.0]]}
    entry = service_entry(1, 1, traffic={"requests_per_s": load}, min_replicas=0)
    file = workloads(services=[entry], training=[run_entry(16 * 3600, restartable=True)])
    block = _block("2", 24)
    of = case(
        file,
        [RENTED, block],
        serving=[serving(RENTED, [1.0])],
        training=[training(RENTED)],
    )
    found = _planned(of)
    assert [_window(one) for one in found.purchases] == [(START, 24)]
    assert found.total_usd == 48


def test_where_sides_are_apart_a_block_is_for_one_of_them() -> None:
    """Split, the service's 8 h are rented for 32 beside a block of 48 for the run: 80."""
    load = {"step": "8 h", "by_size": [[1.0, 0.0, 0.0]]}
    entry = service_entry(1, 1, traffic={"requests_per_s": load}, min_replicas=0)
    runs = [run_entry(16 * 3600, restartable=True)]
    file = workloads(services=[entry], training=runs, policy={"sharing": "split"})
    offers = [RENTED, _block("2", 24)]
    of = case(file, offers, serving=[serving(RENTED, [1.0])], training=[training(RENTED)])
    found = _planned(of)
    assert found.total_usd == 80
    assert {one.price_kind: one.usd for one in found.purchases} == {
        PriceKind.ON_DEMAND: 32,
        PriceKind.CAPACITY_BLOCK: 48,
    }


def test_where_sides_are_apart_one_may_follow_the_other_on_blocks_that_follow() -> None:
    """The service's day and then the run's, each on a block of its own."""
    load = {"step": "24 h", "by_size": [[1.0, 0.0]]}
    entry = service_entry(1, 1, traffic={"requests_per_s": load}, min_replicas=0)
    late = {"earliest": "2026-12-02", "deadline": "2026-12-03"}
    runs = [run_entry(24 * 3600, window=late)]
    file = workloads(services=[entry], training=runs, policy={"sharing": "split"}, days=2)
    offers = [RENTED, _block("2", 24)]
    of = case(file, offers, serving=[serving(RENTED, [1.0])], training=[training(RENTED)])
    found = _planned(of)
    assert [_window(one) for one in found.purchases] == [(START, 24), (START + _DAY, 24)]


def test_where_sides_are_apart_no_node_of_a_block_changes_sides() -> None:
    """In a block of two days the service has the first and the run the second: shared, it may."""
    load = {"step": "24 h", "by_size": [[1.0, 0.0]]}
    entry = service_entry(1, 1, traffic={"requests_per_s": load}, min_replicas=0)
    late = {"earliest": "2026-12-02", "deadline": "2026-12-03"}
    runs = [run_entry(24 * 3600, window=late)]
    offers = [RENTED, _block("1.9", 48)]
    shared, apart = (
        case(
            workloads(services=[entry], training=runs, policy={"sharing": sharing}, days=2),
            offers,
            serving=[serving(RENTED, [1.0])],
            training=[training(RENTED)],
        )
        for sharing in ("converged", "split")
    )
    found = _planned(shared)
    assert [_window(one) for one in found.purchases] == [(START, 48)]
    plan = assembled(shared, found).model_copy(update={"workloads": apart.workloads})
    assert {one.rule for one in check(plan, apart)} == {"split"}


def test_a_start_that_is_sold_need_not_be_on_a_slot() -> None:
    """From 06:00 for 24 h, of slots of 8 h it holds those from 08:00: 16 h, charged for 24."""
    block = _block("2", 24, starts_at=START + 6 * _HOUR)
    of = _run(16, block, days=2)
    assert [(one.starts_at, one.length_h) for one in block_windows(of, block)] == [
        (START + 6 * _HOUR, 24)
    ]
    (bought,) = _planned(of).purchases
    assert (bought.usd, bought.node_hours) == (48, 16)
    assert bought.steps[0].from_at == START + 8 * _HOUR


def test_windows_for_services_follow_each_other_as_long_as_is_sold() -> None:
    block = _block("2", 24, 48, 120)
    of = _service(1, [RENTED, block], days=9)
    assert block_windows(of, block) == (
        BlockWindow(START, 120),
        BlockWindow(START + 5 * _DAY, 48),
        BlockWindow(START + 7 * _DAY, 48),
    )


def test_windows_for_runs_begin_on_days_of_theirs_and_hold_the_work() -> None:
    """20 h of work between the 2nd at 12:00 and the 5th: from the 2nd it takes 12 + 20 h."""
    block = _block("2", 24, 48, 120)
    window = {"earliest": "2026-12-02T12:00", "deadline": "2026-12-05"}
    of = _run(20, block, days=9, window=window)
    assert block_windows(of, block) == (
        BlockWindow(START + 1 * _DAY, 48),
        BlockWindow(START + 2 * _DAY, 24),
        BlockWindow(START + 3 * _DAY, 24),
    )


@pytest.mark.parametrize(
    ("starts_at", "ahead_days"),
    [(START - _HOUR, None), (START + _DAY, None), (START + 16 * _HOUR, 0)],
    ids=["begun already", "after the horizon", "too far ahead"],
)
def test_a_start_that_cannot_be_booked_is_no_option(
    starts_at: object, ahead_days: int | None
) -> None:
    block = _block("2", 24, starts_at=starts_at, book_ahead_days=ahead_days)
    assert block_windows(_run(8, block), block) == ()


def test_starts_are_no_later_than_may_be_booked_ahead() -> None:
    block = _block("2", 24, book_ahead_days=1)
    found = block_windows(_service(1, [RENTED, block], days=4), block)
    assert [one.starts_at for one in found] == [START, START + _DAY]


@pytest.mark.parametrize(
    "policy", [{"max_term_months": 0}, {"max_term_months": 1}], ids=["none", "a month"]
)
def test_blocks_are_no_longer_than_the_policy_commits(policy: dict[str, object]) -> None:
    block = _block("2", 731)
    of = _run(20, block, policy={"commitments": policy})
    assert block_windows(of, block) == ()


def test_a_block_on_a_machine_that_nobody_can_use_is_no_option() -> None:
    block = _block("2", 24)
    file = workloads(training=[run_entry(8 * 3600)])
    assert block_windows(case(file, [RENTED, block]), block) == ()


def test_cash_for_blocks_counts_toward_the_cap() -> None:
    block = _block("2", 24)
    cap = {"commitments": {"max_upfront_usd": 47}}
    found = _planned(_run(20, block, policy=cap))
    assert [one.price_kind for one in found.purchases] == [PriceKind.ON_DEMAND]
    assert list(lines(program_of(_run(20, block, policy=cap)), "upfront_cap")) == [
        "upfront_cap[plan]: +48 committed_nodes[0] <= 47"
    ]


def test_windows_of_one_offer_share_its_limit_where_they_overlap() -> None:
    """The start of the 1st and 2nd are both for two days; only one node may be had at a time."""
    block = _block("2", 48).model_copy(update={"limits": Limits(max_nodes=1)})
    window = {"earliest": "2026-12-01", "deadline": "2026-12-04"}
    of = _run(40, block, days=3, window=window, slot="24 h")
    assert list(lines(program_of(of), "block_limit")) == [
        f"block_limit[{block.key},1]: +1 committed_nodes[0] +1 committed_nodes[1] <= 1"
    ]
    assert list(term_lines(program_of(of), "blocks")) == [
        "blocks: +96 committed_nodes[0]",
        "blocks: +96 committed_nodes[1]",
    ]


def test_renting_for_no_more_makes_a_block_needless() -> None:
    block = _block("4", 24)
    assert block not in prune(_run(20, block)).case.offers
    assert _block("3.99", 24) in prune(_run(20, _block("3.99", 24))).case.offers
    few = RENTED.model_copy(update={"limits": Limits(max_nodes=1)})
    assert block in prune(_run(20, block, rented=few)).case.offers


def test_a_machine_that_is_sold_in_blocks_alone_is_enough() -> None:
    block = _block("2", 24)
    file = workloads(training=[run_entry(20 * 3600)])
    found = _planned(case(file, [block], training=[training(block)]))
    assert found.total_usd == 48
    assert found.purchases[0].breakeven_utilization == 1.0


def test_a_block_that_does_not_pay_can_be_asked_for() -> None:
    """24 h at 5 are 120, where renting for 20 h is 80."""
    block = _block("5", 24)
    of = _run(20, block)
    found = forced_optimum(of, block.key, EXACT)
    assert [one.price_kind for one in found.purchases] == [PriceKind.CAPACITY_BLOCK]
    assert found.total_usd == 120
    assert check(assembled(of, found), of) == ()
    never = _block("5", 24, starts_at=START - _DAY)
    assert forced_optimum(_run(20, never), never.key, EXACT).status is Status.INFEASIBLE


def test_without_its_limit_more_nodes_of_an_offer_would_be_booked_than_there_are() -> None:
    """Two runs of 40 h, each in a block of two days; one node is sold at a time."""
    block = _block("2", 48).model_copy(update={"limits": Limits(max_nodes=1)})
    window = {"earliest": "2026-12-01", "deadline": "2026-12-04"}
    entries = [run_entry(48 * 3600, name=name, window=window) for name in ("tune", "train")]
    file = workloads(training=entries, days=3, slot="24 h")
    runs = [training(RENTED, run=name) for name in ("tune", "train")]
    of = case(file, [RENTED, block], training=runs)
    assert _planned(of).total_usd == 48 * 2 + 48 * 4
    assert {one.rule for one in broken_without("block_limit", of)} == {"limits"}


@pytest.mark.parametrize(
    ("seeds", "least"),
    [((1, 2, 6, 7, 9), 5), pytest.param((3, 4, 5, 8, 10, 11, 12), 5, marks=pytest.mark.long)],
    ids=["few", "many"],
)
def test_random_cases_with_blocks_are_solved_and_accepted_and_some_book(
    seeds: tuple[int, ...], least: int
) -> None:
    booked = 0
    for seed in seeds:
        of = _with_blocks(wide_case(seed), seed)
        whole, _ = both_ways(of)
        booked += sum(one.block is not None for one in whole.purchases)
    assert booked >= least


def _with_blocks(of: Case, seed: int) -> Case:
    """Sell each machine in blocks of one and two days, too, for 0.3 to 1.1 of its price."""
    draw = random.Random(seed)  # noqa: S311 - instances, not secrets
    extra = [
        one.model_copy(
            update={
                "price_kind": PriceKind.CAPACITY_BLOCK,
                "usd_per_hour": (one.usd_per_hour * Decimal(draw.uniform(0.3, 1.1))).quantize(
                    Decimal("0.01")
                ),
                "block": Block(lengths_h=(24, 48)),
            }
        )
        for one in of.offers
        if one.price_kind is PriceKind.ON_DEMAND
    ]
    return replace(of, offers=(*of.offers, *extra))


def _planned(of: Case) -> Optimum:
    """Solve whole and step by step, and have both plans checked; give the second."""
    whole, stepwise = both_ways(of)
    assert whole.status is Status.OPTIMAL
    assert stepwise.total_usd == whole.total_usd
    return stepwise


def _window(bought: Purchase) -> tuple[object, int]:
    assert bought.block is not None
    return bought.block.starts_at, bought.block.length_h


def _block(usd: str, *lengths_h: int, **more: object) -> Offer:
    block = Block.model_validate({"lengths_h": lengths_h} | more)
    return offer(usd, kind=PriceKind.CAPACITY_BLOCK).model_copy(update={"block": block})


def _run(
    hours: int,
    block: Offer,
    *,
    rented: Offer = RENTED,
    days: int = 1,
    slot: str = "4 h",
    window: dict[str, str] | None = None,
    policy: dict[str, object] | None = None,
) -> Case:
    last = START + days * _DAY
    window = window or {"earliest": "2026-12-01", "deadline": f"{last:%Y-%m-%d}"}
    entry = run_entry(hours * 3600, window=window)
    if block.block is not None and block.block.starts_at is not None and days > 1:
        slot = "8 h"
    file = workloads(training=[entry], days=days, slot=slot, policy=policy or {})
    return case(file, [rented, block], training=[training(rented)])


def _service(count: int, offers: list[Offer], *, days: int) -> Case:
    entry = service_entry(count, count)
    file = workloads(services=[entry], days=days)
    return case(file, offers, serving=[serving(offers[0], [1.0])])


def test_every_family_that_counts_commitments_counts_blocks() -> None:
    """Of the families, those of nodes have the block's column in them where it is active."""
    block = _block("2", 24).model_copy(update={"limits": Limits(stock_nodes=3)})
    entry = {"provider": "acme", "gpus": 8}
    file = workloads(services=[service_entry(1, 1)], quotas=[entry], days=2)
    of = case(file, [RENTED, block], serving=[serving(RENTED, [1.0])])
    program = program_of(of)
    column = program.columns.committed_nodes.start
    counted = {rows.family for rows in program.families if column in rows.entries.column}
    assert {"firm_capacity", "quota", "shared_stock"} <= counted
    assert len({one.__name__ for one in CONSTRAINTS}) == len(CONSTRAINTS)
    assert Decimal(48) == sum((one.usd for one in _planned(of).purchases), Decimal(0)) / 2
