"""A file without a plan is told which of its rules leaves none, and what mends it."""

from tiny_cases import START, case, offer, service_entry, serving, workloads

from broker.domain.case import Case
from broker.domain.plan import SolveSettings, Status
from broker.planning.case import CaseReport
from broker.planning.comparisons import Solved
from broker.planning.planner import Catalog, checked_plan, make_plan
from solver.milp.optimum import none

RULE = "policy.coverage.min_committed_share 0.5"
SOLVE = SolveSettings(gap_fraction=0.0, time_limit_s=60, seed=0)
CATALOG = Catalog("none", 1, START)


def test_a_share_of_commitments_without_any_names_its_key_and_the_remedies() -> None:
    made = make_plan(_report(), CATALOG, SOLVE, lambda _: None, beside=(), gap=0.0)
    assert made.status is Status.INFEASIBLE
    assert not made.is_undecided
    (told,) = made.warnings
    assert told == (
        f"{RULE} asks for committed nodes, and none that fit a workload are offered on terms that "
        "policy.commitments allows, nor owned in inventory: raise policy.commitments."
        "max_term_months (now 0), set policy.commitments.savings_plans: true, list nodes in "
        "inventory, or leave min_committed_share out"
    )


def test_rules_are_named_where_the_time_was_up() -> None:
    solved = Solved(none(0.0, ran_out_of_time=True))
    made = checked_plan(_report(), CATALOG, SOLVE, solved)
    assert made.is_undecided
    assert made.warnings == (
        "no plan was found before the time limit; give more time with --time-limit",
        f"rules that leave few plans, or none; loosen them to find one sooner: {RULE}",
    )


def _report() -> CaseReport:
    box = offer("4")
    file = workloads(
        services=[service_entry(1, 1)],
        policy={"commitments": {"max_term_months": 0}, "coverage": {"min_committed_share": 0.5}},
    )
    of: Case = case(file, [box], serving=[serving(box, [1])])
    return CaseReport(of, (), ())
