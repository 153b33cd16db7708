import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from explained_files import DEAR, FAR, GANG, RENTED, run_file, service_file, sheet_file

from broker.domain.explanation import Relaxation
from broker.domain.plan import Plan, Status
from broker.domain.workload import Workloads
from broker.planning.explaining.ground import Ground
from broker.planning.explaining.policy_rules import all_rules
from broker.planning.explaining.relaxing import relaxing
from broker.planning.explaining.rules import Rule
from solver.milp.optimize import optimize
from solver.milp.solve import Limits

MakeGround = Callable[[Path, Path], Ground]
ONE_QUOTA = "quotas: [{provider: aws, gpus: 1}]"
SMALL_BUDGET = "policy: {budget_usd_per_month: 2000.50}"


def has_plan(ground: Ground, workloads: Workloads) -> bool:
    case = ground.sources.case_of(workloads)
    return optimize(case, Limits(0.0, 60)).status is not Status.INFEASIBLE


def steps_to(rule: Rule, text: str) -> int:
    """Find the steps after which a rule reads as the text says."""
    return next(step for step in range(20_000) if rule.said(step) == text)


def check_each_is_least(ground: Ground, relaxations: tuple[Relaxation, ...]) -> None:
    """Plan with the changes, and with each of them one step less, from the texts alone."""
    workloads = ground.plan.workloads
    rules = {
        one.path: one for one in all_rules(workloads, ground.sources.view.offers, may_extend=True)
    }
    for way in relaxations:
        steps = {one.rule: steps_to(rules[one.rule], one.enough) for one in way.changes}
        for less in (None, *steps):
            changed = workloads
            for path, count in steps.items():
                changed = rules[path].at(changed, count - (path == less))
            assert has_plan(ground, changed) is (less is None), (less, way)
        for one in way.changes:
            assert one.is_least
            assert one.one_step_less == rules[one.rule].said(steps[one.rule] - 1)


def most_nodes(plan: Plan) -> int:
    """Count the nodes of a plan's only line at its peak; a quota of one is too few."""
    (line,) = plan.purchases
    most = max(step.nodes for step in line.steps)
    assert most > 1
    return most


def test_a_quota_is_raised_by_as_many_gpus_as_are_missing(
    ground: MakeGround, tmp_path: Path
) -> None:
    """At its peak the service needs some nodes of one GPU; the quota has one."""
    sheet = sheet_file(tmp_path, RENTED)
    free = ground(service_file(tmp_path), sheet).plan
    most = most_nodes(free)
    asked = ground(service_file(tmp_path, ONE_QUOTA), sheet)
    found = relaxing(asked)
    quota = next(one for one in found.relaxations if one.changes[0].rule == "quotas[0].gpus")
    (change,) = quota.changes
    assert (change.value, change.enough, change.one_step_less) == ("1", f"{most}", f"{most - 1}")
    assert quota.total_usd == free.total_usd
    check_each_is_least(asked, found.relaxations)


def test_a_budget_is_raised_to_the_dollar_above_the_cheapest_plan(
    ground: MakeGround, tmp_path: Path
) -> None:
    sheet = sheet_file(tmp_path, RENTED, DEAR)
    free = ground(service_file(tmp_path), sheet).plan
    asked = ground(service_file(tmp_path, SMALL_BUDGET), sheet)
    found = relaxing(asked)
    budget = next(one for one in found.relaxations if "budget" in one.changes[0].rule)
    least = math.ceil(free.total_usd * 730 / 24)
    assert budget.changes[0].enough == f"{least:,}"
    assert budget.changes[0].one_step_less == f"{least - 1:,}"
    assert "policy.budget_usd_per_month 2,000.50" in found.clashing
    check_each_is_least(asked, found.relaxations)


def test_an_hours_budget_is_raised_to_the_peak(ground: MakeGround, tmp_path: Path) -> None:
    sheet = sheet_file(tmp_path, RENTED)
    most = most_nodes(ground(service_file(tmp_path), sheet).plan)
    policy = "policy: {budgets: [{provider: aws, usd_per_hour: 3}, {usd: 5, over_usd_per_usd: 1}]}"
    found = relaxing(ground(service_file(tmp_path, policy), sheet))
    (way,) = [one for one in found.relaxations if "budgets" in one.changes[0].rule]
    (change,) = way.changes
    least = math.ceil(most * 2.30)
    assert change.rule == "policy.budgets[0].usd_per_hour"
    assert (change.enough, change.one_step_less) == (f"{least}", f"{least - 1}")
    assert "policy.budgets[0].usd_per_hour 3.00" in found.clashing


def test_a_deadline_moves_by_whole_slots_or_more_gpus_are_used(
    ground: MakeGround, tmp_path: Path
) -> None:
    asked = ground(run_file(tmp_path), sheet_file(tmp_path, GANG))
    found = relaxing(asked)
    (option,) = asked.case.training
    seconds = 1e9 / option.candidate.tokens_per_s + option.candidate.startup_s
    hours = math.ceil(seconds / 3600)
    assert hours > 3
    later, wider = found.relaxations
    assert later.changes[0].enough == f"2026-12-01 {hours:02}:00"
    assert float(later.total_usd) == pytest.approx(hours * 32.77)
    assert wider.changes[0].rule == "training.tune.hardware.gpus"
    check_each_is_least(asked, found.relaxations)


def test_a_region_is_allowed_that_is_enough_and_no_more(ground: MakeGround, tmp_path: Path) -> None:
    more = "policy: {regions: {allow: [us]}}"
    sheet = sheet_file(tmp_path, RENTED, DEAR, FAR)
    found = relaxing(ground(service_file(tmp_path, more), sheet))
    (way,) = found.relaxations
    assert way.changes[0].enough == "us, aws/eu-central-1"
    assert way.changes[0].one_step_less == "us"


def test_rules_that_clash_only_together_are_loosened_together(
    ground: MakeGround, tmp_path: Path
) -> None:
    """More nodes are needed where one may be had, and cost more than there is."""
    sheet = sheet_file(tmp_path, RENTED)
    free = ground(service_file(tmp_path), sheet).plan
    asked = ground(service_file(tmp_path, f"{ONE_QUOTA}\n{SMALL_BUDGET}"), sheet)
    found = relaxing(asked)
    limits = next(one for one in found.relaxations if one.changes[0].rule == "quotas[0].gpus")
    assert [(one.rule, one.enough) for one in limits.changes] == [
        ("quotas[0].gpus", f"{most_nodes(free)}"),
        ("policy.budget_usd_per_month", f"{math.ceil(free.total_usd * 730 / 24):,}"),
    ]
    check_each_is_least(asked, found.relaxations)


def test_where_nothing_fits_at_all_the_reasons_of_the_plan_are_told(
    ground: MakeGround, tmp_path: Path
) -> None:
    """A card of 16 GiB holds no 70 billion parameters, at any latency and in any precision."""
    workloads = service_file(tmp_path)
    workloads.write_text(workloads.read_text().replace("mistral-7b", "llama-3.1-70b"))
    asked = ground(
        workloads, sheet_file(tmp_path, "azure,t4,T4,1,westeurope,on_demand,0.5,USD,2026-11-20,,")
    )
    late = relaxing(replace(asked, ends_at_s=time.monotonic()))
    assert (late.relaxations, late.is_whole) == ((), False)
    found = relaxing(asked)
    assert found.relaxations == ()
    assert found.is_whole
    assert found.hopeless == asked.plan.warnings
    assert "chat cannot serve eu-central" in found.hopeless[0]
