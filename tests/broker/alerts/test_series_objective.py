"""The load of a forecast, held against a plan whose horizon began on another day."""

from datetime import timedelta

import pytest
from export_plans import START, Parts, bought, machine, plan, served
from tiny_cases import service_entry

from broker.alerts.finders.objective import objective_at_risk
from broker.alerts.night import Night
from broker.domain.margin import SafetyMargin

RENTED = machine("beta/box/east", usd="50")
CALM = service_entry(0.5, 1)
SURGE_FIRST = {"requests_per_s": {"step": "24 h", "by_size": [[1000.0, 0.5]]}}


@pytest.mark.parametrize(
    ("margin", "told"),
    [
        (0.2, "the safety margin of 20% on estimated rates is already taken off"),
        ("from_error_band", "estimated rates are those at the bad end of their error bands"),
    ],
)
def test_the_margin_that_is_off_already_is_told(margin: SafetyMargin, told: str) -> None:
    parts = Parts(
        purchases=[bought(RENTED, (0, 48, 1))],
        serving=[served(RENTED, (0, 48, 1, 1.0))],
        services=[service_entry(9, 9)],
    )
    made = plan([RENTED], parts)
    policy = made.workloads.policy.model_copy(update={"safety_margin": margin})
    demand = made.workloads.model_copy(update={"policy": policy})
    made = made.model_copy(update={"workloads": demand})
    night = Night(now=START, workloads="w.yaml", in_force=made, made=made, adopted=False)
    (alert,) = objective_at_risk(night)
    assert told in alert.facts


def test_a_surge_is_told_for_the_day_on_which_the_forecast_has_it() -> None:
    """The plan began a day before tonight's forecast, whose first day has more than it answers."""
    parts = Parts(
        purchases=[bought(RENTED, (0, 48, 1))],
        serving=[served(RENTED, (0, 48, 4, 1.0))],
        services=[CALM],
    )
    in_force = plan([RENTED], parts)
    horizon = in_force.workloads.horizon
    assert (horizon.start, horizon.days) == (START, 2)
    tomorrow = START + timedelta(days=1)
    asked = Parts(purchases=[], services=[service_entry(1, 1, traffic=SURGE_FIRST)])
    surge = plan([RENTED], asked).workloads
    later = horizon.model_copy(update={"start": tomorrow})
    made = in_force.model_copy(update={"workloads": surge.model_copy(update={"horizon": later})})
    night = Night(now=START, workloads="w.yaml", in_force=in_force, made=made, adopted=False)
    (alert,) = objective_at_risk(night)
    assert alert.since == tomorrow
