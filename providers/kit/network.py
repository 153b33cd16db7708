"""The network as the environment describes it: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY.

Where a proxy opens the encrypted connections itself, SSL_CERT_FILE names its certificate.
"""

import urllib.request
from collections.abc import Mapping

import httpx

from broker.domain.errors import ConfigurationError

_EVERY = "all"


class Network(httpx.BaseTransport):
    """Sends each request directly, or through the proxy that the environment names for it."""

    def __init__(self) -> None:
        self._direct = httpx.HTTPTransport()
        self._proxied = _by_scheme(urllib.request.getproxies())

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request on its way.

        Raises:
            httpx.TransportError: no reply comes.
        """
        return self._way(request.url).handle_request(request)

    def close(self) -> None:
        """Close the connections."""
        for transport in (self._direct, *self._proxied.values()):
            transport.close()

    def _way(self, url: httpx.URL) -> httpx.HTTPTransport:
        if urllib.request.proxy_bypass(url.host):
            return self._direct
        return self._proxied.get(url.scheme) or self._proxied.get(_EVERY) or self._direct


def _by_scheme(proxies: Mapping[str, str]) -> dict[str, httpx.HTTPTransport]:
    return {
        scheme: _through(proxies[scheme], scheme)
        for scheme in ("https", "http", _EVERY)
        if proxies.get(scheme)
    }


def _through(proxy: str, scheme: str) -> httpx.HTTPTransport:
    """Open the way through a proxy.

    Raises:
        ConfigurationError: its address is none; it is not told, as it may hold a password.
    """
    address = proxy if "://" in proxy else f"http://{proxy}"
    try:
        return httpx.HTTPTransport(proxy=address)
    except (ValueError, ImportError, httpx.InvalidURL) as cause:
        raise ConfigurationError(
            f"{scheme.upper()}_PROXY names no proxy that can be used",
            hint="write it as http://HOST:PORT; SOCKS is not supported",
        ) from cause
