"""Deadlines of batch jobs: told once for all days, and not for days that no plan had to do."""

from datetime import timedelta

from batch_cases import batch_entry
from export_plans import START, Parts, bought, machine, plan

from broker.alerts.finding import alerts_of
from broker.alerts.night import Night
from broker.domain.alert import Alert, AlertKind
from broker.domain.plan import Plan
from broker.domain.workload import Workloads

BOX = machine("acme/box/east")


def at_risk(in_force: Plan, **asked: object) -> list[Alert]:
    """Tell what is at risk of a night that asks for other workloads than the plan in force."""
    data = in_force.workloads.model_dump(by_alias=True) | asked
    demand = Workloads.model_validate(data, strict=False)
    night = Night(
        now=START,
        workloads="w.yaml",
        in_force=in_force,
        made=in_force.model_copy(update={"workloads": demand}),
        adopted=False,
        made_name="new.json",
    )
    found = [one for one in alerts_of(night) if one.kind is AlertKind.DEADLINE_AT_RISK]
    return [one for one in found if one.subject.startswith("embed")]


def test_a_daily_job_at_risk_is_told_once_by_its_first_day() -> None:
    in_force = plan([BOX], Parts(purchases=[bought(BOX, (0, 48, 1))]))
    (alert,) = at_risk(in_force, batch=[batch_entry(by="06:00 UTC")])
    assert (alert.subject, alert.state) == ("embed", "unplanned for 06:00")
    assert "embed@2026-12-01" in alert.title
    assert "deadline 2026-12-01 06:00 UTC" in alert.facts


def test_a_day_that_the_plan_in_force_cuts_is_not_told_as_unplanned() -> None:
    """Tonight's file begins on the plan's last day; the job's one day ends after the plan."""
    in_force = plan([BOX], Parts(purchases=[bought(BOX, (0, 48, 1))]))
    later = {"start": in_force.workloads.horizon.end - timedelta(days=1), "days": 2}
    job = batch_entry(after="07:00 UTC", by="06:00 UTC")
    assert at_risk(in_force, batch=[job], horizon=later) == []
