"""Budgets by month of the calendar: what falls due in each, by hand, by enumeration, by the bill.

A node is one replica here and carries 1 request/s; `acme` rents at 1 USD an hour, `bolt` at 3. A
day of three slots begins at 16:00 on the last of November: 8 hours are November's, 16 December's.
"""

from collections import defaultdict
from collections.abc import Iterator

import pytest
from both_ways import (
    both_ways,
    broken_without,
    cost_what_enumeration_finds,
    exact_optimum,
    exact_usd,
)
from changed_cases import with_workloads
from priced_out import penalties_held, same_bound
from pydantic import ValidationError
from random_cases import month_case, random_case
from savings_cases import rate, two_thirds
from solving import assembled, least_usd, program_of, same_cost, solved
from tiny_cases import case, offer, run_entry, served_case, service_entry, training, workloads
from wide_cases import wide_case

from broker.domain.case import Case
from broker.domain.offer import Block, Offer, PriceKind
from broker.domain.plan import Plan, Status, Term
from broker.exports.charges import charges
from broker.verification.check import check
from broker.verification.facts import gather
from broker.verification.months import due_by_month
from solver.milp.build import build_sets
from solver.milp.dump import lines
from solver.milp.sets import has_hopeless_workload

ACME, BOLT = offer("1", provider="acme"), offer("3", provider="bolt")
_DAY = {"start": "2026-11-30T16:00:00Z", "days": 1, "slot": "8 h"}
_BUDGETS: list[dict[str, object]] = [
    {"usd_per_calendar_month": 150},
    {"usd_per_calendar_month": 90, "over_usd_per_usd": 0.5},
    {"provider": "acme", "usd_per_calendar_month": 60},
    {"provider": "zeta", "usd_per_calendar_month": 40, "over_usd_per_usd": 2},
    {"team": "us", "usd_per_calendar_month": 70},
    {"team": "us", "usd_per_calendar_month": 50, "over_usd_per_usd": 0.7},
    {"workload": "chat", "usd_per_calendar_month": 60, "over_usd_per_usd": 0.3},
]
MANY = [*range(1, 13), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(13, 60))]


def test_a_month_has_its_whole_budget_however_little_of_it_is_planned() -> None:
    """24 USD are three acme nodes for November's 8 hours, and one for December's 16."""
    assert exact_usd(_replicas(5, {"provider": "acme", "usd_per_calendar_month": 24})) == 24 * 13
    november = {"start": "2026-11-30", "days": 1, "slot": "8 h"}
    of = _replicas(5, {"provider": "acme", "usd_per_calendar_month": 24}, horizon=november)
    assert exact_usd(of) == 24 * (1 + 4 * 3)
    of = _replicas(5, {"provider": "acme", "usd_per_calendar_month": 72}, horizon=november)
    assert exact_usd(of) == 24 * (3 + 2 * 3)


def test_an_upfront_part_is_due_whole_when_the_commitment_begins() -> None:
    """At 0.5 an hour and 73 upfront, 77 USD are due in November and 8 in December."""
    month = offer("0.5", kind=PriceKind.RESERVED, term_months=1, upfront_usd="73")
    for usd, cost in ((77, 0.6 * 24), (76.9, 24)):
        of = _replicas(1, {"usd_per_calendar_month": usd}, offers=[ACME, month])
        assert float(exact_optimum(of).total_usd) == pytest.approx(cost)


@pytest.mark.parametrize("usd", [48, 47.9])
def test_a_block_is_due_whole_in_the_month_in_which_it_begins(usd: float) -> None:
    """20 h of work from December on: a block of 24 h at 2 from the 1st, or 24 h at 3 rented."""
    rented = offer("3")
    terms = Block(lengths_h=(24,), starts_at=None, book_ahead_days=None)
    sold = offer("2", kind=PriceKind.CAPACITY_BLOCK).model_copy(update={"block": terms})
    window = {"earliest": "2026-12-01", "deadline": "2026-12-02"}
    file = workloads(
        training=[run_entry(20 * 3600, window=window)],
        horizon={"start": "2026-11-30", "days": 2, "slot": "8 h"},
        policy={"budgets": [{"usd_per_calendar_month": usd}]},
    )
    of = case(file, [rented, sold], training=[training(rented)])
    found = solved(of)
    if usd < 48:
        assert found.status is Status.INFEASIBLE
    else:
        assert [(one.term, one.usd) for one in found.cost_lines] == [(Term.CAPACITY_BLOCK, 48)]
        assert check(assembled(of, found), of) == ()


def test_a_promise_is_due_by_the_hour_and_what_it_covers_is_not() -> None:
    """4 USD an hour are promised: 32 in November, 64 in December, for nodes of 160 in all."""
    for usd, cost in ((64, 96), (63.9, None)):
        changes = {"horizon": _DAY, "policy.budgets": [{"usd_per_calendar_month": usd}]}
        found = solved(with_workloads(two_thirds(rate("2")), changes))
        assert (found.status is Status.OPTIMAL) == (cost is not None)
        assert cost is None or found.total_usd == cost


def test_what_is_promised_upfront_is_due_in_the_first_month() -> None:
    """Half of 4 USD for 8,760 hours is due at once, and 2 an hour from then on."""
    half = rate("1", upfront_usd="8760")
    due = 4 * 8760 / 2 + 2 * 8
    for usd, terms in ((due, {Term.SAVINGS_PLAN, Term.UPFRONT}), (due - 1, {Term.ON_DEMAND})):
        changes = {"horizon": _DAY, "policy.budgets": [{"usd_per_calendar_month": usd}]}
        of = with_workloads(two_thirds(half), changes)
        found = solved(of)
        assert terms <= {line.term for line in found.cost_lines}
        assert check(assembled(of, found), of) == ()


def test_a_run_waits_for_the_month_that_has_money_for_it() -> None:
    """Its data costs 3 in November, where its window begins; 8 h of a node at 1 are too much."""
    budget = {"team": "us", "usd_per_calendar_month": 10}
    (run,) = exact_optimum(_with_run(budget, egress_usd="3")).training
    assert [step.from_at.month for step in run.steps] == [12]
    tight = _with_run({"team": "us", "usd_per_calendar_month": 7.9}, egress_usd="3")
    assert solved(tight).status is Status.INFEASIBLE


def test_a_soft_budget_counts_what_is_over_in_each_month() -> None:
    """Five replicas: 40 USD in November and 80 in December, of which 10 and 50 are over."""
    of = _replicas(5, {"usd_per_calendar_month": 30, "over_usd_per_usd": 0.5}, offers=[ACME])
    found = exact_optimum(of)
    over = [line for line in found.cost_lines if line.term is Term.OVER_BUDGET]
    assert [(line.subject, float(line.usd)) for line in over] == [("policy.budgets[0]", 30.0)]
    assert float(found.total_usd) == 120 + 30


def test_rows_of_month_budgets() -> None:
    of = _with_run(
        {"provider": "acme", "usd_per_calendar_month": 60, "over_usd_per_usd": 2},
        {"workload": "tune", "usd_per_calendar_month": 50},
        egress_usd="7.5",
    )
    december = "+8 on_demand_nodes[0,1] +8 on_demand_nodes[0,2]"
    assert list(lines(program_of(of), "month_budgets")) == [
        "month_budgets[0,0]: +8 on_demand_nodes[0,0] -1 over_usd[0,0] <= 60",
        f"month_budgets[0,1]: {december} -1 over_usd[0,1] <= 60",
        "month_budgets[1,0]: +8 gang_up[0,0] +7.5 option_used[0] <= 50",
        "month_budgets[1,1]: +8 gang_up[0,1] +8 gang_up[0,2] <= 50",
    ]
    assert list(lines(program_of(of), "budgets")) == []


@pytest.mark.parametrize(
    "budget",
    [
        {"usd_per_calendar_month": 200},
        {"provider": "acme", "usd_per_calendar_month": 60},
        {"workload": "chat", "usd_per_calendar_month": 200},
    ],
    ids=str,
)
def test_a_plan_that_is_over_a_months_budget_is_refused(budget: dict[str, object]) -> None:
    """Without the rows six replicas are all acme's, or where acme is sold out, bolt's."""
    of = _replicas(6, budget, offers=[ACME, BOLT] if "provider" in budget else [BOLT])
    found = [one for one in broken_without("month_budgets", of) if one.rule == "month_budgets"]
    assert [one.subject for one in found] == ["policy.budgets[0]"]
    assert "fall due in 2026-12; " in found[0].message


def test_a_plan_that_hides_what_is_over_a_month_is_refused() -> None:
    of = _replicas(5, {"usd_per_calendar_month": 30, "over_usd_per_usd": 0.5}, offers=[ACME])
    plan = assembled(of, solved(of))
    billed = tuple(line for line in plan.cost_lines if line.term is not Term.OVER_BUDGET)
    usd = sum(line.usd for line in billed)
    hidden = plan.model_copy(update={"cost_lines": billed, "total_usd": usd, "bound_usd": usd})
    messages = [one.message for one in check(hidden, of) if one.rule == "cost_lines"]
    assert messages == ["the over_budget line is missing; it is due 30.000000"]


def test_a_slot_that_crosses_the_months_end_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"budgets\[0\].usd_per_calendar_month: a slot of 1 "):
        _replicas(
            1,
            {"usd_per_calendar_month": 30},
            horizon={"start": "2026-11-30T16:00:00Z", "days": 1, "slot": "24 h"},
        )


@pytest.mark.parametrize("seed", MANY)
def test_budgets_by_month_cost_what_enumeration_finds(seed: int) -> None:
    cost_what_enumeration_finds(month_case(seed), most_committed=4)


def test_budgets_by_month_bind_in_many_random_cases() -> None:
    free = [with_workloads(month_case(seed), {"policy.budgets": []}) for seed in range(1, 13)]
    bound = [least_usd(month_case(seed)) for seed in range(1, 13)]
    dearer = [not same_cost(usd, least_usd(one)) for usd, one in zip(bound, free, strict=True)]
    assert sum(dearer) > 5


def test_what_is_due_is_what_the_bill_of_the_plan_says() -> None:
    """Rent, fees and upfront parts month by month, as the charges of the plan's exports are."""
    held = 0
    for seed in range(24):
        of = with_workloads(month_case(seed), {"policy.budgets": [{"usd_per_calendar_month": 1e6}]})
        found = solved(of)
        if found.status is Status.INFEASIBLE:
            continue
        plan = assembled(of, found)
        due = due_by_month(
            gather(plan, of, snapshot=None, workloads_sha256=None), of.workloads.policy.budgets[0]
        )
        nodes, data = _billed(plan)
        assert float(sum(due.values())) == pytest.approx(sum(nodes.values()) + data, abs=1e-4)
        if not data:
            assert {month: float(usd) for month, usd in due.items()} == pytest.approx(
                {month: nodes[month] for month in due}, abs=1e-4
            )
            held += 1
    assert held > 5


@pytest.mark.usefixtures("start_with_one_of_each")
def test_pricing_out_gives_the_bound_of_the_whole_relaxed_program() -> None:
    held = 0
    for of in _many_machines(range(24)):
        sets = build_sets(of)
        held += not has_hopeless_workload(sets) and same_bound(sets) is not None
    assert held > 8


def test_a_plan_with_a_kind_or_option_costs_its_penalty_more_than_the_bound() -> None:
    assert sum(penalties_held(build_sets(of)) for of in _many_machines(range(10))) > 15


@pytest.mark.parametrize(
    "seeds", [range(4), pytest.param(range(20, 60), marks=pytest.mark.long)], ids=["few", "many"]
)
def test_step_by_step_costs_what_the_whole_program_does(seeds: range) -> None:
    for of in _many_machines(seeds):
        both_ways(of)


def _billed(plan: Plan) -> tuple[dict[tuple[int, int], float], float]:
    """Add up what is billed for nodes, month by month, and for data."""
    nodes: dict[tuple[int, int], float] = defaultdict(float)
    data = 0.0
    for charge in charges(plan):
        if charge.line is None:
            data += float(charge.billed_usd)
        else:
            nodes[charge.from_at.year, charge.from_at.month] += float(charge.billed_usd)
    return nodes, data


def _many_machines(seeds: range) -> Iterator[Case]:
    """Draw cases with many machines that cross the end of a month, each with two budgets."""
    for seed in seeds:
        is_wide = seed % 3 == 0
        drawn = wide_case(seed) if is_wide else random_case(seed, machines=(4,))
        services, runs = drawn.workloads.services, drawn.workloads.training
        given = [_BUDGETS[seed % len(_BUDGETS)], _BUDGETS[(seed * 3 + 2) % len(_BUDGETS)]]
        changes: dict[str, object] = {"policy.max_groups": 1}
        changes |= {f"services.{at}.team": "us" for at in range(len(services))}
        changes |= {f"training.{at}.team": "us" for at in range(len(runs))}
        changes["policy.budgets"] = [one for one in given if services or "workload" not in one]
        moved = with_workloads(drawn, changes)
        start = "2026-11-29T00:00:00Z" if is_wide else _DAY["start"]
        horizon: dict[str, object] = {"horizon.start": start}
        window = {"earliest": "2026-11-29", "deadline": "2026-12-03"}
        horizon |= {f"training.{at}.window": window for at in range(len(runs))}
        yield with_workloads(moved, horizon)


def _replicas(
    count: int,
    *budgets: dict[str, object],
    offers: list[Offer] | None = None,
    horizon: dict[str, object] | None = None,
) -> Case:
    rules = {"budgets": list(budgets)}
    entry = service_entry(count, count)
    return served_case(offers or [ACME, BOLT], entry, policy=rules, horizon=horizon or _DAY)


def _with_run(*budgets: dict[str, object], egress_usd: str) -> Case:
    """A run of 8 hours, of team us, on nodes of 1 USD an hour."""
    window = {"earliest": "2026-11-30", "deadline": "2026-12-02"}
    file = workloads(
        training=[run_entry(8 * 3600, team="us", window=window)],
        horizon=_DAY,
        policy={"budgets": list(budgets)},
    )
    return case(file, [ACME], training=[training(ACME, egress_usd=egress_usd)])
