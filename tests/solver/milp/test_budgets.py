"""Budgets of parts of a plan: rows and costs worked out by hand, and pricing that knows of them.

A node is one replica here and carries 1 request/s; `acme` rents at 1 USD an hour, `bolt` at 3. A
day has three slots of 8 hours.
"""

from collections.abc import Iterator
from decimal import Decimal

import numpy as np
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
from random_cases import budget_case, random_case
from savings_cases import rate, two_thirds
from solving import (
    assembled,
    least_usd,
    program_of,
    same_cost,
    solved,
)
from tiny_cases import (
    case,
    offer,
    run_entry,
    served_case,
    service_entry,
    serving,
    training,
    workloads,
)
from wide_cases import wide_case

from broker.domain.budget import Budget
from broker.domain.case import Case
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Status, Term
from broker.verification.check import check
from solver.milp.build import build_sets
from solver.milp.dump import lines, term_lines
from solver.milp.sets import has_hopeless_workload

ACME = offer("1", provider="acme")
BOLT = offer("3", provider="bolt")
_HOURS = 24
_BUDGETS: list[dict[str, object]] = [
    {"usd_per_hour": 6},
    {"usd_per_hour": 9, "over_usd_per_usd": 0.5},
    {"provider": "acme", "usd_per_hour": 4},
    {"provider": "zeta", "usd": 60},
    {"provider": "acme", "usd": 150, "over_usd_per_usd": 2},
    {"workload": "chat", "usd": 100, "over_usd_per_usd": 0.3},
    {"workload": "chat", "usd_per_hour": 5},
    {"team": "us", "usd": 120},
    {"team": "us", "usd_per_month": 900, "over_usd_per_usd": 1},
    {"team": "us", "usd_per_hour": 7, "over_usd_per_usd": 0.7},
]


def test_a_provider_has_no_more_than_its_budget_an_hour() -> None:
    """Of five replicas three are acme's for 3 USD an hour, and two bolt's."""
    assert (
        exact_usd(_replicas(5, {"provider": "Acme", "usd_per_hour": 3.5})) == (3 + 2 * 3) * _HOURS
    )


def test_a_providers_budget_for_the_horizon_is_spent_where_it_saves_most() -> None:
    """50 USD are 6 slots of 8 hours of an acme node: of 9 node-slots, 3 are bolt's."""
    of = _replicas(3, {"provider": "acme", "usd": 50})
    assert exact_usd(of) == 6 * 8 * 1 + 3 * 8 * 3


def test_a_month_is_scaled_to_the_horizon() -> None:
    """1,460 USD a month are 2 an hour, 48 a day."""
    of = _replicas(3, {"provider": "acme", "usd_per_month": 1460})
    assert exact_usd(of) == 6 * 8 * 1 + 3 * 8 * 3


def test_a_soft_budget_is_exceeded_where_that_costs_less() -> None:
    """A dollar more with acme saves two with bolt: it pays at 1.5 for a dollar over, not at 2.5."""
    soft = {"provider": "acme", "usd_per_hour": 3, "over_usd_per_usd": 1.5}
    cheap = exact_optimum(_replicas(5, soft))
    assert float(cheap.total_usd) == (5 + 2 * 1.5) * _HOURS
    over = [line for line in cheap.cost_lines if line.term is Term.OVER_BUDGET]
    assert [(line.subject, float(line.usd)) for line in over] == [("policy.budgets[0]", 72.0)]
    assert exact_usd(_replicas(5, {**soft, "over_usd_per_usd": 2.5})) == (3 + 2 * 3) * _HOURS


def test_a_slot_inside_which_a_term_ends_has_its_part_of_the_price_an_hour() -> None:
    """Two nodes of a month cost 2 USD an hour for 30 days, and for 10 of the next 24 hours.

    Two rented ones cost 6 an hour in that day, too, and in the last one: 1748 USD in all.
    """
    month = offer("1", provider="acme", kind=PriceKind.RESERVED, term_months=1)
    of = {"offers": [offer("3"), month], "days": 32, "slot": "24 h"}
    soft = {"usd_per_hour": 1.5, "over_usd_per_usd": 0.1}
    over_usd = 0.5 * 30 * 24 + (4.5 + 2 * 10 / 24) * 24 + 4.5 * 24
    assert exact_usd(_replicas(2, soft, **of)) == pytest.approx(1748 + 0.1 * over_usd)
    assert exact_usd(_replicas(2, {"usd_per_hour": 6.9}, **of)) == 1748
    one_month = 730 + 3 * (2 * 24 + 32 * 24)
    assert exact_usd(_replicas(2, {"usd_per_hour": 6.5}, **of)) == one_month


@pytest.mark.parametrize("part", [{}, {"provider": "acme"}], ids=str)
def test_what_a_savings_plan_covers_is_paid_for_by_its_promise(part: dict[str, object]) -> None:
    """Two nodes for 16 h and one for 8 are 160 USD rented; half as dear, 4 an hour are promised."""

    def within(amount: dict[str, object]) -> Case:
        return with_workloads(two_thirds(rate("2")), {"policy.budgets": [{**part, **amount}]})

    assert exact_usd(within({"usd": 96})) == exact_usd(within({"usd_per_hour": 4})) == 96
    for amount in ({"usd": 95.9}, {"usd_per_hour": 3.9}):
        assert solved(within(amount)).status is Status.INFEASIBLE
    assert exact_usd(within({"usd": 80, "over_usd_per_usd": 0.5})) == 96 + 8
    assert exact_usd(within({"usd_per_hour": 3, "over_usd_per_usd": 0.5})) == 96 + 12


def test_the_price_of_a_soft_budget_is_not_paid_from_the_hard_one() -> None:
    """5 USD an hour are spent and 2 more counted: 5 are enough, 4.9 are not."""
    soft = {"usd_per_hour": 3, "over_usd_per_usd": 1}
    enough = _replicas(5, soft, {"usd_per_hour": 5}, {"usd": 120}, policy=_monthly(5))
    assert exact_usd(enough) == (5 + 2) * _HOURS
    for hard, policy in (({"usd_per_hour": 4.9}, {}), ({"usd": 119}, {}), (None, _monthly(4.9))):
        budgets = [one for one in (soft, hard) if one is not None]
        assert solved(_replicas(5, *budgets, policy=policy)).status is Status.INFEASIBLE


def test_a_workload_is_charged_at_list_prices_whatever_its_nodes_are_paid() -> None:
    """Committed at 0.5, five replicas cost 2.5 an hour; at list, acme's take 5 and bolt's 15."""
    committed = offer("0.5", provider="acme", kind=PriceKind.RESERVED, term_months=1)
    more = {"offers": [ACME, BOLT, committed], "days": 28, "slot": "24 h"}
    assert exact_usd(_replicas(5, {"workload": "chat", "usd_per_hour": 5}, **more)) == 2.5 * 28 * 24
    below = _replicas(5, {"workload": "chat", "usd_per_hour": 4.9}, **more)
    assert solved(below).status is Status.INFEASIBLE


def test_where_a_machine_is_not_rented_its_dearest_commitment_is_its_list_price() -> None:
    month = offer("0.5", kind=PriceKind.RESERVED, term_months=1)
    year = offer("0.2", kind=PriceKind.RESERVED, term_months=12, upfront_usd="876")
    more = {"offers": [month, year], "days": 28, "slot": "24 h"}
    assert (
        exact_usd(_replicas(5, {"workload": "chat", "usd_per_hour": 2.5}, **more)) < 2.5 * 28 * 24
    )
    below = _replicas(5, {"workload": "chat", "usd_per_hour": 2.4}, **more)
    assert solved(below).status is Status.INFEASIBLE


def test_a_team_pays_for_its_services_its_runs_and_their_data() -> None:
    """The run takes 16 h of a node of 1 USD and 7.5 for its data; the replica takes 24."""
    limits = (47.5, 47.4)
    statuses = [solved(_with_run({"team": "us", "usd": usd})).status for usd in limits]
    assert statuses == [Status.OPTIMAL, Status.INFEASIBLE]
    alone = [solved(_with_run({"workload": "tune", "usd": usd})).status for usd in (23.5, 23.4)]
    assert alone == [Status.OPTIMAL, Status.INFEASIBLE]
    other = {"team": "eu", "usd": 24}
    assert solved(_with_run(other, run_team="us", chat_team="eu")).status is Status.OPTIMAL


def test_a_budget_an_hour_may_ask_for_a_run_that_takes_longer() -> None:
    """Fast nodes do the work in 8 h at 5 USD an hour, slow ones in 24 h at 3: dearer in all."""
    fast, slow = offer("5", name="fast"), offer("3", name="slow")
    file = workloads(training=[run_entry(8 * 3600 * 3)], policy={"budgets": [{"usd_per_hour": 4}]})
    runs = [training(fast, tokens_per_s=3), training(slow, tokens_per_s=1)]
    assert exact_usd(case(file, [fast, slow], training=runs)) == 3 * _HOURS


def test_rows_of_budgets() -> None:
    of = _with_run(
        {"usd_per_hour": 6},
        {"provider": "acme", "usd": 60, "over_usd_per_usd": 2},
        {"workload": "tune", "usd": 50},
        slot="24 h",
        days=2,
    )
    assert list(lines(program_of(of), "budgets")) == [
        "budgets[0,0]: +1 on_demand_nodes[0,0] <= 6",
        "budgets[0,1]: +1 on_demand_nodes[0,1] <= 6",
        "budgets[1,0]: +24 on_demand_nodes[0,0] +24 on_demand_nodes[0,1] -1 over_usd[0,0] <= 60",
        "budgets[2,0]: +24 gang_up[0,0] +24 gang_up[0,1] +7.5 option_used[0] <= 50",
    ]
    assert list(term_lines(program_of(of), "over_budget")) == [
        "over_budget: +2 over_usd[0,0]",
        "over_budget: +2 over_usd[0,1]",
    ]


@pytest.mark.parametrize(
    "budget",
    [
        {"usd_per_hour": 9},
        {"usd": 200},
        {"provider": "acme", "usd_per_hour": 3},
        {"provider": "acme", "usd_per_month": 1460},
        {"workload": "chat", "usd": 200},
        {"workload": "chat", "usd_per_hour": 10},
    ],
    ids=str,
)
def test_a_plan_that_is_over_a_budget_is_refused(budget: dict[str, object]) -> None:
    """Without the rows six replicas are all acme's, or where acme is sold out, bolt's."""
    offers = [ACME, BOLT] if "provider" in budget else [BOLT]
    of = _replicas(6, budget, offers=offers)
    assert "budgets" in {one.rule for one in broken_without("budgets", of)}


def test_a_plan_that_hides_what_is_over_a_soft_budget_is_refused() -> None:
    of = _replicas(5, {"usd": 100, "over_usd_per_usd": 0.5})
    plan = assembled(of, solved(of))
    assert check(plan, of) == ()
    billed = tuple(line for line in plan.cost_lines if line.term is not Term.OVER_BUDGET)
    usd = sum(line.usd for line in billed)
    hidden = plan.model_copy(update={"cost_lines": billed, "total_usd": usd, "bound_usd": usd})
    messages = [one.message for one in check(hidden, of) if one.rule == "cost_lines"]
    assert messages == ["the over_budget line is missing; it is due 10.000000"]


@pytest.mark.parametrize(
    "seed", [*range(2, 14), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(14, 60))]
)
def test_budgets_cost_what_enumeration_finds(seed: int) -> None:
    cost_what_enumeration_finds(budget_case(seed), most_committed=3)


def test_budgets_bind_in_many_random_cases() -> None:
    free = [with_workloads(budget_case(seed), {"policy.budgets": []}) for seed in range(16)]
    bound = [least_usd(budget_case(seed)) for seed in range(16)]
    dearer = [not same_cost(usd, least_usd(one)) for usd, one in zip(bound, free, strict=True)]
    assert sum(dearer) > 6


@pytest.mark.usefixtures("start_with_one_of_each")
def test_pricing_out_gives_the_bound_of_the_whole_relaxed_program() -> None:
    binding = 0
    for of in _many_machines(range(40)):
        sets = build_sets(of)
        if has_hopeless_workload(sets):
            continue
        if both := same_bound(sets):
            _, whole, program = both
            rows = sum(len(one.keys) for one in program.families if one.family != "budgets")
            binding += bool(np.abs(whole.row_usd[rows:]).max(initial=0.0) > 1e-6)
    assert binding > 5


def test_a_plan_with_a_kind_or_option_costs_its_penalty_more_than_the_bound() -> None:
    held = [penalties_held(build_sets(of)) for of in _many_machines(range(12))]
    assert sum(held) > 20


@pytest.mark.parametrize(
    "seeds", [range(6), pytest.param(range(6, 60), marks=pytest.mark.long)], ids=["few", "many"]
)
def test_step_by_step_costs_what_the_whole_program_does(seeds: range) -> None:
    for of in _many_machines(seeds):
        both_ways(of)


def _many_machines(seeds: range) -> Iterator[Case]:
    """Draw cases with many machines, and give each two budgets in turn."""
    for seed in seeds:
        drawn = (
            wide_case(seed)
            if seed % 3 == 0
            else random_case(seed, machines=(4, 6), providers=("acme", "zeta"))
        )
        services, runs = drawn.workloads.services, drawn.workloads.training
        given = [_BUDGETS[seed % len(_BUDGETS)], _BUDGETS[(seed * 7 + 3) % len(_BUDGETS)]]
        changes: dict[str, object] = {"policy.max_groups": 1}
        changes |= {f"services.{at}.team": "us" for at in range(len(services))}
        changes |= {f"training.{at}.team": "us" for at in range(len(runs))}
        changes["policy.budgets"] = [one for one in given if services or "workload" not in one]
        yield with_workloads(drawn, changes)


def _monthly(usd_per_hour: float) -> dict[str, object]:
    return {"budget_usd_per_month": usd_per_hour * 730}


def _replicas(
    count: int,
    *budgets: dict[str, object],
    offers: list[Offer] | None = None,
    policy: dict[str, object] | None = None,
    **more: object,
) -> Case:
    rules = {"budgets": list(budgets), **(policy or {})}
    return served_case(offers or [ACME, BOLT], service_entry(count, count), policy=rules, **more)


def _with_run(
    *budgets: dict[str, object], run_team: str = "us", chat_team: str = "us", **more: object
) -> Case:
    run = run_entry(
        16 * 3600, team=run_team, window={"earliest": "2026-12-01", "deadline": "2026-12-03"}
    )
    file = workloads(
        services=[service_entry(1, 1, team=chat_team)],
        training=[run],
        policy={"budgets": list(budgets)},
        **more,
    )
    runs = [training(ACME, egress_usd="7.5")]
    return case(file, [ACME], serving=[serving(ACME, [1.0])], training=runs)


def test_a_day_of_a_batch_job_is_the_work_of_the_job() -> None:
    budget = Budget(workload="embeddings", usd=Decimal(1))
    assert budget.covers("embeddings@2026-12-01", None)
    assert not budget.covers("embeddings-2", None)
