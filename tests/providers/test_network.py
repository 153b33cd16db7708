"""Requests go the way that the environment describes, and no error tells a proxy's password."""

import httpx
import pytest
from alert_receivers import receiver

from broker.domain.errors import ConfigurationError
from providers.kit.network import Network

pytestmark = [pytest.mark.local_server, pytest.mark.allow_hosts(["127.0.0.1"])]

NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*NAMES, *map(str.upper, NAMES)):
        monkeypatch.delenv(name, raising=False)


def ask(url: str) -> httpx.Response:
    with httpx.Client(transport=Network()) as http:
        return http.post(url, json={})


@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY"])
def test_a_request_goes_through_the_proxy_of_its_scheme_or_of_all(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver() as proxy:
        monkeypatch.setenv(name, proxy.url.removeprefix("http://").removesuffix("/hook"))
        assert ask("http://far.example/prices").status_code == 200
    (heard,) = proxy.heard
    assert heard.path == "http://far.example/prices"


def test_a_host_that_needs_no_proxy_is_asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with receiver() as host:
        assert ask(host.url).status_code == 200
    assert host.heard[0].path == "/hook"


@pytest.mark.parametrize("address", ["gopher://ann:canary@host", "http://ann:canary@host:port"])
def test_a_proxy_that_cannot_be_used_is_named_by_its_variable_alone(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", address)
    with pytest.raises(ConfigurationError, match="HTTPS_PROXY names no proxy") as error:
        Network()
    assert "canary" not in f"{error.value} {error.value.hint}"


def test_a_proxy_that_is_not_there_is_told_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://ann:canary@127.0.0.1:1")
    with pytest.raises(httpx.TransportError) as error:
        ask("http://far.example/prices")
    assert "canary" not in repr(error.value)
