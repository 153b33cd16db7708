"""The first files are whole, and planning takes them as they are."""

import re
import tomllib
from datetime import date
from pathlib import Path

import pytest

from broker.domain.errors import ConfigurationError
from broker.planning.starting import (
    RunAnswers,
    ServiceAnswers,
    Starter,
    setting_texts,
)
from broker.planning.workloads_file import parse_workloads
from broker.settings import Settings
from broker.settings_file import read_settings_file
from broker.specs.load import load_specs
from providers.registry import adapters


@pytest.fixture(scope="module")
def starter() -> Starter:
    return Starter(load_specs(), date(2026, 12, 30))


SERVICE = ServiceAnswers("llama-3.1-8b", 2.0, 5.0, 900, 200, "eu-west")


def test_workloads_have_what_was_answered(starter: Starter) -> None:
    text = starter.workloads_text(SERVICE, RunAnswers("Qwen/Qwen3-8B", 1.5e9, 20, "qlora"))
    made = parse_workloads(text, "made")
    (service,), (run,) = made.services, made.training
    curve = service.traffic.requests_per_s
    assert (service.model, curve.mean, curve.peak) == ("llama-3.1-8b", 2, 5)
    assert (service.sizes[0].input_tokens, service.sizes[0].output_tokens) == (900, 200)
    assert service.users == {"eu-west": 1}
    assert (run.name, run.tokens, run.method) == ("train-qwen-qwen3-8b", 1.5e9, "qlora")
    assert f"{made.horizon.start:%Y-%m-%d}" == "2026-12-31"  # the day after today
    assert f"{run.window.deadline:%Y-%m-%d}" == "2027-01-20"
    assert made.horizon.end > run.window.deadline


@pytest.mark.parametrize(
    ("service", "told"),
    [
        (None, "nothing to plan"),
        (ServiceAnswers("llama", 2, 5), "unknown model 'llama'"),
        (ServiceAnswers("llama-3.1-8b", 5, 2), "peak 2.0 is below mean 5.0"),
        (ServiceAnswers("llama-3.1-8b", 5, 7, users="moon"), "'moon'"),
        (ServiceAnswers("llama-3.1-8b", float("inf"), float("inf")), "finite"),
    ],
)
def test_answers_that_cannot_be_planned(
    starter: Starter, service: ServiceAnswers | None, told: str
) -> None:
    with pytest.raises(ConfigurationError, match=told):
        starter.workloads_text(service, None)


def test_every_setting_is_in_the_file_with_its_meaning(starter: Starter) -> None:
    text = starter.settings_text()
    assert set(setting_texts()) == set(Settings.model_fields)
    for name in set(Settings.model_fields) - {"keys", "regions"}:
        assert f"\n# {name} = " in text
    assert tomllib.loads(text) == {}


def test_every_line_of_the_file_can_be_used(starter: Starter, tmp_path: Path) -> None:
    """Without the signs of a comment it is a settings file with every default and every key."""
    lines = [line[2:] for line in starter.settings_text().splitlines() if line.startswith("# ")]
    used = [line for line in lines if re.match(r"\[|[a-z_]+ = ", line)]
    path = tmp_path / "settings.toml"
    path.write_text("\n".join(used), encoding="utf-8")
    read = read_settings_file(path, Settings.model_fields)
    made = Settings.model_validate(dict(read.values))
    assert made.max_usd_per_gpu_hour == Settings.model_fields["max_usd_per_gpu_hour"].default
    assert made.smtp_starttls is True
    wanted = {f"{one.name}_{key}" for one in adapters(load_specs(), made) for key in one.keys}
    assert set(read.keys) == wanted
