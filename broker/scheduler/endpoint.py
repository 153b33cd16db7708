"""The page for Prometheus, and whether the runner is well, over HTTP.

It is for this machine alone unless it is told otherwise: it has no password, and tells prices.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from threading import Thread
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.registry import Collector

from broker.domain.errors import ConfigurationError
from broker.scheduler.pulse import Health

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

LOOPBACK = "127.0.0.1"
_MOST_PORT = 65535
_LOOK_S = 0.1


class _Silent(WSGIRequestHandler):
    """Writes no line for each request."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Leave it out."""


@contextmanager
def serve_metrics(
    port: int, collector: Collector, health: Callable[[], Health], *, host: str = LOOPBACK
) -> Iterator[int]:
    """Answer /metrics and /healthz as long as the context lasts; yield the port.

    Port 0 takes any that is free.

    Raises:
        ConfigurationError: the address cannot be listened at.
    """
    if not 0 <= port <= _MOST_PORT:
        raise ConfigurationError(
            f"--metrics-port {port} is no port", hint=f"give one from 1 to {_MOST_PORT}"
        )
    try:
        server = make_server(
            host, port, _pages(collector, health), ThreadingWSGIServer, handler_class=_Silent
        )
    except OSError as cause:
        raise ConfigurationError(
            f"metrics cannot be served at {host}:{port}: {cause.strerror or cause}",
            hint="give another --metrics-port or --metrics-host, or end what listens there",
        ) from cause
    thread = Thread(target=server.serve_forever, args=(_LOOK_S,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _pages(collector: Collector, health: Callable[[], Health]) -> "WSGIApplication":
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    metrics: WSGIApplication = make_wsgi_app(registry)

    def answer(environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == "/metrics":
            return metrics(environ, start)
        if path == "/healthz":
            said = health()
            status = "200 OK" if said.is_well else "503 Service Unavailable"
            return _json(start, status, asdict(said))
        return _json(start, "404 Not Found", {"there_are": ["/metrics", "/healthz"]})

    return answer


def _json(start: "StartResponse", status: str, body: object) -> Iterable[bytes]:
    start(status, [("Content-Type", "application/json; charset=utf-8")])
    return [json.dumps(body).encode() + b"\n"]
