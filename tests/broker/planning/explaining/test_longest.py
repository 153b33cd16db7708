"""The longest duration of a run is a rule that explanations may loosen."""

from datetime import timedelta

from tiny_cases import run_entry, workloads

from broker.planning.explaining.workload_rules import run_rules


def test_a_longest_duration_is_loosened_step_by_step_and_then_dropped() -> None:
    of = workloads(training=[run_entry(3600, max_duration="16 h")])
    rules = run_rules(0, of.training[0], of.horizon, may_extend=False)
    (rule,) = [one for one in rules if one.path == "training.tune.max_duration"]
    assert (rule.value, rule.text(1), rule.text(rule.steps)) == ("16 h", "20 h", "no limit")
    assert rule.edits(of, 1) == {"training.0.max_duration": timedelta(hours=20)}
    assert rule.edits(of, rule.steps) == {"training.0.max_duration": None}


def test_a_run_without_one_has_no_such_rule() -> None:
    of = workloads(training=[run_entry(3600)])
    rules = run_rules(0, of.training[0], of.horizon, may_extend=False)
    assert not any(one.path.endswith("max_duration") for one in rules)
