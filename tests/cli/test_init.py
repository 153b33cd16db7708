import stat
import tomllib
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest
from command_line import Ended, Gpubroker
from typer.testing import CliRunner

from broker.domain.errors import ConfigurationError
from broker.planning.workloads_file import read_workloads
from cli.app import app


@pytest.fixture
def init(gpubroker: Gpubroker, tmp_path: Path) -> Gpubroker:
    """Run `init` with both files in the folder of the test."""
    places = ("--settings", str(tmp_path / "conf/s.toml"), "--workloads", str(tmp_path / "w.yaml"))
    return lambda *flags: gpubroker("init", *places, *flags)


def answered(tmp_path: Path, answers: Sequence[str]) -> tuple[int, str, BaseException | None]:
    arguments = ["init", "--settings", str(tmp_path / "s"), "--workloads", str(tmp_path / "w.yaml")]
    ended = CliRunner().invoke(app, arguments, input="".join(f"{one}\n" for one in answers))
    return ended.exit_code, ended.stderr, ended.exception


def test_flags_make_both_files_without_a_question(init: Gpubroker, tmp_path: Path) -> None:
    ended: Ended = init(
        "--yes", "--model", "qwen3-8b", "--requests-per-s", "3", "--users", "eu-west",
        "--train-model", "mistral-7b", "--train-tokens", "2e8", "--train-days", "3",
    )  # fmt: skip
    assert (ended.code, ended.out) == (0, "")
    assert "gpubroker plan" in ended.err
    made = read_workloads(tmp_path / "w.yaml", date(2026, 12, 1))
    assert made.services[0].traffic.requests_per_s.mean == 3
    assert made.training[0].tokens == 2e8
    settings = tmp_path / "conf/s.toml"
    assert tomllib.loads(settings.read_text(encoding="utf-8")) == {}
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600


def test_nothing_is_overwritten_without_force(init: Gpubroker, tmp_path: Path) -> None:
    assert init("--yes").code == 0
    (tmp_path / "w.yaml").write_text("mine", encoding="utf-8")
    refused = init("--yes")
    assert refused.code == 2
    assert "exists and is not overwritten" in refused.err
    assert (tmp_path / "w.yaml").read_text(encoding="utf-8") == "mine"


def test_settings_that_are_there_are_kept(init: Gpubroker, tmp_path: Path) -> None:
    settings = tmp_path / "conf/s.toml"
    settings.parent.mkdir()
    settings.write_text("stale_after_h_spot = 3", encoding="utf-8")
    ended = init("--yes")
    assert (ended.code, settings.read_text(encoding="utf-8")) == (0, "stale_after_h_spot = 3")
    assert "kept as it is" in ended.err


def test_force_overwrites_and_keeps_old_settings_beside(init: Gpubroker, tmp_path: Path) -> None:
    assert init("--yes").code == 0
    settings = tmp_path / "conf/s.toml"
    settings.write_text("stale_after_h_spot = 3", encoding="utf-8")
    assert init("--yes", "--force", "--model", "phi-4").code == 0
    assert read_workloads(tmp_path / "w.yaml", date(2026, 12, 1)).services[0].model == "phi-4"
    assert (tmp_path / "conf/s.toml.bak").read_text(encoding="utf-8") == "stale_after_h_spot = 3"
    assert "stale_after_h_spot = 24" in settings.read_text(encoding="utf-8")


@pytest.mark.usefixtures("data_dir")
def test_questions_are_asked_again_until_they_are_answered(tmp_path: Path) -> None:
    answers = ["llama-3.1-80b", "llama-3.1-8b", "4", "9", "mars", "eu-west", "-"]
    code, asked, _ = answered(tmp_path, answers)
    assert code == 0
    assert "unknown model 'llama-3.1-80b'; did you mean" in asked
    made = read_workloads(tmp_path / "w.yaml", date(2026, 12, 1))
    assert made.training == ()
    assert made.services[0].users == {"eu-west": 1}
    assert made.services[0].traffic.requests_per_s.peak == 9


@pytest.mark.usefixtures("data_dir")
def test_questions_without_answers_name_the_flags(tmp_path: Path) -> None:
    code, _, error = answered(tmp_path, ["llama-3.1-8b"])
    assert code == 1
    assert isinstance(error, ConfigurationError)
    assert "--yes" in error.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--model", "mistrl-7b"], "did you mean one of: mistral-7b"),
        (["--model", "-"], "there is nothing to plan"),
        (["--requests-per-s", "5", "--peak-requests-per-s", "2"], "peak 2.0 is below mean 5.0"),
    ],
)
def test_an_answer_that_cannot_be_writes_nothing(
    init: Gpubroker, tmp_path: Path, flags: list[str], told: str
) -> None:
    ended = init("--yes", *flags)
    assert ended.code == 2
    assert told in ended.err
    assert not (tmp_path / "w.yaml").exists()
    assert not (tmp_path / "conf").exists()


def test_one_file_cannot_be_both(init: Gpubroker, tmp_path: Path) -> None:
    ended = init("--yes", "--force", "--settings", str(tmp_path / "w.yaml"))
    assert ended.code == 2
    assert "cannot be both the settings and the workloads file" in ended.err
    assert not (tmp_path / "w.yaml").exists()


@pytest.mark.long
def test_the_first_workloads_file_is_planned_at_once(
    init: Gpubroker, gpubroker: Gpubroker, tmp_path: Path
) -> None:
    assert init("--yes").code == 0
    ended = gpubroker("plan", str(tmp_path / "w.yaml"), "--recorded")
    assert ended.code == 0, ended.err
    assert "serve-llama-3.1-8b" in ended.out
