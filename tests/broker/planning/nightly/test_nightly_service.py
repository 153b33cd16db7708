"""Whole nights over a small shop: what is kept, decided and told, and how one goes on.

The nights follow each other, as each is planned against what the one before left behind.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from nights import EVENING, RUN, Nights, wish

from broker.domain.errors import ConfigurationError
from broker.domain.plan import Plan
from broker.journal.records import Opening, State, Step
from broker.planning.nightly.deciding import Verdict
from broker.planning.nightly.outcomes import DiffOutcome, PlanOutcome
from broker.planning.nightly.service import NightReport
from broker.purchases.identity import plan_hash
from broker.purchases.plan_book import PlanBook
from broker.store.database import open_store
from broker.store.place import Place

KEPT_USD = Decimal("0.001544")
"""A checkpoint of 41.9 million adapter parameters, 14 B each: 12 h at 0.16 USD a GB and month."""


@pytest.fixture(scope="module")
def nights(new_place: Callable[[], Place], tmp_path_factory: pytest.TempPathFactory) -> Nights:
    nights = Nights(new_place(), tmp_path_factory.mktemp("nights"))
    nights.now = EVENING - timedelta(days=1)  # the fourth night comes before the run begins
    return nights


@pytest.fixture(scope="module")
def book(nights: Nights) -> PlanBook:
    return PlanBook(open_store(nights.settings))


@pytest.fixture(scope="module")
def first(nights: Nights) -> NightReport:
    """Run a first night, which is broken off when its plan is made."""

    def interrupted(step: str) -> None:
        if step.startswith("checking, comparing"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nights.service().night(nights.workloads, wish(), interrupted)
    nights.shop.prices = {"box": "9.99"}  # what comes later is no part of this night
    return nights.service().night(nights.workloads, wish())


@pytest.fixture(scope="module")
def cheaper(nights: Nights, first: NightReport) -> NightReport:
    """Run the next night, when another machine costs a third."""
    assert first.outcome
    nights.now += timedelta(days=1)
    nights.shop.prices = {"box": "2.00", "lot": "0.90", "pod": "0.80"}
    return nights.service().night(nights.workloads, wish())


@pytest.fixture(scope="module")
def quiet(nights: Nights, cheaper: NightReport) -> NightReport:
    """Run the night after that, when another one costs a little less."""
    assert cheaper.outcome
    nights.now += timedelta(days=1)
    nights.shop.prices = {"box": "2.00", "lot": "0.75", "pod": "0.80"}
    return nights.service().night(nights.workloads, wish())


@pytest.fixture(scope="module")
def doubted(nights: Nights, quiet: NightReport) -> NightReport:
    """Run a night in which the price of what is in use falls beyond belief."""
    assert quiet.outcome
    nights.now += timedelta(days=1)
    nights.shop.prices = {"box": "2.00", "lot": "0.75", "pod": "0.30"}
    return nights.service().night(nights.workloads, wish())


def planned(report: NightReport) -> PlanOutcome:
    assert report.outcome
    return report.outcome.planned


def verdict(report: NightReport) -> Verdict:
    assert report.outcome
    return report.outcome.decided.verdict


def test_a_night_that_was_broken_off_goes_on_with_its_own_prices_and_plan(
    first: NightReport,
) -> None:
    assert first.opening is Opening.RESUMED
    assert first.run
    assert first.run.state is State.DONE
    assert [(one.step, one.attempt, one.state) for one in first.steps] == [
        (step, 1, State.DONE) for step in Step
    ]
    # twelve hours at 2.00, not at 9.99; and a checkpoint of the adapters is kept
    assert planned(first).total_usd == 24 + KEPT_USD
    assert verdict(first) is Verdict.FIRST


def test_the_plan_of_a_night_is_kept_and_in_force(first: NightReport, book: PlanBook) -> None:
    digest = planned(first).plan
    kept = book.plan(digest)
    assert (plan_hash(kept), kept.total_usd) == (digest, planned(first).total_usd)
    record = book.record(digest)
    assert record
    assert (record.is_adopted, record.workloads) == (True, ("team",))


def test_each_step_has_what_it_was_made_from(first: NightReport) -> None:
    inputs = {one.step: json.loads(one.inputs) for one in first.steps}
    outcomes = {one.step: json.loads(one.outcome) for one in first.steps}
    assert inputs[Step.PRICE]["catalog"] == "store"
    assert inputs[Step.PLAN] == {
        "snapshot": outcomes[Step.PRICE]["snapshot"],
        "workloads_sha256": inputs[Step.PRICE]["workloads_sha256"],
        "gap_fraction": 0.0,
        "time_limit_s": 30.0,
        "seed": 0,
    }
    assert inputs[Step.VERIFY]["plan"] == planned(first).plan


def test_a_better_plan_is_adopted_and_told_with_its_saving(
    cheaper: NightReport, nights: Nights, book: PlanBook
) -> None:
    assert verdict(cheaper) is Verdict.BETTER
    diff = DiffOutcome.model_validate_json(cheaper.steps[3].outcome)
    assert (diff.before_usd, diff.saving_usd) == (24 + KEPT_USD, Decimal("14.4"))
    assert diff.disturbed_nodes == 1
    in_force = book.in_force("team")
    assert in_force
    assert plan_hash(in_force) == planned(cheaper).plan
    message = json.loads(nights.told()[1])
    assert message["title"].endswith(
        "saves $14.40 in 0.5 days"
    )  # twelve hours are another machine's
    (alert,) = (one["alert"] for one in message["news"])
    assert alert["action"] == f"gpubroker approve {planned(cheaper).plan[:12]} --by NAME"
    assert alert["facts"][0] == (
        "1. tune: from 1 × acme/box/here@on_demand to 1 × acme/pod/here@on_demand: saves $14.40"
    )


def test_a_little_better_plan_is_kept_as_a_draft_and_nobody_hears_of_it(
    quiet: NightReport, nights: Nights, book: PlanBook
) -> None:
    assert verdict(quiet) is Verdict.KEEP
    record = book.record(planned(quiet).plan)
    assert record
    assert not record.is_adopted
    assert len(nights.told()) == 2
    assert len(book.records()) >= 3


def test_a_price_that_is_doubted_moves_nothing_before_it_is_confirmed(
    doubted: NightReport,
) -> None:
    diff = DiffOutcome.model_validate_json(doubted.steps[3].outcome)
    assert diff.cannot_go_on == ()
    # twelve hours at the last trusted price, 0.80
    assert diff.before_usd == Decimal("9.6") + KEPT_USD
    assert verdict(doubted) is Verdict.KEEP


def test_a_second_run_of_a_date_does_nothing_and_says_so(
    doubted: NightReport, nights: Nights
) -> None:
    again = nights.service().night(nights.workloads, wish())
    assert again.opening is Opening.DONE
    assert (again.run, again.outcome) == (doubted.run, doubted.outcome)
    assert len(nights.service().journal.runs("team")) == 4


def test_a_past_night_that_is_made_up_changes_nothing_and_tells_nobody(
    new_place: Callable[[], Place], tmp_path: Path
) -> None:
    nights = Nights(new_place(), tmp_path)
    nights.now = EVENING - timedelta(days=3)
    nights.shop.prices = {"box": "2.00", "pod": "0.99"}  # of these, pod would be a better plan
    other = tmp_path / "other.yaml"
    other.write_text(RUN, encoding="utf-8")
    nights.service().night(other, wish())
    nights.now = EVENING
    nights.shop.prices = {"box": "1.25", "pod": "1.35"}
    last = nights.service().night(nights.workloads, wish())
    told = nights.told()
    made_up = nights.service().night(
        nights.workloads, wish(on=(EVENING - timedelta(days=2)).date())
    )
    assert planned(made_up).total_usd < planned(last).total_usd
    assert verdict(made_up) is Verdict.KEEP
    assert made_up.outcome
    assert made_up.outcome.decided.why == (
        "the night of 2026-11-28 is done already: an earlier one changes nothing",
    )
    in_force = PlanBook(open_store(nights.settings)).in_force("team")
    assert in_force
    assert plan_hash(in_force) == planned(last).plan
    nights.workloads.write_text("services: [", encoding="utf-8")
    with pytest.raises(ConfigurationError):
        nights.service().night(nights.workloads, wish(on=(EVENING - timedelta(days=1)).date()))
    assert nights.told() == told


def test_another_file_of_the_same_name_is_refused(
    quiet: NightReport, nights: Nights, tmp_path: Path
) -> None:
    assert quiet.outcome
    other = tmp_path / "team.yaml"
    other.write_text(RUN, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="two workloads files are called 'team'"):
        nights.service().night(other, wish())


def test_a_date_to_come_cannot_be_priced(nights: Nights) -> None:
    with pytest.raises(ConfigurationError, match="is to come"):
        nights.service().night(nights.workloads, wish(on=EVENING.date() + timedelta(days=40)))


def test_a_file_that_cannot_be_read_and_a_horizon_that_is_over_are_told_once(
    place: Place, tmp_path: Path
) -> None:
    nights = Nights(place, tmp_path, "services: [")
    for _ in range(2):
        with pytest.raises(ConfigurationError):
            nights.service().night(nights.workloads, wish())
    nights.workloads.write_text(RUN.replace("2026-12-", "2026-10-"), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"ended on 2026-10-03"):
        nights.service().night(nights.workloads, wish())
    unread, over = (json.loads(one) for one in nights.told())
    assert [one["event"] for one in unread["news"]] == ["raised"]
    assert [one["event"] for one in over["news"]] == ["changed"]
    assert "nothing to plan" in over["news"][0]["alert"]["facts"][0]
    (run,) = nights.service().journal.runs("team")
    assert (run.state, run.steps[0].state) == (State.FAILED, State.FAILED)
    assert "write `start: today`" in run.hint


def _line(plan: Plan) -> str:
    return plan.purchases[0].id


def test_a_night_weighs_moved_nodes_in_its_plan_where_the_policy_asks(
    new_place: Callable[[], Place], tmp_path: Path
) -> None:
    """A node elsewhere costs 1.20 USD an hour less, which is less than moving counts as."""
    asking = RUN.replace("usd_per_moved_node: 1", "usd_per_moved_node: 100, in_plan: true")
    nights = Nights(new_place(), tmp_path, asking)
    nights.now = EVENING - timedelta(days=1)
    first = nights.service().night(nights.workloads, wish())
    nights.now += timedelta(days=1)
    nights.shop.prices = {"box": "2.00", "pod": "0.80"}
    second = nights.service().night(nights.workloads, wish())
    book = PlanBook(open_store(nights.settings))
    plans = [book.plan(one.outcome.planned.plan) for one in (first, second) if one.outcome]
    assert [one.in_force and one.in_force[0].line for one in plans] == [None, _line(plans[0])]
    assert _line(plans[0]) == _line(plans[1])
    assert second.outcome
    assert second.outcome.decided.verdict is Verdict.KEEP
