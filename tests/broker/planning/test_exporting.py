import json
from decimal import Decimal
from pathlib import Path

import pytest
from price_lists import GATES, a_reading, after, an_offer
from report_plans import report_plan

from broker.catalog.store import open_catalog
from broker.domain.errors import ConfigurationError
from broker.domain.explanation import Explanation, LineReason, OtherPlan, Outcome, UsdRange
from broker.domain.offer import Offer
from broker.domain.plan import Plan
from broker.exports.forms import FORMS
from broker.planning.exporting import export_plan, price_paths
from broker.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(report_plan().model_dump_json(by_alias=True), encoding="utf-8")
    return path


def _bought(offer: Offer) -> Plan:
    """Let the plan's last purchase be of an offer of the catalog."""
    plan = report_plan()
    last = plan.purchases[-1].model_copy(update={"offer": offer.key})
    return plan.model_copy(update={"purchases": (*plan.purchases[:-1], last)})


def test_the_catalog_tells_what_the_bought_offers_cost_before(settings: Settings) -> None:
    catalog = open_catalog(settings.database_path)
    for hours, usd in ((0, "16"), (10, "15")):
        reading = a_reading(an_offer(usd, name="n0", seen_at=after(hours)))
        catalog.replace(reading, GATES, now=after(hours))
    plan = _bought(an_offer("15", name="n0"))
    (path,) = price_paths(plan, catalog)  # the others were never seen here
    assert path.offer == plan.purchases[-1].offer
    assert [step.usd_per_hour for step in path.steps] == [Decimal(16), Decimal(15)]
    assert path.steps[0].to_at == path.steps[1].from_at == after(10)
    assert path.steps[1].to_at == max(plan.catalog.as_of, after(10))


def test_a_report_makes_no_database(file: Path, settings: Settings) -> None:
    (page,) = export_plan(file, "html", settings)
    assert "there is no history to draw" in page.text
    assert not settings.database_path.exists()


@pytest.mark.parametrize(
    ("part", "field"), [("purchases", "offer"), ("serving", "service"), ("training", "run")]
)
def test_a_plan_that_names_what_it_lacks_is_an_error(
    file: Path, settings: Settings, part: str, field: str
) -> None:
    told = json.loads(file.read_text(encoding="utf-8"))
    told[part][0][field] = "none/such"
    file.write_text(json.dumps(told), encoding="utf-8")
    for form in ("html", "skypilot", "focus"):
        with pytest.raises(ConfigurationError, match=f"was changed: the {field} 'none/such'"):
            export_plan(file, form, settings)


def test_a_step_without_the_rates_of_its_size_classes_is_an_error(
    file: Path, settings: Settings
) -> None:
    told = json.loads(file.read_text(encoding="utf-8"))
    told["serving"][0]["steps"][0]["requests_per_s"] = []
    file.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="size classes; rates and steps differ"):
        export_plan(file, "html", settings)


FAR, BEFORE = "9999-12-31T23:59:59Z", "2026-12-01T00:00:00Z"


@pytest.mark.parametrize(
    ("part", "place", "value", "message"),
    [
        ("purchases", ("steps", -1, "to_at"), FAR, "has a step from .* to 9999-12-31 23:59"),
        ("purchases", ("steps", -1, "from_at"), FAR, "has a step from 9999-12-31 23:59"),
        ("purchases", ("steps", -1, "to_at"), BEFORE, "not after the one before"),
        ("serving", ("steps", -1, "to_at"), FAR, "to 9999-12-31 23:59"),
        ("training", ("steps", 0, "from_at"), "0001-01-01T00:00:00Z", "from 1-01-01 00:00|0001"),
        ("serving", ("candidate", "memory", "weights_gib"), -1e308, "is no size that a GPU has"),
        ("training", ("candidate", "memory", "weights_gib"), 1e308, "is no size that a GPU has"),
    ],
)
def test_figures_that_nobody_plans_are_an_error(
    file: Path,
    settings: Settings,
    *,
    part: str,
    place: tuple[str | int, ...],
    value: object,
    message: str,
) -> None:
    told = json.loads(file.read_text(encoding="utf-8"))
    *above, last = place
    node = told[part][0]
    for key in above:
        node = node[key]
    node[last] = value
    file.write_text(json.dumps(told), encoding="utf-8")
    for form in FORMS:
        with pytest.raises(ConfigurationError, match=message):
            export_plan(file, form, settings)


def _explanation(plan: Plan, total_usd: Decimal) -> Explanation:
    line = plan.purchases[1]
    runner_up = OtherPlan(
        outcome=Outcome.FOUND,
        total_usd=total_usd + 7,
        dearer=UsdRange(least_usd=Decimal(7), most_usd=Decimal(7)),
        buys=("acme/box/here@spot",),
    )
    reason = LineReason(
        line=line.id,
        usd=line.usd,
        workloads=("chat",),
        why="no rule binds it; it is the cheapest per request of 3 ways to buy",
        binding=(),
        runner_up=runner_up,
        rank_count=1,
        rivals_count=3,
    )
    return Explanation(
        status=plan.status,
        snapshot=plan.catalog.snapshot,
        workloads_sha256=plan.workloads_sha256,
        total_usd=total_usd,
        bound_usd=plan.bound_usd,
        lines=(reason,),
    )


def test_an_explanation_is_told_beside_its_line(
    file: Path, settings: Settings, tmp_path: Path
) -> None:
    plan = report_plan()
    explained = tmp_path / "why.json"
    explained.write_text(_explanation(plan, plan.total_usd).model_dump_json(by_alias=True))
    (page,) = export_plan(file, "html", settings, explained)
    told = (
        "No rule binds it; it is the cheapest per request of 3 ways to buy. Without it: the best "
        "plan costs 7.00 USD more, buying more of acme/box/here@spot."
    )
    assert page.text.count(told) == 1


def test_an_explanation_that_was_just_made_is_told_in_markdown(
    file: Path, settings: Settings
) -> None:
    plan = report_plan()
    (page,) = export_plan(file, "markdown", settings, _explanation(plan, plan.total_usd))
    _, _, why = page.text.partition("<details><summary>Why this</summary>")
    told, _, _ = why.partition("</details>")
    assert told.count("No rule binds it; it is the cheapest per request of 3 ways to buy.") == 1
    (plain,) = export_plan(file, "markdown", settings)
    assert "Why this" not in plain.text


def test_an_explanation_of_another_plan_is_refused(
    file: Path, settings: Settings, tmp_path: Path
) -> None:
    plan = report_plan()
    explained = tmp_path / "why.json"
    explained.write_text(_explanation(plan, plan.total_usd + 1).model_dump_json(by_alias=True))
    with pytest.raises(ConfigurationError, match="explains another plan"):
        export_plan(file, "html", settings, explained)


def test_an_explanation_has_no_place_in_other_forms(
    file: Path, settings: Settings, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="--to csv has no place"):
        export_plan(file, "csv", settings, tmp_path / "why.json")


@pytest.mark.parametrize("text", ["{", "{}", None])
def test_what_is_no_explanation_is_refused(
    text: str | None, file: Path, settings: Settings, tmp_path: Path
) -> None:
    explained = tmp_path / "why.json"
    if text is not None:
        explained.write_text(text)
    with pytest.raises(ConfigurationError, match="explanation"):
        export_plan(file, "html", settings, explained)


def test_a_form_that_takes_no_line_says_which_ones_and_what_takes_them(
    file: Path, settings: Settings
) -> None:
    plan = report_plan()
    other = plan.offers[0].model_copy(update={"provider": "nebius"})
    kept = next(one for one in plan.purchases if one.offer == plan.offers[0].key)
    only = kept.model_copy(update={"offer": other.key, "id": other.key})
    elsewhere = plan.model_copy(
        update={"purchases": (only,), "offers": (other,), "serving": (), "training": ()}
    )
    file.write_text(elsewhere.model_dump_json(by_alias=True), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="no way to buy or launch") as caught:
        export_plan(file, "terraform", settings)
    assert other.key in str(caught.value)
    assert "focus" in caught.value.hint
    assert "terraform" not in caught.value.hint
