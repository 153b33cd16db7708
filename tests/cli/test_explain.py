import csv
import io
import json
from collections.abc import Callable
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path

import pytest
import yaml
from command_line import Ended, run_apart
from explained_files import ALL, COMMITTED, DEAR, RENTED, SPOT, service_file, sheet_file

from broker.domain.explanation import Explanation, Outcome, Verdict
from broker.domain.plan import Plan

POLICY = "    spot: {max_share: 0.3}\npolicy: {price_trend_per_year: -0.25, max_groups: 2}"
G6E = "aws/g6e.xlarge/eu-central-1"
A2 = "gcp/a2-highgpu-1g/europe-west4@on_demand"
CENT = Decimal("0.01")
Explain = Callable[..., Ended]


def planned(folder: Path, *rows: str, more: str = POLICY) -> Plan:
    """Plan the service over a sheet, to the end."""
    workloads, sheet, out = (
        service_file(folder, more),
        sheet_file(folder, *rows),
        folder / "plan.json",
    )
    given = ("plan", str(workloads), "--sheet", str(sheet), "--gap", "0", "--out", str(out))
    run_apart(folder / "data", *given)
    return Plan.model_validate_json(out.read_bytes())


def explain_in(folder: Path, *options: str, form: str = "json") -> Ended:
    given = ("explain", str(folder / "plan.json"), "--sheet", str(folder / "sheet.csv"))
    return run_apart(folder / "data", *given, "--format", form, *options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explained")
    planned(folder, *ALL)
    return folder


@pytest.fixture(scope="module")
def plan(folder: Path) -> Plan:
    return Plan.model_validate_json((folder / "plan.json").read_bytes())


@pytest.fixture(scope="module")
def explain(folder: Path) -> Explain:
    """Explain the plan with some options; the format is JSON where none is given."""

    def ask(*options: str, form: str = "json") -> Ended:
        return explain_in(folder, *options, form=form)

    return ask


@pytest.fixture(scope="module")
def general(explain: Explain) -> Explanation:
    ended = explain()
    assert (ended.code, ended.err) == (0, "")
    return Explanation.model_validate_json(ended.out)


def why_not(ended: Ended) -> tuple[Verdict, str, tuple[str, ...]]:
    found = Explanation.model_validate_json(ended.out).why_not
    assert found is not None
    return found.verdict, found.reason, found.details


def test_each_line_names_the_best_plan_without_it(general: Explanation, tmp_path: Path) -> None:
    assert [one.line for one in general.lines] == [
        f"{G6E}@on_demand",
        f"{G6E}@reserved-12m-no_upfront",
        f"{G6E}@spot",
    ]
    other = general.lines[2].runner_up
    rest = planned(tmp_path, *(row for row in ALL if row != SPOT))
    assert (other.outcome, other.total_usd) == (Outcome.FOUND, rest.total_usd)
    assert other.dearer is not None
    assert other.dearer.least_usd == other.dearer.most_usd == rest.total_usd - general.total_usd
    assert f"{G6E}@spot" in other.drops


def test_a_rule_costs_what_the_plan_saves_without_it(general: Explanation, tmp_path: Path) -> None:
    worth = {one.rule: one for one in general.rules}
    spot = worth["services.chat.spot.max_share"]
    looser = planned(tmp_path, *ALL, more=POLICY.replace("0.3", "1.0"))
    assert (spot.value, spot.loosened) == ("0.3", "1")
    assert spot.saving is not None
    assert spot.saving.least_usd == spot.saving.most_usd == general.total_usd - looser.total_usd
    held = next(one for one in general.lines if one.line == f"{G6E}@on_demand")
    assert "services.chat.spot.max_share 0.3" in held.binding
    assert worth["services.chat.min_replicas"].outcome is Outcome.NONE


def test_a_line_tells_what_is_cheaper_and_cannot_do_its_work(general: Explanation) -> None:
    rented = general.lines[0]
    assert (rented.rank_count, rented.rivals_count) == (3, 4)
    assert {one.example: one.reason for one in rented.unfit} == {
        "azure/t4/westeurope@on_demand": "does not fit",
        "aws/far/ap-southeast-2@on_demand": "too far from eu-central",
    }


def test_a_commitment_tells_when_it_pays(general: Explanation, plan: Plan) -> None:
    (reason,) = general.commitments
    (bought,) = [one for one in plan.purchases if one.upfront_usd or one.later_usd]
    assert reason.line == bought.id
    assert reason.breakeven_utilization_fraction == bought.breakeven_utilization
    assert reason.planned_utilization_fraction >= reason.breakeven_utilization_fraction


def test_the_page_fits_80_columns_and_tells_every_line(explain: Explain, plan: Plan) -> None:
    page = explain(form="table").out
    assert max(map(len, page.splitlines())) <= 80
    assert page.startswith(f"Explanation  of a plan that is optimal, total {plan.total_usd:,.2f} ")
    for purchase in plan.purchases:
        assert f"\n{purchase.id}  {purchase.usd:,.2f} USD, for chat" in page
    for heading in ("  why ", "  without it  ", "\nCommitment ", "\nWhat each rule costs, alone"):
        assert heading in page


def test_planning_at_the_price_of_an_offer_and_a_cent_above_confirms_it(
    explain: Explain, plan: Plan, tmp_path: Path
) -> None:
    found = Explanation.model_validate_json(explain("--why-not", A2).out).why_not
    assert found is not None
    assert (found.verdict, found.could_do) == (Verdict.DEARER, ("chat",))
    assert found.entry is not None
    assert found.entry.now_usd_per_hour == Decimal("3.8")
    assert found.entry.least_usd_per_hour is not None
    figure = found.entry.least_usd_per_hour.quantize(CENT, rounding=ROUND_FLOOR)
    assert found.entry.most_usd_per_hour is not None
    assert found.entry.most_usd_per_hour <= found.entry.least_usd_per_hour + CENT
    for price, is_bought in ((figure - CENT, True), (figure + CENT, False)):
        rows = (row.replace("3.80", str(price)) if row == DEAR else row for row in ALL)
        at_price = planned(tmp_path, *rows)
        assert (A2 in {one.id for one in at_price.purchases}) is is_bought
        assert (at_price.total_usd < plan.total_usd) is is_bought


@pytest.mark.parametrize(
    ("offer", "verdict", "told"),
    [
        (f"{G6E}@SPOT", Verdict.IN_PLAN, "the plan buys it"),
        ("azure/t4/westeurope", Verdict.UNFIT, "chat: T4/single/fp16/tp1: 600 in, 250 out: does"),
        ("aws/far/ap-southeast-2", Verdict.UNFIT, "max_network_rtt is 150 ms"),
    ],
)
def test_what_keeps_an_offer_out_is_told_first(
    offer: str, verdict: Verdict, told: str, explain: Explain
) -> None:
    ended = explain("--why-not", offer)
    assert why_not(ended)[0] is verdict
    assert told in ended.out


def test_a_rule_that_removes_an_offer_is_told_with_its_value(tmp_path: Path) -> None:
    more = "policy: {commitments: {max_term_months: 6}, providers: {deny: [gcp]}}"
    planned(tmp_path, RENTED, COMMITTED, DEAR, more=more)
    assert why_not(explain_in(tmp_path, "--why-not", A2)) == (
        Verdict.RULED_OUT,
        "provider not allowed",
        ("policy.providers: all are allowed; deny gcp",),
    )
    verdict, reason, details = why_not(
        explain_in(tmp_path, "--why-not", f"{G6E}@reserved-12m-no_upfront")
    )
    assert (verdict, reason) == (Verdict.RULED_OUT, "commitment beyond the policy")
    assert details[0].startswith("it is for 12 months, no_upfront; policy.commitments allows 6 mon")


def test_an_offer_that_no_plan_can_use_names_the_rules_that_bear_on_it(tmp_path: Path) -> None:
    planned(tmp_path, RENTED, DEAR, more="quotas: [{provider: gcp, gpus: 0}]")
    assert why_not(explain_in(tmp_path, "--why-not", A2)) == (
        Verdict.IMPOSSIBLE,
        "no plan that uses it keeps every rule",
        ("quotas[0] leaves 0 GPUs for it and those like it",),
    )


def test_an_offer_that_a_gate_holds_back_is_told_so(tmp_path: Path) -> None:
    planned(tmp_path, RENTED, DEAR.replace("3.80", "0.01"))
    verdict, reason, details = why_not(explain_in(tmp_path, "--why-not", A2))
    assert verdict is Verdict.HELD_BACK
    assert reason.startswith("a trust gate holds it back: ")
    assert details


def test_what_a_plan_leaves_unproven_is_solved_again_for_the_price(tmp_path: Path) -> None:
    file = planned(tmp_path, RENTED, COMMITTED, DEAR.replace("3.80", "5.80"))
    exact = Explanation.model_validate_json(explain_in(tmp_path, "--why-not", A2).out)
    told = json.loads(file.model_dump_json(by_alias=True))
    told |= {"bound_usd": str(file.total_usd / 2), "gap_fraction": 0.5, "status": "feasible"}
    (tmp_path / "plan.json").write_text(json.dumps(told), encoding="utf-8")
    found = Explanation.model_validate_json(explain_in(tmp_path, "--why-not", A2).out)
    assert "50.00%" in found.notes[0]
    assert found.why_not is not None
    assert exact.why_not is not None
    assert found.why_not.entry == exact.why_not.entry is not None


def test_near_plans_are_in_order_and_each_does_without_a_line_of_all_cheaper_ones(
    explain: Explain, general: Explanation
) -> None:
    near = Explanation.model_validate_json(explain("--near", "4").out).near
    totals = [one.plan.total_usd for one in near]
    assert len(near) == 4
    assert totals == sorted(totals)
    assert totals[0] == min(one.runner_up.total_usd for one in general.lines)
    assert all(one.plan.drops and one.reasons for one in near)
    assert any("nothing is owed after the horizon" in one.reasons for one in near)


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        ((), {"line", "why", "runner_up_dearer_most_usd"}),
        (("--why-not", "azure/t4/westeurope"), {"verdict", "enters_least_usd_per_hour"}),
        (("--near", "1"), {"total_usd", "reasons"}),
    ],
)
def test_csv_has_a_row_for_what_was_asked(
    options: tuple[str, ...], columns: set[str], explain: Explain
) -> None:
    rows = list(csv.DictReader(io.StringIO(explain(*options, form="csv").out)))
    assert rows
    assert columns <= rows[0].keys()


def test_yaml_says_the_same_as_json(explain: Explain) -> None:
    asked = ("--why-not", f"{G6E}@spot")
    assert yaml.safe_load(explain(*asked, form="yaml").out) == json.loads(explain(*asked).out)


def test_a_file_without_a_plan_is_told_what_to_ask_and_what_to_relax(tmp_path: Path) -> None:
    free = planned(tmp_path, RENTED)
    most = max(step.nodes for one in free.purchases for step in one.steps)
    planned(tmp_path, RENTED, more="quotas: [{provider: aws, gpus: 1}]")
    refused = explain_in(tmp_path)
    assert refused.code == 2
    assert "no purchase meets every rule" in refused.err
    assert "--relax" in refused.err
    page = explain_in(tmp_path, "--relax", form="table")
    assert page.code == 0
    assert page.out.startswith("Explanation  of why there is no plan, catalog ")
    assert "\n  quotas[0].gpus 1 " in page.out
    assert f"1 → {most} ({most - 1} is not enough)" in page.out
    assert max(map(len, page.out.splitlines())) <= 80


def test_a_file_whose_time_was_up_is_not_called_infeasible(tmp_path: Path) -> None:
    told = planned(tmp_path, RENTED, more="quotas: [{provider: aws, gpus: 1}]").model_copy(
        update={"gap_fraction": 1.0}
    )
    (tmp_path / "plan.json").write_text(told.model_dump_json(by_alias=True))
    refused = explain_in(tmp_path)
    assert refused.code == 2
    assert "the time was up before one was found, or proven not to exist" in refused.err
    assert "a longer --time-limit, or ask" in refused.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--relax",), "but this file has one"),
        (("--why-not", "aws/g6e"), "unknown offer 'aws/g6e'"),
        (("--why-not", G6E), "is sold in 3 ways"),
        (("--near", "99"), "--near 99 is not between 0 and 50"),
        (("--time-limit", "0"), "--time-limit 0 is not between"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_remedy(
    options: tuple[str, ...], told: str, explain: Explain
) -> None:
    ended = explain(*options)
    assert ended.code == 2
    assert told in ended.err
    assert "hint: " in ended.err


def test_a_plan_over_other_prices_is_not_explained(tmp_path: Path) -> None:
    planned(tmp_path, RENTED)
    sheet_file(tmp_path, RENTED.replace("2.30", "2.31"))
    ended = explain_in(tmp_path)
    assert ended.code == 2
    assert "the plan was made from the catalog" in ended.err


def test_a_plan_that_was_edited_is_not_explained(tmp_path: Path) -> None:
    planned(tmp_path, RENTED)
    file = tmp_path / "plan.json"
    told = json.loads(file.read_bytes())
    told["purchases"][0]["steps"][0]["nodes"] += 1
    file.write_text(json.dumps(told), encoding="utf-8")
    ended = explain_in(tmp_path)
    assert ended.code == 2
    assert "the plan is refused: node_hours" in ended.err
