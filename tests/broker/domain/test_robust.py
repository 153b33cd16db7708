from decimal import Decimal

import pytest
from pydantic import ValidationError
from tiny_cases import service_entry, workloads

from broker.domain.robust import Robust
from broker.domain.workload import Workloads

GROWTH = {"name": "growth", "probability": 0.2, "load": {"all": 1.5, "chat": 2.0}}


def robust(*scenarios: dict[str, object], **more: object) -> Workloads:
    policy = {"robust": {"scenarios": list(scenarios), **more}}
    return workloads(services=[service_entry(1, 1)], policy=policy)


def parsed(*scenarios: dict[str, object]) -> Robust:
    found = robust(*scenarios).policy.robust
    assert found is not None
    return found


def test_the_forecast_has_the_probability_that_the_others_leave() -> None:
    found = parsed(GROWTH, {"name": "slump", "probability": "0.3"})
    assert found.probabilities == {
        "forecast": Decimal("0.5"),
        "growth": Decimal("0.2"),
        "slump": Decimal("0.3"),
    }


def test_a_service_has_its_own_factor_or_that_of_all() -> None:
    (scenario,) = parsed(GROWTH).scenarios
    assert scenario.load_factor("chat") == 2.0
    assert scenario.load_factor("search") == 1.5
    (plain,) = parsed({"name": "dear", "probability": 1}).scenarios
    assert plain.load_factor("chat") == 1.0


@pytest.mark.parametrize(
    ("scenarios", "message"),
    [
        ([GROWTH, GROWTH], "'growth' is used twice"),
        ([{**GROWTH, "name": "forecast"}], "'forecast' is used twice"),
        ([{**GROWTH, "probability": 0.7}, {"name": "x", "probability": 0.4}], "add up to 1.1"),
        ([{**GROWTH, "probability": 0}], "greater than 0"),
        ([{**GROWTH, "load": {"all": 0}}], "greater than 0"),
        ([{**GROWTH, "load": {"chatt": 2}}], "'chatt', which is no service"),
        ([{**GROWTH, "prices": {"spot": -1}}], "greater than 0"),
        ([], "at least 1 item"),
    ],
)
def test_scenarios_that_make_no_sense_are_refused(
    scenarios: list[dict[str, object]], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        robust(*scenarios)


def test_scenarios_are_had_with_promises_moves_and_pools() -> None:
    policy = {
        "robust": {"scenarios": [GROWTH]},
        "churn": {"in_plan": True},
        "commitments": {"savings_plans": True},
    }
    found = workloads(services=[service_entry(1, 1, disaggregated=True)], policy=policy)
    assert found.policy.robust is not None
    assert found.policy.churn.in_plan


def test_a_policy_without_scenarios_is_written_as_ever() -> None:
    plain = workloads(services=[service_entry(1, 1)])
    assert "robust" not in plain.model_dump_json(by_alias=True)
    told = robust(GROWTH)
    assert Workloads.model_validate_json(told.model_dump_json(by_alias=True)) == told
