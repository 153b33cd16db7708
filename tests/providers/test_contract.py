"""What every adapter must keep, on its recordings; a provider is in by its line in the registry."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial

import httpx
import pytest
from pydantic import JsonValue, SecretStr

from broker.domain.errors import ProviderError
from broker.domain.offer import Offer, PriceKind, Rejection
from broker.settings import Settings
from broker.specs.load import Specs, load_specs
from providers.kit.adapter import Adapter
from providers.kit.http import live_client
from providers.kit.parts import replies_only
from providers.kit.recorded import RecordedTransport, recorded_providers, recordings
from providers.registry import PROVIDERS, access, adapters

NOW = datetime(2026, 11, 27, tzinfo=UTC)
Change = Callable[[JsonValue], JsonValue]


class Once(httpx.BaseTransport):
    """Fails the first request, then answers from `inner`."""

    def __init__(self, first: httpx.Response, inner: httpx.BaseTransport) -> None:
        self._first: httpx.Response | None = first
        self._inner = inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        first, self._first = self._first, None
        return first or self._inner.handle_request(request)


class Altered(httpx.BaseTransport):
    """Answers from recordings, with every JSON body put through `change`."""

    def __init__(self, provider: str, change: Callable[[bytes], bytes]) -> None:
        self._inner = RecordedTransport(provider)
        self._change = change

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        reply = self._inner.handle_request(request)
        content = reply.read()
        if reply.headers["Content-Type"].startswith("application/json"):
            content = self._change(content)
        return httpx.Response(
            reply.status_code,
            headers={"Content-Type": reply.headers["Content-Type"]},
            content=content,
            extensions=reply.extensions,
        )


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def by_name(specs: Specs) -> dict[str, Adapter]:
    return {adapter.name: adapter for adapter in adapters(specs, Settings())}


@pytest.fixture(params=PROVIDERS)
def adapter(request: pytest.FixtureRequest, by_name: dict[str, Adapter]) -> Adapter:
    return by_name[request.param]


def run(adapter: Adapter, transport: httpx.BaseTransport) -> list[Offer | Rejection]:
    with httpx.Client(transport=transport) as http:
        return list(adapter.offers_in(replies_only(adapter.fetch(http), [])))


def offers(adapter: Adapter, transport: httpx.BaseTransport | None = None) -> list[Offer]:
    rows = run(adapter, transport or RecordedTransport(adapter.name))
    return [row for row in rows if isinstance(row, Offer)]


def altered(adapter: Adapter, change: Change) -> Altered:
    return Altered(adapter.name, lambda body: json.dumps(change(json.loads(body))).encode())


def is_record(value: JsonValue) -> bool:
    """Tell a record, whose keys are fields, from a map of records, whose keys are names."""
    return isinstance(value, dict) and not all(isinstance(one, dict) for one in value.values())


def everywhere(value: JsonValue, change: Callable[[dict[str, JsonValue]], None]) -> JsonValue:
    """Copy a JSON value with each record changed."""
    if isinstance(value, list):
        return [everywhere(one, change) for one in value]
    if not isinstance(value, dict):
        return value
    copy = {key: everywhere(one, change) for key, one in value.items()}
    if is_record(value):
        change(copy)
    return copy


def without(value: JsonValue, field: str) -> JsonValue:
    def remove(record: dict[str, JsonValue]) -> None:
        record.pop(field, None)

    return everywhere(value, remove)


def fields_of(value: JsonValue) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from fields_of(one)
    if isinstance(value, dict):
        if is_record(value):
            yield from value
        for one in value.values():
            yield from fields_of(one)


def test_the_registry_lists_every_adapter_once_in_order(by_name: dict[str, Adapter]) -> None:
    assert tuple(by_name) == PROVIDERS


def test_every_recorded_provider_is_in_the_registry() -> None:
    assert set(recorded_providers()) == set(PROVIDERS)


def test_every_key_in_the_settings_reaches_its_own_provider_only() -> None:
    settings = Settings(
        keys={f"{name}_api_key": SecretStr(f"s3cr3t-of-{name}") for name in PROVIDERS}
    )
    for name in PROVIDERS:
        assert [one.get_secret_value() for one in access(name, settings).keys.values()] == [
            f"s3cr3t-of-{name}"
        ]


def test_a_bearer_key_is_sent_as_such(adapter: Adapter, specs: Specs) -> None:
    """A provider that takes an API key sends it with every question."""
    if "api_key" not in adapter.keys:
        pytest.skip("the provider takes no API key")
    settings = Settings(keys={f"{adapter.name}_{key}": SecretStr("s3cr3t") for key in adapter.keys})
    (keyed,) = adapters(specs, settings, [adapter.name])
    sent: list[httpx.Request] = []
    inner = RecordedTransport(adapter.name)

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return inner.handle_request(request)

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        list(keyed.offers_in(replies_only(keyed.fetch(http), [])))
    assert sent
    assert all("s3cr3t" in str(request.headers.raw) for request in sent)


def test_recordings_state_where_they_come_from(adapter: Adapter) -> None:
    found = recordings(adapter.name)
    assert any(one.replay for one in found)
    for one in found:
        assert one.made_on.utcoffset() is not None
        assert one.sources, one.name
        assert len(one.note.split()) > 3, one.name


def test_replayed_recordings_are_successes(adapter: Adapter) -> None:
    for one in recordings(adapter.name):
        assert not one.replay or 200 <= one.response.status < 300, one.name


def test_every_recorded_request_is_made(adapter: Adapter) -> None:
    transport = RecordedTransport(adapter.name)
    run(adapter, transport)
    assert transport.unused() == ()


def test_every_offer_has_its_own_key(adapter: Adapter) -> None:
    keys = [offer.key for offer in offers(adapter)]
    assert len(keys) > 5
    assert sorted(keys) == sorted(set(keys))


def test_every_offer_has_a_price_and_its_provenance(adapter: Adapter) -> None:
    seen = {(one.made_on, one.evidence) for one in recordings(adapter.name) if one.replay}
    for offer in offers(adapter):
        assert offer.provider == adapter.name
        assert offer.effective_usd_per_hour > 0, offer.key
        assert offer.provenance.source.startswith("https://"), offer.key
        assert (offer.provenance.observed_at, offer.provenance.evidence) in seen, offer.key


def test_every_offer_is_of_a_known_gpu_and_names_its_region(adapter: Adapter, specs: Specs) -> None:
    for offer in offers(adapter):
        assert offer.hardware.shape.gpu in specs.gpus, offer.key
        assert offer.place.region, offer.key


def test_commitments_belong_to_committed_prices_and_to_no_others(adapter: Adapter) -> None:
    for offer in offers(adapter):
        if offer.price_kind in (PriceKind.ON_DEMAND, PriceKind.SPOT):
            assert offer.commitment is None, offer.key
        if offer.price_kind in (PriceKind.RESERVED, PriceKind.SAVINGS_PLAN):
            assert offer.commitment is not None, offer.key
        assert offer.price_kind is PriceKind.SPOT or offer.spot is None, offer.key


def test_a_rejection_says_what_and_why(adapter: Adapter) -> None:
    rejections = [
        row for row in run(adapter, RecordedTransport(adapter.name)) if isinstance(row, Rejection)
    ]
    assert rejections
    for one in rejections:
        assert one.provider == adapter.name
        assert one.subject
        assert re.fullmatch(r"[a-z0-9_]+", one.reason), one
        assert one.detail, one


def test_the_same_replies_give_the_same_offers(adapter: Adapter) -> None:
    assert run(adapter, RecordedTransport(adapter.name)) == run(
        adapter, RecordedTransport(adapter.name)
    )


def test_a_rate_limit_is_waited_for(adapter: Adapter) -> None:
    pauses: list[float] = []
    limited = httpx.Response(429, headers={"Retry-After": "3"}, text="slow down")
    transport = Once(limited, RecordedTransport(adapter.name))
    with live_client(lambda: NOW, transport=transport, sleep=pauses.append) as http:
        rows = list(adapter.offers_in(replies_only(adapter.fetch(http), [])))
    assert pauses == [3.0]
    live = [row.key for row in rows if isinstance(row, Offer)]
    assert live == [offer.key for offer in offers(adapter)]


@pytest.mark.parametrize("status", [400, 403, 500])
def test_an_error_status_is_a_provider_error(adapter: Adapter, status: int) -> None:
    broken = httpx.MockTransport(lambda _: httpx.Response(status, json={"error": "it broke"}))
    with (
        live_client(lambda: NOW, transport=broken, sleep=lambda _: None) as http,
        pytest.raises(ProviderError, match="it broke") as error,
    ):
        list(adapter.offers_in(replies_only(adapter.fetch(http), [])))
    assert str(status) in str(error.value)
    assert error.value.hint


def test_a_timeout_is_a_provider_error(adapter: Adapter) -> None:
    def wait(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("timed out", request=request)

    silent = httpx.MockTransport(wait)
    with (
        live_client(lambda: NOW, transport=silent, sleep=lambda _: None) as http,
        pytest.raises(ProviderError, match="ReadTimeout"),
    ):
        list(adapter.offers_in(replies_only(adapter.fetch(http), [])))


def test_truncated_json_is_a_provider_error(adapter: Adapter) -> None:
    with pytest.raises(ProviderError):
        run(adapter, Altered(adapter.name, lambda body: body[: len(body) // 2]))


def test_a_page_that_is_no_json_is_a_provider_error(adapter: Adapter) -> None:
    with pytest.raises(ProviderError):
        run(adapter, Altered(adapter.name, lambda _: b"<html>maintenance</html>"))


def test_unknown_fields_are_ignored(adapter: Adapter) -> None:
    transport = altered(
        adapter,
        lambda body: everywhere(body, lambda record: record.update(surprise={"new": [1, None]})),
    )
    assert offers(adapter, transport) == offers(adapter)


def test_a_missing_field_never_changes_a_price(adapter: Adapter) -> None:
    """Without a field there is no offer, or the same one, or the provider has failed."""
    whole = {offer.key: offer.effective_usd_per_hour for offer in offers(adapter)}
    bodies = [
        one.response.body for one in recordings(adapter.name) if one.replay and one.response.body
    ]
    names = sorted({name for body in bodies for name in fields_of(body)})
    assert names
    for name in names:
        transport = altered(adapter, partial(without, field=name))
        try:
            left = {one.key: one.effective_usd_per_hour for one in offers(adapter, transport)}
        except ProviderError:
            continue
        changed = {key for key in left.keys() & whole.keys() if left[key] != whole[key]}
        assert not changed, f"without {name}"
