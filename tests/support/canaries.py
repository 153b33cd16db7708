"""Keys that must never be written, planted for every provider, and a network that repeats them.

The network answers from the package's recordings, those that only a user with keys asks for among
them, and puts what it was sent into headers and bodies.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
from pydantic import JsonValue, SecretStr

from broker.settings import KEY_ENDINGS, Settings
from broker.specs.load import Specs
from providers.kit.recorded import Recording, recorded_providers, recordings
from providers.registry import PROVIDERS, adapters

MAIL = "somebody@canary-mail.example"
ACCOUNT = "acct-canary-918273645"
COOKIE = "canary-cookie-5f2e7d10"
TOKEN = "canary-token-77aa01ff"  # noqa: S105 - planted, to be found


def planted(data_dir: Path, specs: Specs) -> Settings:
    """Make settings with a key in every field of every provider, used by it or not."""
    fields = {ending.removeprefix("_") for ending in KEY_ENDINGS}
    given = Settings(data_dir=data_dir)
    own = {one.name: set(one.keys) for one in adapters(specs, given)}
    keys = {
        f"{provider}_{field}": SecretStr(f"canary+{provider}/{field}=4c1d")
        for provider in PROVIDERS
        for field in sorted(fields | own[provider])
    }
    return given.model_copy(update={"keys": keys})


def canaries(settings: Settings) -> tuple[str, ...]:
    """List what must not be found anywhere."""
    keys = (key.get_secret_value() for key in settings.keys.values())
    return (*keys, MAIL, ACCOUNT, COOKIE, TOKEN)


class Echo(httpx.BaseTransport):
    """Answers a provider's requests from its recordings, with what was sent put into the reply."""

    def __init__(self, provider: str) -> None:
        has_some = provider in recorded_providers()
        self._recorded = recordings(provider) if has_some else ()
        self.asked: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        found = next(self._answers(request), None)
        if found is None:
            return httpx.Response(404, text=f"no recording answers {sent(request)}")
        reply = found.reply()
        headers = {
            **{name: value for name, value in reply.headers.items() if name != "content-length"},
            "Set-Cookie": f"session={COOKIE}; Path=/",
            "X-Request": sent(request).replace("\n", " "),
        }
        text = with_echo(reply.read().decode(), request)
        return httpx.Response(reply.status_code, headers=headers, content=text.encode())

    def _answers(self, request: httpx.Request) -> Iterator[Recording]:
        body = request.read().decode()
        for one in sorted(self._recorded, key=lambda one: not one.replay):
            same_body = one.request.body in (None, body, _json(body)) or not one.replay
            if one.response.status == 200 and same_body and _is_to(one, request):
                yield one


class Refusing(httpx.BaseTransport):
    """Answers every request with an error that tells all that was sent."""

    def __init__(self, status: int) -> None:
        self._status = status

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(self._status, text=f"refused: {sent(request)}")


def sent(request: httpx.Request) -> str:
    """Tell all that a request carries."""
    headers = " ".join(f"{name}: {value}" for name, value in request.headers.items())
    return f"{request.method} {request.url} {headers} {request.read().decode()}"


def with_echo(text: str, request: httpx.Request) -> str:
    """Put what was sent, and whose account it is, into a JSON object; leave other texts alone."""
    value = _json(text)
    if not isinstance(value, dict) or all(isinstance(one, dict) for one in value.values()):
        return text
    extra = {"email": MAIL, "account_id": ACCOUNT, "you_sent": sent(request)}
    tokens = {name: TOKEN for name in value if name == "access_token"}
    return json.dumps({**value, **tokens, **extra})


def _is_to(one: Recording, request: httpx.Request) -> bool:
    url = httpx.URL(one.request.url)
    same = url.copy_with(query=None) == request.url.copy_with(query=None)
    return (
        one.request.method == request.method
        and same
        and sorted(url.params.multi_items()) == sorted(request.url.params.multi_items())
    )


def _json(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return None
    return value
