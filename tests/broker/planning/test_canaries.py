"""No key that the settings hold is written anywhere, whatever a provider answers."""

import base64
import json
import re
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import httpx
import pytest
from canaries import Echo, Refusing, canaries, planted, sent
from price_lists import after
from pydantic import JsonValue

from broker.catalog.gates import gates_from
from broker.catalog.store import open_catalog
from broker.planning.catalog_service import CatalogService
from broker.planning.refresh import ProviderReader, RefreshReport, refresh_catalog
from broker.settings import Settings
from broker.specs.load import Specs, load_specs
from cli.logs import configure_logs
from providers.kit.http import live_client
from providers.kit.secrets import secrets_of
from providers.registry import PROVIDERS, adapters

Network = Callable[[str], httpx.BaseTransport]
_NAMES = re.compile(r"name|id|region|location|gpu|title|description|type|model|code", re.IGNORECASE)


class Named(httpx.BaseTransport):
    """Puts the headers that it was sent after every name in a JSON reply."""

    def __init__(self, provider: str) -> None:
        self._inner = Echo(provider)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        reply = self._inner.handle_request(request)
        try:
            value = json.loads(reply.read())
        except ValueError:
            return reply
        content = json.dumps(_renamed(value, sent(request))).encode()
        return httpx.Response(reply.status_code, headers=_plain_headers(reply), content=content)


class Cut(httpx.BaseTransport):
    """Breaks each reply off in the middle, after what was sent."""

    def __init__(self, provider: str) -> None:
        self._inner = Echo(provider)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        content = self._inner.handle_request(request).read()
        half = sent(request).encode() + content[: len(content) // 2]
        return httpx.Response(200, headers={"content-type": "application/json"}, content=half)


def _renamed(value: JsonValue, echo: str) -> JsonValue:
    if isinstance(value, list):
        return [_renamed(one, echo) for one in value]
    if isinstance(value, dict):
        return {
            name: f"{one} {echo}"
            if isinstance(one, str) and _NAMES.search(name)
            else _renamed(one, echo)
            for name, one in value.items()
        }
    return value


def _plain_headers(reply: httpx.Response) -> dict[str, str]:
    return {"content-type": reply.headers.get("content-type", "application/json")}


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def refresh(settings: Settings, specs: Specs, network: Network, hours: float) -> RefreshReport:
    secrets = secrets_of(settings.keys.values())

    def open_client(provider: str) -> httpx.Client:
        return live_client(
            lambda: after(hours),
            transport=network(provider),
            sleep=lambda _: None,
            secrets=secrets,
        )

    reader = ProviderReader(
        open_client, lambda: after(hours), live=True, timeout_s=300, secrets=secrets
    )
    catalog = open_catalog(settings.database_path)
    gates = gates_from(settings, specs.nodes, market=specs.market, sold_in=specs.sold_in)
    return refresh_catalog(catalog, adapters(specs, settings), reader, gates)


NETWORKS: dict[str, Network] = {
    "echo": Echo,
    "names": Named,
    "cut": Cut,
    "unauthorized": lambda _: Refusing(401),
    "broken": lambda _: Refusing(500),
}


@dataclass(frozen=True)
class Refreshed:
    """A data folder after one refresh, what came of it and all that was printed."""

    folder: Path
    report: RefreshReport
    printed: str


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, specs: Specs) -> Refreshed:
    """Refresh an empty catalog from a network that repeats what it was sent."""
    return refreshed(tmp_path_factory.mktemp("first"), specs, Echo, 0)


def refreshed(folder: Path, specs: Specs, network: Network, hours: float) -> Refreshed:
    printed = StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        configure_logs("json", quiet=False)
        report = refresh(planted(folder, specs), specs, network, hours)
    return Refreshed(folder, report, printed.getvalue())


@pytest.mark.parametrize("network", NETWORKS)
def test_no_key_is_found_in_what_a_refresh_writes(
    network: str, first: Refreshed, tmp_path: Path, specs: Specs
) -> None:
    shutil.copytree(first.folder, tmp_path, dirs_exist_ok=True)
    settings = planted(tmp_path, specs)
    again = refreshed(tmp_path, specs, NETWORKS[network], 1)
    told = [first.report, again.report]
    service = CatalogService(settings, lambda: after(1))
    exported = service.export()
    (tmp_path / "export.jsonl.gz").write_bytes(exported.content)
    shown = [one.model_dump_json() for one in exported.state.shown]
    written = "\n".join(
        [first.printed, again.printed, repr(settings), *map(repr, told), *shown]
        + [path.read_bytes().decode("latin-1") for path in tmp_path.iterdir()]
    )
    assert found_in(written, forbidden(settings)) == []
    assert {one.provider for one in told[0].outcomes} == set(PROVIDERS)
    assert len(exported.state.offers) > 1_000  # what the first refresh brought, or the second


def found_in(text: str, keys: set[str]) -> list[str]:
    """List the keys that a text holds; most of them begin alike, and are looked for by that."""
    begins = {begin for begin in {key[:7] for key in keys} if begin in text}
    return sorted(key for key in keys if key[:7] in begins and key in text)


def forbidden(settings: Settings) -> set[str]:
    """List the keys in all their forms; what is only in replies belongs to recordings."""
    keys = {name: key.get_secret_value() for name, key in settings.keys.items()}
    pairs = [f"{keys[f'{one}_client_id']}:{keys[f'{one}_client_secret']}" for one in PROVIDERS]
    basic = {base64.b64encode(pair.encode()).decode() for pair in pairs}
    return basic | set(secrets_of(settings.keys.values()).forms)


def test_every_key_that_an_adapter_can_use_is_planted_and_sent(
    tmp_path: Path, specs: Specs
) -> None:
    settings = planted(tmp_path, specs)
    for adapter in adapters(specs, settings):
        network = Echo(adapter.name)
        with live_client(lambda: after(0), transport=network, sleep=lambda _: None) as http:
            list(
                adapter.offers_in(
                    one for one in adapter.fetch(http) if isinstance(one, httpx.Response)
                )
            )
        said = "".join(sent(request) for request in network.asked)
        keys = [settings.keys[f"{adapter.name}_{name}"].get_secret_value() for name in adapter.keys]
        pair = base64.b64encode(":".join(keys).encode()).decode()
        assert all(key in said or pair in said for key in keys), adapter.name
        assert set(keys) <= set(canaries(settings))
