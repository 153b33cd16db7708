import re
from datetime import timedelta
from decimal import Decimal

import pytest
from changed_cases import with_workloads
from report_plans import MARKUP, plan_of_nothing, report_plan
from scenario_cases import hedged_case
from solving import EXACT, assembled
from tiny_cases import START

from broker.domain.plan import Plan
from broker.exports.extras import Extras, PricePath, PriceStep, Told
from broker.exports.forms import export
from broker.exports.html.lanes import lanes
from broker.exports.html.style import COLOURS
from broker.exports.loads import service_loads
from solver.milp.optimize import optimize

_SVG = re.compile(r"<svg\b.*?</svg>", re.DOTALL)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return report_plan()


@pytest.fixture(scope="module")
def page(plan: Plan) -> str:
    (file,) = export(plan, "html")
    assert file.name == "plan.html"
    return file.text


def test_the_page_asks_for_nothing_and_runs_nothing(page: str) -> None:
    assert page.lstrip().startswith("<!doctype html>")
    assert "default-src 'none'" in page
    assert not re.search(r"<(script|link rel=\"stylesheet|iframe|img|object|embed)\b", page)
    assert not re.search(r"(src|href)=\"(?!data:,|#)", page)
    assert not re.search(r"@import|url\((?!#)", page)


def test_names_from_outside_are_text_and_no_markup(page: str) -> None:
    assert MARKUP not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;|@everyone" in page


def test_every_chart_has_a_title_and_words(page: str) -> None:
    charts = _SVG.findall(page)
    assert len(charts) == 6  # timeline twice, one service, weeks, providers, comparisons
    for chart in charts:
        name = re.search(r'role="img" aria-labelledby="(\S+)-t (\S+)-d"', chart)
        assert name
        title = re.search(rf'<title id="{name[1]}-t">(.+?)</title>', chart)
        words = re.search(rf'<desc id="{name[2]}-d">(.+?)</desc>', chart)
        assert title
        assert words
        assert len(words[1]) > len(title[1])


def test_no_name_is_given_twice(page: str) -> None:
    names = re.findall(r'\bid="([^"]+)"', page)
    assert len(names) == len(set(names))


def test_charts_use_only_colours_that_change_at_night(page: str) -> None:
    known = {one.light for one in COLOURS.values()} | {"none", "transparent"}
    used = {
        tone
        for chart in _SVG.findall(page)
        for tone in re.findall(r'(?:fill|stroke)="(.*?)"', chart)
    }
    assert used <= known
    assert {COLOURS[kind].light for kind in ("owned", "reserved", "ondemand", "spot")} <= used


def test_figures_in_charts_are_whole(page: str, plan: Plan) -> None:
    provider = next(chart for chart in _SVG.findall(page) if 'id="by-provider-t"' in chart)
    beta = sum(one.usd for one in plan.purchases if one.offer.startswith("beta/"))
    assert f">{beta:,.2f} ({beta / plan.total_usd:.0%})<" in provider


def test_the_timeline_tells_bought_from_used(plan: Plan) -> None:
    found = {(lane.name, lane.is_machine): lane for lane in lanes(plan)}
    bought = next(lane for lane in lanes(plan) if lane.name == "acme here")
    assert (bought.most, bought.range) == (2, "2")
    assert found["tune", False].most == 8
    used = sum(lane.most for lane in lanes(plan) if lane.name == "chat for us-east")
    assert used == 11


def test_capacity_is_never_below_the_load(plan: Plan) -> None:
    (chat,) = service_loads(plan)
    assert len(chat.slots) == 27
    assert all(slot.capacity_per_s >= slot.load_per_s - 1e-6 for slot in chat.slots)
    assert chat.peak.load_per_s == pytest.approx(11)
    assert chat.peak.capacity_per_s == pytest.approx(11)  # eleven replicas of one request/s
    assert chat.peak.low_capacity_per_s == pytest.approx(0.8 / 0.85 * 11)  # the margin is off it
    assert chat.peak.spot_capacity_per_s == pytest.approx(3)


def test_rates_at_the_bad_end_of_their_bands_are_sure_and_told_as_such(plan: Plan) -> None:
    policy = plan.workloads.policy.model_copy(update={"safety_margin": "from_error_band"})
    workloads = plan.workloads.model_copy(update={"policy": policy})
    careful = plan.model_copy(update={"workloads": workloads})
    (chat,) = service_loads(careful)
    assert chat.peak.low_capacity_per_s == chat.peak.capacity_per_s
    (file,) = export(careful, "html")
    assert "estimated rates are those at the bad end of their error bands." in file.text


def test_prices_over_time_and_explanations_are_told_where_they_are_known(plan: Plan) -> None:
    offer = plan.purchases[-1].offer
    steps = (
        PriceStep(START - timedelta(days=9), START - timedelta(days=4), Decimal("0.25")),
        PriceStep(START - timedelta(days=4), START - timedelta(days=1), Decimal(9), is_held=True),
        PriceStep(START - timedelta(days=1), START, Decimal("0.15")),
    )
    extras = Extras(
        prices=(PricePath(offer, steps), PricePath("other/offer/here@spot", steps)),
        told=(
            Told("Near plan 1", ("It is <near>.",)),
            Told(plan.purchases[0].id, ("No rule binds it.",)),
        ),
    )
    (file,) = export(plan, "html", extras)
    assert "cost 0.2500 USD a node-hour on 2026-11-22 and 0.1500 since 2026-11-30" in file.text
    assert 'id="price-0-t"' in file.text
    assert 'id="price-1-t"' not in file.text  # of an offer that is not bought
    assert "It is &lt;near&gt;." in file.text
    assert "so its hours cost nothing more. No rule binds it.</p>" in file.text
    assert "there is no history to draw" not in file.text


def test_without_known_prices_the_page_says_so(page: str) -> None:
    assert "there is no history to draw" in page


def test_the_page_tells_the_cost_in_each_scenario() -> None:
    plan = over_scenarios()
    told = plan.scenarios
    assert told is not None
    (file,) = export(plan, "html")
    (table,) = re.findall(r'<table id="scenarios">.*?</table>', file.text, re.DOTALL)
    rows = [
        [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[dh]\b.*?</t[dh]>", row)]
        for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)
    ]
    assert rows[1:3] == [
        [
            one.name,
            f"{one.probability:.0%}".replace("%", " %"),
            f"{one.total_usd:,.2f}",
            f"{one.rented_node_hours:,.0f}",
            str(one.most_rented_nodes),
        ]
        for one in told.scenarios
    ]
    assert [row[:2] for row in rows[3:]] == [
        ["mean of scenarios", f"{told.mean_usd:,.2f}"],
        ["mean of the worst", f"{told.cvar_usd:,.2f}"],
        ["both, weighed, minimized", f"{told.objective_usd:,.2f}"],
    ]
    assert "Total for 1 day, as forecast</dt>" in file.text
    assert "USD over all scenarios, gap" in file.text


def over_scenarios() -> Plan:
    of = with_workloads(
        hedged_case(probability=0.5),
        {"policy.robust.measure": "cvar", "policy.robust.alpha": 0.8, "policy.robust.weight": 0.4},
    )
    return assembled(of, optimize(of, EXACT))


def test_a_page_without_scenarios_says_nothing_of_them(page: str) -> None:
    assert "scenario" not in page
    assert "as forecast" not in page


def test_where_there_is_no_plan_the_page_says_why() -> None:
    (file,) = export(plan_of_nothing(), "html")
    assert "There is no plan" in file.text
    assert "Why there is none" in file.text
    assert "too slow" in file.text
    assert not _SVG.findall(file.text)
