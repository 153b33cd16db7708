"""Weights, data sets and checkpoints in the program: rows, dollars, and what they change."""

from dataclasses import replace
from decimal import Decimal

import pytest
from solving import assembled, program_of, solved
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case
from broker.domain.plan import Term
from broker.verification.check import check
from solver.milp.dump import lines, term_lines
from solver.milp.optimize import optimize
from solver.milp.outprice import drop_outpriced
from solver.milp.prune import prune
from solver.milp.solve import Limits

EXACT = Limits(gap_fraction=0.0, time_limit_s=20)


def fetching(*, max_groups: int, peak: float = 2) -> Case:
    """Replicas that keep weights for 10 cents an hour and bring them for 3 dollars; and a run."""
    box, dear = offer("1"), offer("2.5", name="dear")
    far = replace(serving(box, [1]), storage_usd_per_hour=Decimal("0.1"), egress_usd=Decimal(3))
    run = replace(
        training(box, egress_usd="7.5"), result_egress_usd=Decimal(2), storage_usd=Decimal(5)
    )
    file = workloads(
        services=[service_entry(1, peak)],
        training=[run_entry(8 * 3600)],
        policy={"max_groups": max_groups},
    )
    return case(file, [box, dear], serving=[far, serving(dear, [1])], training=[run])


def test_rows_and_dollars_of_several_kinds() -> None:
    of = fetching(max_groups=2)
    assert list(lines(program_of(of), "peak_replicas")) == [
        "peak_replicas[0,0]: 0 <= +1 peak_replicas[0] -1 replicas[0,0]",
        "peak_replicas[0,1]: 0 <= +1 peak_replicas[0] -1 replicas[0,1]",
        "peak_replicas[0,2]: 0 <= +1 peak_replicas[0] -1 replicas[0,2]",
    ]
    assert list(term_lines(program_of(of), "storage")) == [
        "storage: +0.8 replicas[0,0]",
        "storage: +0.8 replicas[0,1]",
        "storage: +0.8 replicas[0,2]",
        "storage: +5 option_used[0]",
    ]


def test_dollars_of_one_kind_are_by_block() -> None:
    of = fetching(max_groups=1)
    assert list(lines(program_of(of), "peak_replicas")) == []
    assert term_lines(program_of(of), "storage") == [
        "storage: +2.4 replicas[0,0]",
        "storage: +2.4 replicas[0,1]",
        "storage: +5 option_used[0]",
    ]
    assert term_lines(program_of(of), "egress") == [
        "egress: +9.5 option_used[0]",
        "egress: +3 replicas[0,0]",
        "egress: +3 replicas[0,1]",
    ]


@pytest.mark.parametrize("max_groups", [1, 2])
def test_a_plan_charges_them_by_workload_and_place(max_groups: int) -> None:
    """Two replicas for a day: 48 h · 0.1 and 2 · 3; the run 7.5, 2 and 5."""
    of = fetching(max_groups=max_groups)
    plan = assembled(of, solved(of))
    assert {
        (one.term, one.subject): one.usd for one in plan.cost_lines if "box" not in one.subject
    } == {
        (Term.EGRESS, "chat"): Decimal(6),
        (Term.STORAGE, "chat@acme/here"): Decimal("4.8"),
        (Term.EGRESS, "tune"): Decimal("7.5"),
        (Term.EGRESS, "tune@acme/here"): Decimal(2),
        (Term.STORAGE, "tune@acme/here"): Decimal(5),
    }
    assert check(plan, of) == ()


def test_replicas_stay_where_bringing_their_weights_costs_more_than_nodes_save() -> None:
    """One replica for a day: 24 + 2.4 + 40 far away, 60 near."""
    of = _dear_weights(egress_usd=40)
    assert _machines(of) == {"acme/dear/here"}
    assert _machines(_dear_weights(egress_usd=30)) == {"acme/box/here"}


def test_a_machine_is_not_dropped_for_one_where_weights_cost_more_than_its_nodes_save() -> None:
    """Nodes save 0.01 an hour and hold two replicas, each of which keeps weights for 0.01 more."""
    cheap, dear = offer("1", gpus=2), offer("1.01", name="dear", gpus=2)
    options = [
        replace(serving(cheap, [1]), storage_usd_per_hour=Decimal("0.01")),
        serving(dear, [1]),
    ]
    of = case(workloads(services=[service_entry(2, 2)]), [cheap, dear], serving=options)
    assert prune(of).dominated == {}
    free = replace(of, serving=(serving(cheap, [1]), options[1]))
    assert prune(free).dominated == {"acme/dear/here": "acme/box/here"}
    assert optimize(of, EXACT).total_usd == Decimal("24.24")


def test_weights_that_are_brought_keep_standalone_prices_out() -> None:
    of = _dear_weights(egress_usd=40)
    assert {one.machine for one in drop_outpriced(of).serving} == {
        "acme/box/here",
        "acme/dear/here",
    }


def _dear_weights(*, egress_usd: int) -> Case:
    of = fetching(max_groups=1, peak=1)
    far = replace(of.serving[0], egress_usd=Decimal(egress_usd))
    return replace(of, serving=(far, *of.serving[1:]))


def _machines(of: Case) -> set[str]:
    return {one.machine for one in optimize(of, EXACT).serving}
