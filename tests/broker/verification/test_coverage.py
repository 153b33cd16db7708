"""Spot that is not worth it, and nodes that nobody uses, are refused."""

from dataclasses import replace

import pytest
from savings_cases import two_thirds
from solving import assembled, program_of, solution_of, solved
from tiny_cases import case as case_of
from tiny_cases import offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from broker.domain.plan import NodeStep, Plan
from broker.verification.check import Violation, check
from solver.milp.extract_plan import parts_of

BOX, SPOT = offer("4"), offer("2", kind=PriceKind.SPOT)


@pytest.mark.parametrize(("discount", "is_kept"), [(0.5, True), (0.51, False)])
def test_replicas_on_spot_are_held_to_the_discount(discount: float, *, is_kept: bool) -> None:
    file = workloads(services=[service_entry(1, 1, spot={"max_share": 1.0})])
    options = [serving(BOX, [1]), serving(BOX, [1], on_spot=True)]
    of = case_of(file, [BOX, SPOT], serving=options)
    found = _under(of, discount)
    message = "is on spot on acme/box/here at 2 USD/h; at most 1.96 is worth it"
    assert found == (() if is_kept else (Violation("spot_discount", "chat", message),))


@pytest.mark.parametrize(("discount", "is_kept"), [(0.44, True), (0.45, False)])
def test_a_run_on_spot_pays_for_its_interruptions(discount: float, *, is_kept: bool) -> None:
    """Its candidate uses nine tenths of its time."""
    file = workloads(training=[run_entry(8 * 3600, restartable=True)])
    of = case_of(file, [BOX, SPOT], training=[training(BOX, on_spot=True)])
    assert {one.rule for one in _under(of, discount)} == (set() if is_kept else {"spot_discount"})


def test_spot_without_an_on_demand_price_is_refused() -> None:
    file = workloads(training=[run_entry(8 * 3600, restartable=True)])
    of = case_of(file, [SPOT], training=[training(BOX, on_spot=True)])
    (found,) = _under(of, 0.1)
    assert found.message == "is on spot on acme/box/here, without an on-demand price to be below"


def test_a_rented_node_that_no_work_needs_is_refused() -> None:
    of = two_thirds()
    plan = assembled(of, solved(of))
    (rented,) = plan.purchases
    whole = NodeStep(from_at=rented.steps[0].from_at, to_at=rented.steps[-1].to_at, nodes=2)
    more = plan.model_copy(update={"purchases": (rented.model_copy(update={"steps": (whole,)}),)})
    found = [one.message for one in check(more, of) if one.rule == "unused_nodes"]
    assert found == ["2 nodes rented, work needs 1 at 2026-12-01 16:00"]


def test_a_committed_node_that_no_work_ever_needs_is_refused() -> None:
    of, plan = _one_node_for_a_year()
    (year,) = plan.purchases
    steps = tuple(step.model_copy(update={"nodes": 2}) for step in year.steps)
    more = plan.model_copy(update={"purchases": (year.model_copy(update={"steps": steps}),)})
    found = [one.message for one in check(more, of) if one.rule == "unused_nodes"]
    assert found == ["1 committed nodes are never needed"]


def test_committed_nodes_that_no_work_needs_are_not_bought() -> None:
    """A plan within a gap may have some; they are left out of it."""
    of, plan = _one_node_for_a_year()
    program = program_of(of)
    values = solution_of(program).values.copy()
    values[program.columns.committed_nodes.at(0)] = 3
    (parts,) = parts_of([(program, values)])
    assert parts.purchases == plan.purchases


def _one_node_for_a_year() -> tuple[Case, Plan]:
    year = offer("1", kind=PriceKind.RESERVED, term_months=12)
    file = workloads(services=[service_entry(1, 1)])
    of = case_of(file, [BOX, year], serving=[serving(BOX, [1])])
    return of, assembled(of, solved(of))


def _under(of: Case, discount: float) -> tuple[Violation, ...]:
    """Plan a case, and check the plan as if its policy asked for a discount on spot."""
    plan = assembled(of, solved(of))
    targets = of.workloads.policy.coverage.model_copy(update={"spot_discount": discount})
    policy = of.workloads.policy.model_copy(update={"coverage": targets})
    file = of.workloads.model_copy(update={"policy": policy})
    return check(plan.model_copy(update={"workloads": file}), replace(of, workloads=file))
