"""Latency objectives by the name of a preset."""

from datetime import timedelta

import pytest
from pydantic import ValidationError
from tiny_cases import service_entry, workloads

from broker.domain.latency import LatencyObjective, Preset
from broker.domain.workload import Workloads


def objective(slo: object) -> LatencyObjective:
    return workloads(services=[service_entry(1, 1, slo=slo)]).services[0].slo


@pytest.mark.parametrize(
    ("name", "ttft", "tpot"),
    [("chat", (0.99, 0.45), (0.99, 0.04)), ("document", (0.99, 6.0), (0.99, 0.175))],
)
def test_a_preset_gives_the_limits_of_its_benchmark(
    name: str, ttft: tuple[float, float], tpot: tuple[float, float]
) -> None:
    found = objective(name)
    assert found.preset is Preset(name)
    assert (found.ttft.share, found.ttft.limit_s) == ttft
    assert (found.tpot.share, found.tpot.limit_s) == tpot


def test_a_limit_beside_a_preset_holds_instead() -> None:
    found = objective({"preset": "chat", "ttft": {"p95": "2 s"}})
    assert (found.ttft.share, found.ttft.limit_s) == (0.95, 2.0)
    assert found.tpot.p99 == timedelta(milliseconds=40)


def test_a_plan_shows_the_limits_and_is_read_again_as_it_is() -> None:
    of = workloads(services=[service_entry(1, 1, slo="batch")])
    text = of.model_dump_json(by_alias=True)
    assert '"preset":"batch","ttft":{"p50":"PT1M"' in text
    assert Workloads.model_validate_json(text, strict=False) == of


@pytest.mark.parametrize("slo", ["talk", {"preset": "talk"}])
def test_an_unknown_preset_is_refused_with_those_there_are(slo: object) -> None:
    with pytest.raises(ValidationError, match="'talk' is no preset; write one of chat, document"):
        objective(slo)


def test_limits_without_a_preset_are_both_asked_for() -> None:
    with pytest.raises(ValidationError, match="tpot"):
        objective({"ttft": {"p95": "1 s"}})
