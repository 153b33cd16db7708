"""A plan held to a bill: its own FOCUS export agrees with it to the micro-dollar."""

import csv
import io
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from book_plans import RENTED, book_plan
from command_line import Ended, Gpubroker
from report_plans import report_plan

from broker.domain.plan import Plan
from broker.exports.files import line_label
from broker.exports.forms import export

Rows = list[dict[str, str]]
Reconcile = Callable[[Plan, Rows], Ended]


def billed(plan: Plan) -> Rows:
    """Write the bill that the plan expects."""
    return list(csv.DictReader(io.StringIO(export(plan, "focus")[0].text)))


@pytest.fixture
def reconcile(gpubroker: Gpubroker, tmp_path: Path) -> Reconcile:
    def of(plan: Plan, rows: Rows, form: str = "json") -> Ended:
        file, bill = tmp_path / "plan.json", tmp_path / "bill.csv"
        file.write_text(plan.model_dump_json(by_alias=True))
        with bill.open("w", newline="") as out:
            writer = csv.DictWriter(out, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return gpubroker("reconcile", str(file), "--bill", str(bill), "--format", form)

    return of


def test_the_bill_that_a_plan_expects_leaves_nothing_unexplained(reconcile: Reconcile) -> None:
    """Owned, reserved, rented and spot nodes, and data that moves: every line, to the cent."""
    plan = report_plan()
    ended = reconcile(plan, billed(plan))
    told = json.loads(ended.out, parse_float=Decimal, parse_int=Decimal)
    assert ended.code == 0, ended.err
    lines = [row for row in told["rows"] if row["kind"] == "line"]
    assert {row["what"] for row in lines} == {one.id for one in plan.purchases} | {"tune"}
    for row in lines:
        assert row["difference_usd"] == 0, row
        assert row["planned_list_usd"] == row["list_usd"], row
        assert row["planned_billed_usd"] == row["billed_usd"], row
    assert told["planned_usd"] == told["effective_usd"] == plan.total_usd
    assert told["unexplained_usd"] == 0
    assert [row["kind"] for row in told["rows"] if row not in lines] == ["total"]


def test_what_was_billed_otherwise_is_seen_by_line(reconcile: Reconcile) -> None:
    """By hand: 100 planned and 125 charged is 25 more; at list 200, 37.5 percent is saved."""
    plan = book_plan()
    rows = billed(plan)
    (rented,) = [row for row in rows if row["x_PlanLine"] == RENTED]
    rented |= {"EffectiveCost": "125", "BilledCost": "125", "ListCost": "200"}
    stray = rented | {"Tags": "{}", "EffectiveCost": "7.5", "ListCost": "7.5"}
    ended = reconcile(plan, [*rows, stray])
    told = json.loads(ended.out)
    (line,) = [row for row in told["rows"] if row["label"] == line_label(RENTED)]
    assert (line["planned_usd"], line["effective_usd"], line["difference_usd"]) == (100, 125, 25)
    assert line["savings_rate"] == 0.375
    (rest,) = [row for row in told["rows"] if row["kind"] == "unexplained"]
    assert (rest["effective_usd"], rest["what"]) == (
        7.5,
        "aws GPU nodes: without a tag of ours",
    )
    assert told["unexplained_usd"] == 7.5
    assert told["effective_usd"] == float(plan.total_usd) + 25 + 7.5


def test_a_bill_of_half_the_time_is_held_to_the_plan_of_that_half(reconcile: Reconcile) -> None:
    plan = report_plan()
    days = sorted({row["ChargePeriodStart"][:10] for row in billed(plan)})
    half = [row for row in billed(plan) if row["ChargePeriodEnd"] <= f"{days[4]}T00:00:00Z"]
    told = json.loads(reconcile(plan, half).out)
    assert 0 < told["planned_usd"] < float(plan.total_usd)
    assert told["planned_usd"] == pytest.approx(told["effective_usd"], abs=1e-9)


def test_the_table_fits_a_terminal_and_says_what_it_is_of(reconcile: Reconcile) -> None:
    ended = reconcile(book_plan(), billed(book_plan()), form="table")
    assert max(map(len, ended.out.splitlines())) <= 80
    heads = ended.out.splitlines()[0].split()
    assert heads[:5] == ["line", "planned", "list", "contracted", "effective"]
    assert ended.out.splitlines()[-1].split()[0] == "total"
    assert ended.err == "2026-12-01 00:00 to 2026-12-01 10:00 UTC\n"


def test_a_bill_of_another_time_and_a_bad_row_are_told(reconcile: Reconcile) -> None:
    rows = billed(book_plan())
    late = [
        row
        | {"ChargePeriodStart": "2027-03-01T00:00:00Z", "ChargePeriodEnd": "2027-03-02T00:00:00Z"}
        for row in rows
    ]
    ended = reconcile(book_plan(), late)
    assert (ended.code, "the bill is from 2027-03-01" in ended.err) == (2, True)
    ended = reconcile(book_plan(), [*rows, rows[0] | {"BilledCost": "ten"}])
    assert ended.code == 2
    assert f"line {len(rows) + 2}: BilledCost 'ten' is no amount" in ended.err
