import re

import pytest
from report_plans import MARKUP, plan_of_nothing, report_plan

from broker.domain.errors import NoFeasiblePlanError
from broker.domain.plan import Plan
from broker.exports.markdown import export
from cli.plan import check_has_plan


@pytest.fixture(scope="module")
def plan() -> Plan:
    return report_plan()


@pytest.fixture(scope="module")
def text(plan: Plan) -> str:
    (file,) = export(plan)
    assert file.name == "plan.md"
    return file.text


def test_every_row_of_a_table_has_the_cells_of_its_heading(text: str) -> None:
    width, tables = 0, 0
    for line in text.splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        if cells and not width:
            tables += 1
        assert not (cells and width) or cells == width, line
        width = cells
    assert tables == 11


def test_names_from_outside_neither_mark_up_nor_mention(text: str) -> None:
    outside_code = re.sub(r"(`+).*?\1", "", text)
    assert not re.search(r"(?<!\\)<script", outside_code)
    assert not re.search(r"(?<![\w.])@\w", outside_code)
    assert r"\<script\>alert\(1\)\</script\>\|@<!-- -->everyone" in text
    assert f"`{MARKUP.replace('|', chr(92) + '|')}`" in text


def test_it_opens_with_the_proof_and_the_total(text: str, plan: Plan) -> None:
    assert "Proven optimal" in text
    assert f"| total | **{plan.total_usd:,.2f} USD** for 9 days |" in text
    assert "| less than best single provider: beta | 158.83 USD (17.4%) |" in text


def test_a_strategy_without_a_plan_is_told(text: str) -> None:
    assert "| no sharing of nodes | no plan |" in text


def test_what_is_said_of_a_workload_names_it(text: str) -> None:
    assert "| 7 | too slow | chat | `acme/slow/here@spot` |" in text


def test_where_there_is_no_plan_the_reasons_are_told() -> None:
    (file,) = export(plan_of_nothing())
    assert "There is no plan" in file.text
    assert "price is stale" in file.text
    assert "What to buy" not in file.text


def test_a_plan_that_was_not_found_in_the_time_is_not_said_not_to_exist() -> None:
    undecided = plan_of_nothing().model_copy(update={"gap_fraction": 1.0})
    (file,) = export(undecided)
    assert "No plan was found in the time, nor was it proven that there is none" in file.text
    assert "There is no plan" not in file.text
    with pytest.raises(NoFeasiblePlanError, match="before the time limit") as refused:
        check_has_plan(undecided)
    assert "--time-limit" in refused.value.hint
