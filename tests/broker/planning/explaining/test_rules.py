from datetime import timedelta

import pytest
from batch_cases import batch_entry
from tiny_cases import run_entry, service_entry, workloads

from broker.domain.burst import Burst
from broker.domain.workload import Workloads
from broker.examples.catalog import examples
from broker.planning.explaining.policy_rules import all_rules
from broker.planning.explaining.rules import Rule
from broker.planning.workloads_file import parse_workloads


def rules(of: Workloads, *, may_extend: bool = False) -> dict[str, Rule]:
    return {rule.path: rule for rule in all_rules(of, (), may_extend=may_extend)}


def with_run(**more: object) -> Workloads:
    return workloads(training=[run_entry(3600, **more)], days=4, slot="6 h")


@pytest.mark.parametrize("text", [one.text for one in examples()])
def test_every_value_of_every_rule_is_one_that_the_file_may_have(text: str) -> None:
    of = parse_workloads(text, "example")
    found = all_rules(of, (), may_extend=True)
    assert len(found) >= 8
    for rule in found:
        assert rule.said(0) == rule.value
        assert rule.at(of, 0) == of
        for step in (1, rule.steps // 2, rule.steps):
            if step:
                assert rule.at(of, step) != of, rule.path


def test_the_steps_of_several_rules_are_taken_together() -> None:
    of = workloads(
        services=[service_entry(1, 2)],
        quotas=[{"provider": "acme", "gpus": 4}],
        policy={"providers": {"deny": ["a", "b"]}},
    )
    found = all_rules(of, ())
    denied = [rule for rule in found if rule.path == "policy.providers.deny"]
    quota = next(rule for rule in found if rule.path == "quotas[0].gpus")
    changed = of
    for rule, step in ((denied[0], 1), (denied[1], 1), (quota, 3)):
        changed = rule.at(changed, step)
    assert changed.policy.providers.deny == ()
    assert changed.quotas[0].gpus == 7


def test_an_objective_is_loosened_by_ten_milliseconds_up_to_ten_times() -> None:
    rule = rules(workloads(services=[service_entry(1, 2)]))["services.chat.slo.ttft.p95"]
    assert (rule.value, rule.said(1), rule.said(rule.steps)) == ("1 s", "1.01 s", "10 s")


def test_a_deadline_moves_by_slots_to_the_end_of_the_horizon() -> None:
    of = with_run()
    rule = rules(of)["training.tune.window.deadline"]
    assert (rule.value, rule.said(1)) == ("2026-12-02 00:00", "2026-12-02 06:00")
    assert rule.at(of, rule.steps).training[0].window.deadline == of.horizon.end


def test_past_the_end_the_horizon_grows_with_the_deadline() -> None:
    of = with_run()
    rule = rules(of, may_extend=True)["training.tune.window.deadline"]
    longer = rule.at(of, rule.steps)
    assert longer.training[0].window.deadline - of.horizon.end == timedelta(days=7)
    assert longer.horizon.days == 11
    assert rule.said(rule.steps) == "2026-12-12 00:00, in a longer horizon"


def test_a_window_that_reaches_past_the_horizon_needs_only_a_longer_one() -> None:
    of = with_run(window={"earliest": "2026-12-01", "deadline": "2027-01-01"})
    rule = rules(of, may_extend=True)["training.tune.window.deadline"]
    changed = rule.at(of, 4)
    assert changed.training[0].window == of.training[0].window
    assert changed.horizon.days == 5


def test_a_budget_goes_to_the_next_whole_dollar_first() -> None:
    of = workloads(services=[service_entry(1, 2)], policy={"budget_usd_per_month": "100.50"})
    rule = rules(of)["policy.budget_usd_per_month"]
    assert (rule.value, rule.said(1), rule.can_save) == ("100.50", "101", False)
    assert rule.at(of, 1).policy.budget_usd_per_month == 101


def test_what_is_as_loose_as_can_be_is_no_rule() -> None:
    of = workloads(
        services=[service_entry(1, 2, spot={"max_share": 1.0}, min_replicas=0)],
        policy={"allow_stale": True, "max_groups": 4},
    )
    assert rules(of).keys() == {
        "services.chat.slo.ttft.p95",
        "services.chat.slo.tpot.p95",
        "services.chat.max_network_rtt",
        "services.chat.precisions",
    }


def test_a_daily_job_may_end_hours_later_while_the_same_days_are_planned() -> None:
    of = workloads(days=2, slot="6 h", batch=[batch_entry(by="18:00", gpu_models=["L40S"])])
    found = rules(of)
    ladder = found["batch.embed.by"]
    assert [ladder.said(step) for step in (1, ladder.steps)] == ["19:00 UTC", "00:00 UTC"]
    assert len(ladder.at(of, ladder.steps).runs) == len(of.runs) == 2
    assert found["batch.embed.gpu_models"].at(of, 1).batch[0].gpu_models == ()
    assert found["batch.embed.precisions"].said(1) == "bf16, fp8"


def test_the_window_of_a_job_that_is_done_once_moves_as_that_of_a_run() -> None:
    window = {"earliest": "2026-12-01T12:00:00Z", "deadline": "2026-12-02"}
    once = batch_entry(tokens_per_day=None, by=None, tokens=1e6, window=window)
    of = workloads(days=2, slot="6 h", batch=[once])
    found = rules(of)
    assert found["batch.embed.window.deadline"].said(1) == "2026-12-02 06:00"
    assert found["batch.embed.window.earliest"].said(1) == "2026-12-01 06:00"


def test_more_kinds_may_serve_for_a_time_where_some_may() -> None:
    of = workloads(services=[service_entry(1, 2)], policy={"burst": {"max_groups": 2}})
    more = rules(of)["policy.burst.max_groups"]
    assert (more.value, [more.said(step) for step in (1, 2)]) == ("2", ["3", "4"])
    loosest = more.at(of, 2).policy.burst
    assert loosest is not None
    assert loosest.max_groups == 4
    assert "policy.burst.max_groups" not in rules(workloads(services=[service_entry(1, 2)]))


def test_another_kind_for_a_day_each_is_asked_about_where_none_may_be() -> None:
    of = workloads(services=[service_entry(1, 2)], policy={"price_trend_per_year": -0.1})
    some = rules(of)["policy.burst"]
    assert (some.value, some.said(1), some.steps) == ("none", "max_groups 1, every 24 h", 1)
    looser = some.at(of, 1)
    assert looser.policy.burst == Burst(max_groups=1, change_every=timedelta(days=1))
    assert looser.policy.model_copy(update={"burst": None}) == of.policy
    scenarios = [{"name": "busy", "probability": 0.5}]
    for policy in ({"burst": {}}, {"max_groups": 4}, {"robust": {"scenarios": scenarios}}):
        others = workloads(services=[service_entry(1, 2)], policy=policy)
        assert "policy.burst" not in rules(others), policy
    assert "policy.burst" not in rules(with_run())


def test_replicas_may_go_sooner_and_kinds_are_no_more_where_they_stay_up() -> None:
    of = workloads(services=[service_entry(1, 2, min_up_time="8 h")])
    found = rules(of)
    assert "policy.max_groups" not in found
    sooner = found["services.chat.min_up_time"]
    assert (sooner.value, [sooner.said(step) for step in (1, 2, 3)]) == (
        "8 h",
        ["4 h", "2 h", "none"],
    )
    assert not sooner.at(of, 3).services[0].min_up_time


def test_a_months_budget_is_raised_and_may_save() -> None:
    budget = {"usd_per_calendar_month": 100}
    of = workloads(services=[service_entry(1, 2)], policy={"budgets": [budget]})
    rule = rules(of)["policy.budgets[0].usd_per_calendar_month"]
    assert (rule.value, rule.said(1), rule.can_save) == ("100.00", "101", True)
    assert rule.at(of, 1).policy.budgets[0].usd_per_calendar_month == 101
