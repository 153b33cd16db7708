"""Keys stay out of errors and logs, in whatever form they come back."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import UnixStreamServer
from urllib.parse import quote

import httpx
import pytest
from price_lists import NOON
from pydantic import SecretStr
from structlog.testing import capture_logs

from broker.domain.errors import ProviderError
from providers.kit.access import Access
from providers.kit.http import live_client
from providers.kit.secrets import BLOT, Secrets, secrets_of

KEY = 'sk+12/34="ä"'


def secrets(*keys: str) -> Secrets:
    return secrets_of(SecretStr(key) for key in keys)


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        quote(KEY, safe=""),
        json.dumps(KEY),
        json.dumps(KEY, ensure_ascii=False),
        base64.b64encode(KEY.encode()).decode(),
        repr(KEY.encode()),
    ],
)
def test_a_key_is_blotted_out_in_every_form_in_which_it_travels(form: str) -> None:
    blotted = secrets(KEY).blot(f"<{form}>")
    assert KEY not in blotted
    assert "12" not in blotted
    assert BLOT in blotted


def test_a_key_inside_a_longer_one_leaves_nothing_of_either() -> None:
    assert secrets("abcdef", "abcdef-longer").blot("abcdef-longer abcdef") == "*** ***"


def test_a_key_too_short_to_be_told_from_words_is_left() -> None:
    assert secrets("gpu", "").blot("one gpu") == "one gpu"


def test_secrets_do_not_print() -> None:
    assert KEY not in repr(secrets(KEY))


def told(answer: httpx.Response, key: str) -> tuple[str, str]:
    """Give the error of a request that is answered so, and all that is logged on the way."""
    transport = httpx.MockTransport(lambda _request: answer)
    http = live_client(
        lambda: NOON, transport=transport, sleep=lambda _: None, secrets=secrets(key)
    )
    with capture_logs() as logs, http, pytest.raises(ProviderError) as caught:
        http.get("https://acme.example/prices", headers={"X-Own-Header": key})
    return f"{caught.value} {caught.value.hint}", json.dumps(logs)


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_an_error_that_repeats_a_key_is_told_and_logged_without_it(status: int) -> None:
    error, logs = told(
        httpx.Response(status, text="your key KEY-0123456789 is bad"), "KEY-0123456789"
    )
    assert "your key *** is bad" in error
    assert "0123456789" not in logs


def test_a_key_that_the_excerpt_would_cut_in_two_is_gone_as_a_whole() -> None:
    error, _ = told(httpx.Response(400, text="x" * 190 + "KEY-0123456789" * 3), "KEY-0123456789")
    assert "KEY" not in error


class _Nothing(BaseHTTPRequestHandler):
    """Answers nothing of use; the client gives up before it sends its headers."""

    def log_message(self, *arguments: object) -> None:
        del arguments


@pytest.fixture
def unix_server(tmp_path: Path) -> Iterator[str]:
    path = str(tmp_path / "server")
    with UnixStreamServer(path, _Nothing) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield path
        server.shutdown()
        thread.join()


def test_a_key_with_a_line_break_is_not_told_by_the_error_that_refuses_it(unix_server: str) -> None:
    key = "sk-0123456789\n"
    http = live_client(
        lambda: NOON,
        transport=httpx.HTTPTransport(uds=unix_server),
        sleep=lambda _: None,
        secrets=secrets(key),
    )
    with capture_logs() as logs, http, pytest.raises(ProviderError) as caught:
        http.get("http://acme.example/", headers={"Authorization": f"Bearer {key}"})
    assert "Illegal header value" in str(caught.value)
    assert "0123456789" not in f"{caught.value} {caught.value.hint} {logs}"


@pytest.mark.parametrize("key", ["two\nlines", "naïve", "a\0b"])
def test_a_key_that_no_header_takes_is_told_without_it(key: str) -> None:
    access = Access({"api_key": SecretStr(key)})
    for give in (access.key, access.bearer, lambda: access.header("X-API-Key")):
        with pytest.raises(ProviderError, match="its api_key has a line break") as error:
            give()
        assert key not in f"{error.value!r}{error.value.hint}"
