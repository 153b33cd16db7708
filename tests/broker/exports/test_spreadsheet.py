import csv
import io
from decimal import Decimal

import pytest
from report_plans import FORMULA, plan_of_nothing, report_plan

from broker.domain.cells import inert
from broker.domain.plan import Plan
from broker.exports.spreadsheet import export


@pytest.fixture(scope="module")
def plan() -> Plan:
    return report_plan()


def _rows(plan: Plan) -> list[dict[str, str]]:
    (file,) = export(plan)
    assert file.name == "plan.csv"
    return list(csv.DictReader(io.StringIO(file.text, newline="")))


def test_there_is_a_row_for_each_purchase_and_each_other_cost(plan: Plan) -> None:
    rows = _rows(plan)
    assert {row["line"] for row in rows} == {*(inert(one.id) for one in plan.purchases), "tune"}
    assert [row["do"] for row in rows] == ["keep", "reserve", "rent", "rent", "bid", "egress"]


def test_the_weeks_of_each_row_add_up_to_its_cost(plan: Plan) -> None:
    for row in _rows(plan):
        weeks = [Decimal(usd) for name, usd in row.items() if name.startswith("usd_week_")]
        assert len(weeks) == 2
        assert sum(weeks) == Decimal(row["usd"])


def test_a_week_costs_what_runs_in_it(plan: Plan) -> None:
    rows = {row["do"]: row for row in _rows(plan)}
    spot = rows["bid"]  # three nodes at 0.15 USD, seven days and then two
    assert Decimal(spot["usd_week_2026-12-01"]) == Decimal("75.6")
    assert Decimal(spot["usd_week_2026-12-08"]) == Decimal("21.6")
    assert Decimal(rows["egress"]["usd_week_2026-12-01"]) == Decimal("12.345678")


def test_money_is_exact_and_has_no_exponent(plan: Plan) -> None:
    for row in _rows(plan):
        for name in ("usd", "upfront_usd", "later_usd"):
            if row[name]:
                assert "E" not in row[name]
                assert Decimal(row[name]) >= 0


def test_no_cell_becomes_a_formula(plan: Plan) -> None:
    (file,) = export(plan)
    cells = [cell for row in csv.reader(io.StringIO(file.text, newline="")) for cell in row]
    assert f"'{FORMULA}" in cells
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("=1+1", "'=1+1"),
        ("  @SUM(A1)", "  '@SUM(A1)"),
        ("-2+3|calc", "'-2+3|calc"),
        ("\uff1dcmd", "'\uff1dcmd"),
        ("a\r=b", "a\n'=b"),
        ("a;=b", "a;'=b"),
        ("p4d.24xlarge", "p4d.24xlarge"),
        ("a/b@on_demand", "a/b@on_demand"),
    ],
)
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(text: str, safe: str) -> None:
    assert inert(text) == safe


def test_without_a_plan_there_is_the_heading_alone() -> None:
    assert _rows(plan_of_nothing()) == []
