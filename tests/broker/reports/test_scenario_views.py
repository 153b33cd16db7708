"""Strategies, what-ifs and sweeps as they are shown, from plans that are solved in this process."""

from decimal import Decimal

import pytest
from rich.console import Console, RenderableType
from solving import EXACT, assembled
from two_shops import two_shops

from broker.domain.plan import Comparison, Plan, Status
from broker.reports.compare_view import compare_page, step_rows, strategy_rows
from broker.reports.sweep_view import sweep_page, sweep_report
from broker.reports.what_if_view import change_between, changed_lines, what_if_page
from solver.milp.optimize import optimize


@pytest.fixture(scope="module")
def joint() -> Plan:
    """Two nodes for 84 dollars: one reserved at acme, one bid for at bolt."""
    of = two_shops()
    return assembled(of, optimize(of, EXACT))


@pytest.fixture(scope="module")
def richer() -> Plan:
    """The same with one node of acme's that is owned: 24 dollars."""
    of = two_shops(owned_nodes=1)
    return assembled(of, optimize(of, EXACT))


def compared(strategy: str, total: str | None, bound: str | None) -> Comparison:
    usd = Decimal(total) if total else None
    least = Decimal(bound) if bound else None
    gap = float((usd - least) / usd) if usd and least else None
    status = Status.OPTIMAL if usd else Status.INFEASIBLE
    return Comparison(
        strategy=strategy, status=status, total_usd=usd, bound_usd=least, gap_fraction=gap
    )


def with_comparisons(plan: Plan, *comparisons: Comparison) -> Plan:
    return plan.model_copy(update={"comparisons": comparisons})


def shown(page: RenderableType, width: int = 80) -> list[str]:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(page, crop=False)
    return captured.get().splitlines()


def test_what_is_saved_is_proven_as_far_as_the_bound_goes(joint: Plan) -> None:
    plan = with_comparisons(joint, compared("no spot", "120", "100"), compared("x", None, None))
    _, no_spot, other = strategy_rows(plan)
    assert (no_spot.saving_usd, no_spot.proven_saving_usd) == (36, 16)  # of 84
    assert no_spot.saving_fraction == pytest.approx(0.3)
    assert (other.strategy, other.saving_usd, other.proven_saving_usd) == ("x", None, None)


def test_a_saving_within_the_gap_is_not_proven(joint: Plan) -> None:
    plan = with_comparisons(joint, compared("no spot", "85", "80"))
    assert strategy_rows(plan)[1].proven_saving_usd == 0


def test_a_ladder_skips_what_has_no_plan_and_what_is_dearer(joint: Plan) -> None:
    plan = with_comparisons(
        joint,
        compared("on demand only", "144", "144"),
        compared("no spot", None, None),
        compared("one GPU model for all: MI300X", "90", "90"),
        compared("one NVIDIA generation for all: Hopper", "120", "120"),
    )
    assert [(row.step, row.strategy, row.total_usd, row.saving_usd) for row in step_rows(plan)] == [
        ("", "on demand only", 144, None),
        ("commitments, spot", "joint plan", 84, 60),
        ("", "one GPU model for all: MI300X", 90, None),
        ("other models of one generation, all models together", "joint plan", 84, 6),
    ]


def test_the_saving_of_the_steps_adds_up_to_that_of_the_first_strategy(joint: Plan) -> None:
    plan = with_comparisons(
        joint, compared("on demand only", "144", "144"), compared("no spot", "120", "120")
    )
    steps = step_rows(plan)
    assert sum(row.saving_usd for row in steps if row.saving_usd is not None) == 144 - 84


def test_a_comparison_fits_80_characters_and_orders_its_bars_by_cost(joint: Plan) -> None:
    plan = with_comparisons(
        joint,
        compared("best single provider: bolt", "96", "96"),
        compared("one NVIDIA generation for all: Blackwell", "1234567.89", "1234567.89"),
        compared("no spot", None, None),
    )
    lines = shown(compare_page(plan, 80))
    assert max(map(len, lines)) <= 80
    bars = lines[lines.index("Cost in USD: █ the joint plan's, ░ what it saves") + 1 :][:3]
    assert [line.split("  ")[0] for line in bars] == [
        "one NVIDIA generation for all: Blackwell",
        "best single provider: bolt",
        "joint plan",
    ]
    assert any("no plan" in line for line in lines if line.startswith("no spot"))


def test_lines_are_added_removed_and_changed(joint: Plan, richer: Plan) -> None:
    found = {row.line: (row.change, row.change_usd) for row in changed_lines(joint, richer)}
    assert found == {
        "acme/box/here@reserved-1m-partial_upfront": ("removed", -60),
        "acme/box/here@owned": ("added", 0),
    }


def test_the_change_lies_between_what_the_gaps_allow(joint: Plan, richer: Plan) -> None:
    loose = joint.model_copy(update={"bound_usd": Decimal(80), "gap_fraction": 4 / 84})
    assert change_between(loose, richer) == (richer.bound_usd - 84, 24 - 80)
    lines = " ".join(shown(what_if_page(loose, richer, ("inventory=1",), 80)))
    assert "changes by -60.00 to -56.00 USD" in lines
    assert "not proven" not in lines
    wide = joint.model_copy(update={"bound_usd": Decimal(10), "gap_fraction": 74 / 84})
    assert "not proven" in " ".join(shown(what_if_page(wide, richer, (), 80)))


def test_without_a_gap_there_is_no_interval(joint: Plan, richer: Plan) -> None:
    lines = shown(what_if_page(joint, richer, ("inventory=1",), 80))
    assert not any("least possible cost" in line for line in lines)
    assert any("-60.00 (-71.4%)" in line for line in lines)


def test_the_same_purchases_are_told_as_such(joint: Plan) -> None:
    assert "The purchases are the same." in shown(what_if_page(joint, joint, ("a=1",), 80))


def test_a_sweep_adds_up_gpu_hours_by_model(joint: Plan, richer: Plan) -> None:
    report = sweep_report(["nodes"], [(("0",), joint), (("1",), richer)], "c5a1")
    assert [row.gpu_hours for row in report.rows] == [{"A100-80-SXM": 24, "H100-SXM": 24}] * 2
    lines = shown(sweep_page(report, joint, 80))
    assert max(map(len, lines)) <= 80
    bars = [line for line in lines if "█" in line and "Cost" not in line]
    assert [line.split()[0] for line in bars] == ["0", "1"]
    # 84 takes all of the bar's room, 24 two sevenths of it.
    solid = [line.count("█") for line in bars]
    assert solid[1] == pytest.approx(solid[0] * 2 / 7, abs=1)
