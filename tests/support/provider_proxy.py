"""A proxy on loopback behind which the providers are: real TLS, and whatever fault is set.

It answers one provider's requests from its recordings, or as badly as it is told; every other
host is there and knows nothing (404).
"""

import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from providers.kit.recorded import recorded_providers, recordings

_DRIP_S = 0.3


class Mood(StrEnum):
    """How the provider answers."""

    GOOD = "good"
    ERROR = "500"
    GARBAGE = "garbage"
    SILENT = "silent"
    DRIPPING = "dripping"


@dataclass
class ProviderProxy:
    """The proxy's address, the certificate to believe, and what it was asked for."""

    provider: str
    url: str
    certificate: Path
    mood: Mood = Mood.GOOD
    asked: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def environment(self) -> dict[str, str]:
        """Name it to a process, as users behind a proxy do."""
        return {"HTTPS_PROXY": self.url, "SSL_CERT_FILE": str(self.certificate)}


@contextmanager
def provider_proxy(provider: str, folder: Path) -> Iterator[ProviderProxy]:
    """Open the proxy on a free port of loopback."""
    key, certificate = _certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = _Server(provider, context)
    server.state = ProviderProxy(provider, f"http://127.0.0.1:{server.server_port}", certificate)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server.state
    finally:
        server.state.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    """Knows the provider's hosts and recordings, and how it is to answer."""

    daemon_threads = False  # so that all of them have ended in the end
    state: ProviderProxy

    def __init__(self, provider: str, context: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.context = context
        self.hosts = {httpx.URL(one.request.url).host for one in recordings(provider)}
        self.replies = {one.request.url: one.response for one in recordings(provider) if one.replay}


class _Handler(BaseHTTPRequestHandler):
    """Answers what comes through one connection, after the other side asked for a host."""

    protocol_version = "HTTP/1.1"
    server: _Server
    host = ""

    def handle(self) -> None:
        """Answer until the other side has had enough."""
        with suppress(OSError):  # it has given up, as it is to
            super().handle()

    def finish(self) -> None:
        """Close the encrypted connection, too."""
        with suppress(OSError):
            super().finish()
        self.connection.close()

    def do_CONNECT(self) -> None:
        """Be the host that is asked for."""
        self.host = self.path.partition(":")[0]
        self.send_response(200)
        self.end_headers()
        self.connection = self.server.context.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")
        self.wfile = self.connection.makefile("wb", buffering=0)
        self.close_connection = False

    def do_GET(self) -> None:
        """Answer as the mood is."""
        state, url = self.server.state, f"https://{self.host}{self.path}"
        if self.host not in self.server.hosts:
            self._say(404, b"not here")
            return
        state.asked.append(url)
        answers = {
            Mood.GOOD: lambda: self._replay(url),
            Mood.ERROR: lambda: self._say(500, b"oops"),
            Mood.GARBAGE: lambda: self._say(200, b"<html>we moved</html>"),
            Mood.SILENT: self._wait,
            Mood.DRIPPING: self._drip,
        }
        answers[state.mood]()

    def do_POST(self) -> None:
        """Answer as to any other request."""
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its signature
        """Say nothing."""

    def _replay(self, url: str) -> None:
        found = self.server.replies.get(url)
        if found is None:
            self._say(404, b"no recording")
        else:
            self._say(found.status, found.content)

    def _wait(self) -> None:
        self.server.state.released.wait(60)
        self.close_connection = True

    def _drip(self) -> None:
        """Send a byte now and then, so that no wait for the next one is ever too long."""
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        self.close_connection = True
        while not self.server.state.released.wait(_DRIP_S):
            self.wfile.write(b"[")

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _certificate(folder: Path) -> tuple[Path, Path]:
    """Make a key and a certificate for every host that a provider is asked at."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate")
    urls = (one.request.url for name in recorded_providers() for one in recordings(name))
    hosts = ",".join(sorted({f"DNS:{httpx.URL(url).host}" for url in urls}))
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x"
    names = ["-addext", f"subjectAltName={hosts}", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(  # noqa: S603 - the arguments are those above
        [openssl, *words.split(), *names], check=True, capture_output=True
    )
    return key, certificate
