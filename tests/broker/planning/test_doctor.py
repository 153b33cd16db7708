"""A doctor finds what is broken, says what to do, and tells no secret."""

import inspect
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import NoReturn

import httpx
import pytest
from pydantic import SecretStr

from broker.domain.errors import ConfigurationError
from broker.planning.doctor import Diagnosis, Doctor
from broker.planning.service import open_service
from broker.reports.doctor_view import CheckRow, ProviderRow, State
from broker.settings import Settings
from broker.specs.load import load_specs
from providers.kit.network import Network
from providers.registry import PROVIDERS, WITH_REGIONS, adapters

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
Look = Callable[..., Diagnosis]


@pytest.fixture(autouse=True)
def _no_settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_config_path", lambda _: tmp_path / "config")


def look(settings: Settings, now: datetime = NOW) -> Diagnosis:
    return Doctor(lambda: settings, lambda: now).examine()


def check(found: Diagnosis, name: str) -> CheckRow:
    return next(row for row in found.checks if row.check == name)


def provider(found: Diagnosis, name: str) -> ProviderRow:
    return next(row for row in found.providers if row.provider == name)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Give settings whose database holds the recordings of one provider."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"))
    open_service(settings, lambda: NOW).refresh(["lambda"], recorded=True)
    return settings


def test_a_fresh_installation_is_well_and_stays_untouched(tmp_path: Path) -> None:
    found = look(Settings(data_dir=tmp_path / "new", keys={}))
    assert not found.is_broken
    assert check(found, "database").found.startswith("none yet")
    assert check(found, "solver").state is State.OK
    assert "skipped" in check(found, "providers").found
    assert list(tmp_path.iterdir()) == []


def test_a_database_is_opened_and_written_to(filled: Settings) -> None:
    row = check(look(filled), "database")
    assert row.state is State.OK
    assert "revision 0006, 33 offers; it can be written" in row.found


def test_a_file_that_is_no_database_is_broken(tmp_path: Path) -> None:
    (tmp_path / "catalog.sqlite3").write_text("not a database, but long enough to be read as one")
    row = check(look(Settings(data_dir=tmp_path)), "database")
    assert row.state is State.BROKEN
    assert "not a database" in row.found
    assert row.remedy


def test_a_damaged_database_is_broken(filled: Settings, tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite3"
    with sqlite3.connect(filled.database_path) as good, sqlite3.connect(path) as copy:
        good.backup(copy)
    good.close()
    copy.close()
    content = bytearray(path.read_bytes())
    content[8192:] = b"\x07" * (len(content) - 8192)
    path.write_bytes(content)
    row = check(look(Settings(data_dir=tmp_path)), "database")
    assert row.state is State.BROKEN
    assert "gpubroker refresh" in row.remedy


@pytest.mark.parametrize(
    ("moved", "state"),
    [(timedelta(0), State.OK), (-timedelta(days=900), State.BROKEN), (timedelta(900), State.LOOK)],
)
def test_a_clock_is_held_against_the_newest_price(
    filled: Settings, moved: timedelta, state: State
) -> None:
    row = check(look(filled, NOW + moved), "clock")
    assert row.state is state
    assert ("timedatectl" in row.remedy) is (state is not State.OK)


def test_settings_that_cannot_be_read_leave_the_rest_to_be_looked_at() -> None:
    def load() -> NoReturn:
        raise ConfigurationError("databse: there is no such key", hint="did you mean 'database'?")

    found = Doctor(load, lambda: NOW).examine()
    assert found.is_broken
    assert check(found, "settings").remedy == "did you mean 'database'?"
    assert check(found, "database").state is State.SKIPPED
    assert check(found, "solver").state is State.OK


def test_a_data_folder_that_is_a_file_is_broken(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    found = look(Settings(data_dir=tmp_path / "file"))
    assert check(found, "data folder").state is State.BROKEN
    assert check(found, "database").state is State.SKIPPED


def test_a_data_folder_that_the_system_refuses_is_broken(tmp_path: Path) -> None:
    found = look(Settings(data_dir=tmp_path / ("x" * 300) / "data"))
    row = check(found, "data folder")
    assert row.state is State.BROKEN
    assert "cannot be used: File name too long" in row.found
    assert check(found, "database").state is State.SKIPPED


def test_keys_are_named_and_never_told(tmp_path: Path) -> None:
    given = {
        "lambda_api_key": "sek-canary",
        "runpod_api_key": '"sek-canary"',
        "verda_client_id": "sek-canary",
        "vast_client_id": "sek-canary",
        "gcp_api_key": "…",
        "lamda_api_key": "sek-canary",
    }
    keys = {name: SecretStr(key) for name, key in given.items()}
    found = look(Settings(data_dir=tmp_path, keys=keys))
    assert "sek-canary" not in repr(found)
    said = {name: provider(found, name).found for name in ("lambda", "runpod", "verda", "vast")}
    assert said == {
        "lambda": "api_key set",
        "runpod": "api_key has quotes around it",
        "verda": "client_secret is missing beside its other half",
        "vast": "client_id is set, which it does not use",
    }
    assert provider(found, "gcp").state is State.LOOK
    assert (provider(found, "azure").found, provider(found, "cudo").found) == (
        "needs no key",
        "no key is set",
    )
    row = check(found, "providers")
    assert row.state is State.BROKEN
    assert "'lamda'" in row.found
    assert "'lambda'" in row.remedy


def test_a_refresh_refuses_keys_of_a_misspelt_provider(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, keys={"lamda_api_key": SecretStr("x")})
    with pytest.raises(ConfigurationError, match="'lamda', which is no provider"):
        open_service(settings).refresh(["lambda"])


def test_regions_of_a_provider_that_reads_none_of_them_are_refused(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, regions={"lambda": ("us-east-1",), "aws": ("x",)})
    with pytest.raises(ConfigurationError, match="us-east-1 are given for 'lambda'") as refused:
        open_service(settings).refresh(["lambda"])
    assert "only aws, gcp, oci, scaleway take regions" in str(refused.value)
    assert "lambda/REGION" in refused.value.hint
    row = check(look(settings), "providers")
    assert (row.state, "'lambda'" in row.found) == (State.BROKEN, True)


@pytest.mark.parametrize("name", PROVIDERS)
def test_who_takes_regions_is_who_reads_them(name: str) -> None:
    (made,) = adapters(load_specs(), Settings(), [name])
    path = Path(inspect.getfile(type(made)))
    is_package = path.parent.name not in {"providers", "published"}
    files = path.parent.glob("*.py") if is_package else [path]
    reads = any("access.regions" in one.read_text(encoding="utf-8") for one in files)
    assert reads is (name in WITH_REGIONS)


def test_alerts_that_are_half_set_are_broken(tmp_path: Path) -> None:
    row = check(look(Settings(data_dir=tmp_path, webhook_url="https://x.y/z")), "alerts")
    assert row.state is State.BROKEN


def online(settings: Settings, answer: Callable[[httpx.Request], httpx.Response]) -> Diagnosis:
    transport = httpx.MockTransport(answer)
    return Doctor(lambda: settings, lambda: NOW, lambda: httpx.Client(transport=transport)).examine(
        online=True
    )


def test_hosts_are_asked_without_keys_and_tell_the_time(tmp_path: Path) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if request.url.host == "lium.io":
            raise httpx.ConnectTimeout("timed out")
        return httpx.Response(403, headers={"Date": format_datetime(NOW, usegmt=True)})

    keys = {"lambda_api_key": SecretStr("sek-canary")}
    found = online(Settings(data_dir=tmp_path, keys=keys), answer)
    assert len(asked) > 20
    assert all("sek-canary" not in f"{one.url}{one.headers}" for one in asked)
    assert provider(found, "lambda").answers_in_s is not None
    assert provider(found, "lium").state is State.LOOK
    assert "hosts silent: timed out" in provider(found, "lium").found
    assert check(found, "providers").remedy == "no answer: lium.io"
    assert check(found, "clock").found.endswith("0 s from the clocks of providers")
    assert not found.is_broken


@pytest.mark.parametrize("off", [timedelta(minutes=-10), timedelta(minutes=10)])
def test_a_clock_that_is_wrong_is_found_online(tmp_path: Path, off: timedelta) -> None:
    date = format_datetime(NOW + off, usegmt=True)
    found = online(
        Settings(data_dir=tmp_path), lambda _: httpx.Response(200, headers={"Date": date})
    )
    assert check(found, "clock").state is State.BROKEN


def test_no_network_at_all_is_broken(tmp_path: Path) -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no route to host")

    row = check(online(Settings(data_dir=tmp_path), refuse), "providers")
    assert row.state is State.BROKEN
    assert "no route to host" in row.found


def test_a_proxy_that_cannot_be_used_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "gopher://ann:canary@host")
    settings = Settings(data_dir=tmp_path)
    doctor = Doctor(lambda: settings, lambda: NOW, lambda: httpx.Client(transport=Network()))
    row = check(doctor.examine(online=True), "providers")
    assert row.state is State.BROKEN
    assert "HTTPS_PROXY names no proxy" in row.found
    assert "canary" not in row.found + row.remedy
