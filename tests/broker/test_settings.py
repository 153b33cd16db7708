"""Settings come from the environment, then from a file; what is wrong is told with its place."""

import os
import re
from decimal import Decimal
from pathlib import Path

import pytest

from broker.domain.errors import ConfigurationError
from broker.settings import Settings, load_settings, unknown_variables

FILE = """
database = "postgresql://me:hunter2@host/db"
stale_after_h_spot = 12.5
max_usd_per_gpu_hour = 55.25
data_dir = "kept/here"
mail_to = ["ops@example.com"]

[providers.lambda]
api_key = "from-the-file"
regions = ["us-east-1"]

[providers.digitalocean]
amd_api_key = "second"
"""


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):  # noqa: TID251 - those of whoever runs the tests
        if name.startswith("GPUBROKER_"):
            monkeypatch.delenv(name)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Name a settings file, readable by its owner alone."""
    path = tmp_path / "settings.toml"
    path.write_text(FILE, encoding="utf-8")
    path.chmod(0o600)
    monkeypatch.setenv("GPUBROKER_SETTINGS_FILE", str(path))
    return path


def refused(file: Path, text: str) -> ConfigurationError:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as error:
        load_settings()
    return error.value


def test_a_file_sets_what_the_environment_does_not(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUBROKER_STALE_AFTER_H_SPOT", "6")
    monkeypatch.setenv("GPUBROKER_LAMBDA_API_KEY", "from-the-environment")
    monkeypatch.setenv("GPUBROKER_SMTP_HOST", "")
    read = load_settings()
    assert read.stale_after_h_spot == 6
    assert read.smtp_host is None
    assert read.max_usd_per_gpu_hour == Decimal("55.25")
    assert read.data_dir == file.parent / "kept/here"
    assert read.mail_to == ("ops@example.com",)
    assert read.regions == {"lambda": ("us-east-1",)}
    assert {name: key.get_secret_value() for name, key in read.keys.items()} == {
        "lambda_api_key": "from-the-environment",
        "digitalocean_amd_api_key": "second",
    }


def test_regions_of_the_environment_take_the_place_of_those_of_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert file.exists()
    monkeypatch.setenv("GPUBROKER_LAMBDA_REGIONS", '["eu-west-1"]')
    assert load_settings().regions == {"lambda": ("eu-west-1",)}


@pytest.mark.parametrize("name", ["GPUBROKER_MAIL_TO", "GPUBROKER_AWS_REGIONS"])
def test_a_list_of_the_environment_that_is_no_json_is_told_with_the_way_to_write_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "ops@example.com")
    with pytest.raises(ConfigurationError) as told:
        load_settings()
    assert f"{name}: 'ops@example.com' is no list of texts" in str(told.value)
    assert f'{name}=["' in str(told.value)


def test_no_file_is_needed_unless_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_config_path", lambda _: tmp_path)
    assert load_settings().stale_after_h_spot == 24
    (tmp_path / "settings.toml").write_text("stale_after_h_spot = 3", encoding="utf-8")
    assert load_settings().stale_after_h_spot == 3
    monkeypatch.setenv("GPUBROKER_SETTINGS_FILE", str(tmp_path / "other.toml"))
    with pytest.raises(ConfigurationError, match=r"other\.toml': No such file"):
        load_settings()


@pytest.mark.parametrize(
    ("text", "told", "remedy"),
    [
        ('stale_after_h_spot = "soon"', "stale_after_h_spot: 'soon' is not right", "correct"),
        ("stale_after_h_spot = nan", "NaN is not right: input should be a finite", "correct"),
        ("databse = 3", "databse: there is no such key", "'database'"),
        ("colour = 3", "colour: there is no such key", "docs/settings.md"),
        ("[providers.aws]\napi_kye = ''", "[providers.aws] api_kye: there is no", "'api_key'"),
        ("[providers.aws]\nregions = 'x'", "[providers.aws] regions: 'x' is no list", "["),
        ("[providers.aws]\nsmtp_port = 1", "smtp_port: this is no key of a prov", "above the"),
        ("keys = {}", "keys: a provider's own stand in a table", "[providers.NAME]"),
        ("providers = 3", "providers is no table", "[providers.lambda]"),
        ("data_dir =", "broken TOML: invalid value", "quotes"),
        (f"mail_to = {'[' * 5000}", "broken TOML: it is too long or deep", "endless"),
        (f"smtp_port = {'9' * 5000}", "broken TOML: it is too long or deep", "endless"),
        ('data_dir = "~nobody-at-all/x"', "data_dir: '~nobody-at-all/x' is not right", "correct"),
        ('data_dir = "a\\u0000b"', "a path has no character of the number 0", "correct"),
        ("min_usd_per_gpu_hour = 70", "70 is not below max_usd_per_gpu_hour 60", "settings.toml'"),
        ("stale_after_h_spot = 1\nsmtp_port = 0\nmax_row_drop = 2", "smtp_port: 0 is not", ""),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_place(
    file: Path, text: str, told: str, remedy: str
) -> None:
    error = refused(file, text)
    assert told in str(error)
    assert remedy in error.hint
    if not text.startswith("min_usd"):  # two settings together, from wherever they are
        assert str(file) in str(error)


def test_every_mistake_of_a_file_is_told_at_once(file: Path) -> None:
    error = refused(file, "smtp_port = 0\nmax_row_drop = 2\nstale_after_h_spot = -1")
    assert len(str(error).splitlines()) == 3


def test_a_mistake_in_the_environment_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUBROKER_SETTINGS_FILE", os.devnull)
    monkeypatch.setenv("GPUBROKER_MAX_PRICE_CHANGE", "lots")
    with pytest.raises(ConfigurationError, match=r"^GPUBROKER_MAX_PRICE_CHANGE: 'lots' is not"):
        load_settings()


@pytest.mark.parametrize(
    "text",
    [
        "smtp_password = 918273645",
        "database = 918273645",
        "[providers.lambda]\napi_key = 918273645",
        "[providers.lambda]\napi_kye = '918273645'",
        "webhook_secret = '918273645",
    ],
)
def test_a_secret_is_not_told_in_any_error(file: Path, text: str) -> None:
    error: BaseException | None = refused(file, text)
    while error is not None:
        assert "918273645" not in f"{error!s} {error!r} {getattr(error, 'hint', '')}"
        error = error.__cause__


def test_settings_print_no_secret(file: Path) -> None:
    assert file.exists()
    shown = f"{load_settings()!r}"
    assert not re.search("hunter2|from-the-file|second", shown)


def test_a_file_with_keys_that_others_may_read_is_warned_of(file: Path) -> None:
    warned: list[str] = []
    load_settings(warned.append)
    assert warned == []
    file.chmod(0o644)
    load_settings(warned.append)
    assert warned == [
        f"settings file {str(file)!r} holds secrets and other users may read it: chmod 600 {file}"
    ]
    file.write_text("stale_after_h_spot = 3", encoding="utf-8")
    warned.clear()
    load_settings(warned.append)
    assert warned == []


def test_variables_that_set_nothing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SMPT_HOST", "LAMBDA_API_KEY", "AWS_REGIONS", "DEBUG", "DATA_DIR"):
        monkeypatch.setenv(f"GPUBROKER_{name}", "x")
    assert unknown_variables() == ("GPUBROKER_SMPT_HOST",)


def test_settings_made_in_code_read_no_file(file: Path) -> None:
    assert file.exists()
    assert Settings().stale_after_h_spot == 24


def test_the_blanks_around_a_key_are_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUBROKER_SETTINGS_FILE", os.devnull)
    monkeypatch.setenv("GPUBROKER_LAMBDA_API_KEY", " from-a-mounted-file\r\n")
    monkeypatch.setenv("GPUBROKER_VAST_API_KEY", "\n")
    keys = load_settings().keys
    assert {name: key.get_secret_value() for name, key in keys.items()} == {
        "lambda_api_key": "from-a-mounted-file"
    }


def test_a_file_may_begin_with_the_mark_of_its_encoding(file: Path) -> None:
    file.write_text("stale_after_h_spot = 3", encoding="utf-8-sig")
    assert load_settings().stale_after_h_spot == 3


def test_the_home_folder_of_nobody_has_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUBROKER_SETTINGS_FILE", "~nobody-at-all/settings.toml")
    with pytest.raises(ConfigurationError, match="begins with the home of nobody"):
        load_settings()
