"""Surcharges: plans cost what enumeration finds at the prices that are paid."""

from decimal import Decimal

import pytest
from changed_cases import with_workloads
from oracle import INFEASIBLE, Tiny, cheapest_usd
from solving import EXACT, assembled, program_of, solved
from surcharge_cases import as_if_dearer, surcharge_case
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case
from broker.domain.offer import Block, PriceKind
from broker.domain.plan import Status, Term
from broker.domain.workload import Workloads
from broker.verification.check import check
from solver.milp.dump import term_lines
from solver.milp.forced import forced_optimum
from solver.milp.optimize import optimize, relaxed_bound_usd

SEEDS = range(60)
ACME, BOLT = offer("2", provider="acme"), offer("3", provider="bolt")
YEAR = offer("0.5", kind=PriceKind.RESERVED, term_months=12, upfront_usd="876")
"""0.1 USD an hour of it are paid upfront."""


@pytest.mark.parametrize("seed", SEEDS)
def test_plans_cost_what_enumeration_finds_at_paid_prices(seed: int) -> None:
    of = surcharge_case(seed)
    expected = cheapest_usd(Tiny(as_if_dearer(of), most_committed=4))
    for found in (solved(of), optimize(of, EXACT)):
        if expected == INFEASIBLE:
            assert found.status is Status.INFEASIBLE
            continue
        assert float(found.total_usd) == pytest.approx(expected, rel=1e-5, abs=1e-4)
        assert check(assembled(of, found), of) == ()
        assert relaxed_bound_usd(of) <= expected * (1 + 1e-6)


@pytest.mark.long
def test_some_surcharges_change_what_is_bought() -> None:
    drawn = [surcharge_case(seed) for seed in SEEDS]
    paid = [optimize(of, EXACT) for of in drawn]
    free = [optimize(with_workloads(of, {"policy.surcharges": []}), EXACT) for of in drawn]
    others = [
        {one.id for one in dear.purchases} != {one.id for one in cheap.purchases}
        for dear, cheap in zip(paid, free, strict=True)
    ]
    terms = [{line.term for line in one.cost_lines} for one in paid]
    assert sum(others) > 3
    assert sum({Term.SURCHARGE, Term.UPFRONT} <= one for one in terms) > 3


def test_the_dearer_provider_is_taken_where_the_other_asks_for_more_beside_its_price() -> None:
    assert _bought(_two_providers("0.4")) == {ACME.key: Decimal("67.2")}
    assert _bought(_two_providers("0.6")) == {BOLT.key: Decimal(72)}


def test_a_surcharge_is_a_line_of_its_own_beside_the_price_of_the_offer() -> None:
    """A day at 2 USD, and 0.4 of that."""
    found = optimize(_two_providers("0.4"), EXACT)
    assert [(one.term, one.subject, one.usd) for one in found.cost_lines] == [
        (Term.ON_DEMAND, ACME.key, Decimal(48)),
        (Term.SURCHARGE, ACME.key, Decimal("19.2")),
    ]


def test_commitments_pay_it_on_both_parts_of_their_price() -> None:
    """A day of 0.5 by the hour and 0.1 upfront, a tenth more; 876 upfront are 963.6."""
    of = _with(case(_file(), [offer("2"), YEAR], serving=[serving(ACME, [1])]), "0.1")
    found = optimize(of, EXACT)
    assert {one.term: one.usd for one in found.cost_lines} == {
        Term.COMMITMENT_HOURS: Decimal(12),
        Term.UPFRONT: Decimal("2.4"),
        Term.SURCHARGE: Decimal("1.44"),
    }
    (year,) = found.purchases
    assert (year.usd, year.upfront_usd) == (Decimal("15.84"), Decimal("963.6"))
    assert check(assembled(of, found), of) == ()


def test_cash_due_in_advance_and_budgets_count_it() -> None:
    of = _with(case(_file(), [offer("2"), YEAR], serving=[serving(ACME, [1])]), "0.1")
    capped = with_workloads(of, {"policy.commitments.max_upfront_usd": "963.5"})
    assert _bought(capped) == {offer("2").key: Decimal("52.8")}
    least = Decimal("52.8") * 730 / 24
    for usd, status in ((least, Status.OPTIMAL), (least - 1, Status.INFEASIBLE)):
        budget = {"policy.budget_usd_per_month": str(usd)}
        assert optimize(with_workloads(capped, budget), EXACT).status is status


def test_a_capacity_block_pays_it_for_its_whole_window() -> None:
    block = offer("1", kind=PriceKind.CAPACITY_BLOCK)
    block = block.model_copy(update={"block": Block(lengths_h=(24,))})
    of = _with(case(_file(), [offer("2"), block], serving=[serving(ACME, [1])]), "0.5")
    found = optimize(of, EXACT)
    assert {one.term: one.usd for one in found.cost_lines} == {
        Term.CAPACITY_BLOCK: Decimal(24),
        Term.SURCHARGE: Decimal(12),
    }
    assert check(assembled(of, found), of) == ()


def test_owned_nodes_have_none() -> None:
    of = case(_file(), [ACME], serving=[serving(ACME, [1])], owned=[(ACME, 1)])
    assert optimize(_with(of, "0.5"), EXACT).cost_lines == ()


def test_an_offer_that_is_forced_is_charged_with_it() -> None:
    of = _two_providers("0.6")
    assert forced_optimum(of, ACME.key, EXACT).total_usd == Decimal("76.8")


def test_the_program_charges_what_is_paid() -> None:
    """24 hours at 2.8 and at 3."""
    assert term_lines(program_of(_two_providers("0.4")), "on_demand") == [
        "on_demand: +67.2 on_demand_nodes[0,0]",
        "on_demand: +72 on_demand_nodes[1,0]",
    ]


def test_a_plan_that_leaves_it_out_or_changes_it_is_refused() -> None:
    of = _two_providers("0.4")
    free = with_workloads(of, {"policy.surcharges": []})
    plan = assembled(of, optimize(free, EXACT))
    assert {one.rule for one in check(plan, of)} == {"cost_lines", "purchase_cost"}
    dearer = _two_providers("0.5")
    plan = assembled(dearer, optimize(of, EXACT))
    assert {one.rule for one in check(plan, dearer)} == {"cost_lines", "purchase_cost"}


def _file() -> Workloads:
    return workloads(services=[service_entry(1, 1)])


def _two_providers(rate: str) -> Case:
    of = case(_file(), [ACME, BOLT], serving=[serving(one, [1]) for one in (ACME, BOLT)])
    return _with(of, rate)


def _with(of: Case, rate: str) -> Case:
    return with_workloads(of, {"policy.surcharges": [{"rate": rate, "providers": ["acme"]}]})


def _bought(of: Case) -> dict[str, Decimal]:
    return {one.id: one.usd for one in optimize(of, EXACT).purchases}
