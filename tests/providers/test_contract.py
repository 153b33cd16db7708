"""What every adapter must keep, on its recordings; a provider is in by its line in the registry.

A message says what a new provider lacks; docs/adding-a-provider.md is the checklist. Providers
without a wire, whose prices are a sheet in the package, keep what applies to them.
"""

import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from importlib.resources import files

import httpx
import pytest
from provider_runs import (
    LIMITED,
    NOW,
    Run,
    attempt,
    failures,
    few_rows,
    live,
    prices,
    recorded_failures,
    run_of,
    run_sheet,
    said_of,
)
from pydantic import SecretStr
from reply_changes import (
    Altered,
    ChangeBody,
    Failing,
    Once,
    fields_of,
    json_change,
    page_words,
    pages_of,
    renamed_gpus,
    with_a_surprise,
    without,
)

from broker.domain.offer import Evidence, PriceKind
from broker.settings import Settings
from broker.specs.load import Specs, load_specs
from providers.kit.adapter import Adapter
from providers.kit.http import LONGEST_WAIT_S
from providers.kit.recorded import RecordedTransport, recorded_providers, recordings
from providers.registry import PROVIDERS, access, adapters

LEAST_OFFERS = 3

SHEETS = tuple(
    path.name.removesuffix(".csv")
    for path in files("providers.published").iterdir()
    if path.name.endswith(".csv")
)
WIRED = tuple(name for name in PROVIDERS if name not in SHEETS)
NAMELESS = {"oci": ("P100-SXM-16", "V100-SXM-16", "A100-40-SXM")}
"""GPUs that a provider calls by no name but a number of its own ("GPU - E3"), checked by that."""

COMMITTED = (PriceKind.RESERVED, PriceKind.SAVINGS_PLAN)
FIRM = (PriceKind.ON_DEMAND, PriceKind.SPOT, PriceKind.CAPACITY_BLOCK)


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def transports() -> Mapping[str, RecordedTransport]:
    """Read the recordings of each provider once."""
    return {name: RecordedTransport(name) for name in PROVIDERS}


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return {}


@pytest.fixture(params=PROVIDERS)
def adapter(request: pytest.FixtureRequest, specs: Specs) -> Adapter:
    return adapters(specs, Settings(keys={}), [request.param])[0]


@pytest.fixture(params=WIRED)
def wired(request: pytest.FixtureRequest, specs: Specs) -> Adapter:
    return adapters(specs, Settings(keys={}), [request.param])[0]


@pytest.fixture(params=SHEETS)
def sheet(request: pytest.FixtureRequest, specs: Specs) -> Adapter:
    return adapters(specs, Settings(keys={}), [request.param])[0]


@pytest.fixture
def run(request: pytest.FixtureRequest, runs: dict[str, Run]) -> Run:
    """Run the adapter of the test on its recordings, once for all tests."""
    used = ({"adapter", "wired", "sheet"} & set(request.fixturenames)).pop()
    one: Adapter = request.getfixturevalue(used)
    if one.name not in runs:
        runs[one.name] = run_of(one, RecordedTransport(one.name))
    return runs[one.name]


@pytest.fixture
def transport(wired: Adapter, transports: Mapping[str, RecordedTransport]) -> RecordedTransport:
    return transports[wired.name]


@pytest.fixture
def few(wired: Adapter, transport: RecordedTransport) -> httpx.BaseTransport:
    """Answer with few rows, where a run for each field or question would take too long."""
    return few_rows(wired, transport)


def test_every_provider_has_recordings_or_a_sheet_and_a_line_in_the_registry() -> None:
    for name in PROVIDERS:
        assert name in SHEETS or name in recorded_providers(), (
            f"{name} lacks its recordings, fixtures/{name}/*.json, "
            f"or its price sheet, providers/published/{name}.csv"
        )
    for name in (*recorded_providers(), *SHEETS):
        assert name in PROVIDERS, f"{name} lacks its line in providers/registry.py"


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_registry_knows_an_adapter_by_its_own_name(name: str, specs: Specs) -> None:
    (one,) = adapters(specs, Settings(keys={}), [name])
    assert one.name == name, "the name in the registry and that of the class differ"


def test_every_key_in_the_settings_reaches_its_own_provider_only() -> None:
    settings = Settings(
        keys={f"{name}_api_key": SecretStr(f"s3cr3t-of-{name}") for name in PROVIDERS}
    )
    for name in PROVIDERS:
        assert [one.get_secret_value() for one in access(name, settings).keys.values()] == [
            f"s3cr3t-of-{name}"
        ]


def test_an_api_key_is_sent_with_every_question(
    wired: Adapter, specs: Specs, transport: RecordedTransport
) -> None:
    if "api_key" not in wired.keys:
        pytest.skip("the provider takes no API key")
    settings = Settings(keys={f"{wired.name}_{key}": SecretStr("s3cr3t") for key in wired.keys})
    (keyed,) = adapters(specs, settings, [wired.name])
    requests = run_of(keyed, transport).requests
    assert requests
    for one in requests:
        assert "s3cr3t" in str(one.headers.raw), f"{one.url} is asked without the key, as a header"


def test_recordings_state_where_they_come_from(wired: Adapter) -> None:
    found = recordings(wired.name)
    assert any(one.replay for one in found), "there is no recording to replay"
    for one in found:
        assert one.made_on.utcoffset() is not None
        assert one.sources, f"{one.name}: say where the content is from"
        assert len(one.note.split()) > 3, f"{one.name}: say in `note` what it shows"


def test_replayed_recordings_are_successes(wired: Adapter) -> None:
    for one in recordings(wired.name):
        is_good = 200 <= one.response.status < 300
        assert is_good or not one.replay, f'{one.name} is an error and lacks "replay": false'


def test_every_recorded_request_is_made(wired: Adapter, run: Run) -> None:
    assert run.unused == (), f"{wired.name} never asks what these recordings answer"
    assert run.missing == ()


def test_a_sheet_asks_nothing_and_says_how_old_it_is(sheet: Adapter, run: Run) -> None:
    assert run.requests == ()
    assert sheet.keys == ()
    for offer in run.offers:
        seen = offer.provenance
        assert seen.evidence is Evidence.SHEET, offer.key
        assert not seen.undated, f"{offer.key} lacks observed_on, the day of the page"
        assert seen.observed_at < NOW, offer.key


def test_every_offer_has_its_own_key(adapter: Adapter, run: Run) -> None:
    keys = [offer.key for offer in run.offers]
    assert len(keys) >= LEAST_OFFERS, f"{adapter.name} has {len(keys)} offers: record more rows"
    assert sorted(keys) == sorted(set(keys))


def test_every_offer_has_a_price_and_its_source(adapter: Adapter, run: Run) -> None:
    for offer in run.offers:
        assert offer.provider == adapter.name
        assert offer.effective_usd_per_hour > 0, offer.key
        assert offer.provenance.source.startswith("https://"), offer.key


def test_every_offer_has_the_day_and_the_evidence_of_a_recording(wired: Adapter, run: Run) -> None:
    seen = {(one.made_on, one.evidence) for one in recordings(wired.name) if one.replay}
    for offer in run.offers:
        assert (offer.provenance.observed_at, offer.provenance.evidence) in seen, offer.key


def test_every_offer_is_of_a_known_gpu_and_names_its_region(run: Run, adapter: Adapter) -> None:
    for offer in run.offers:
        assert offer.hardware.shape.gpu_count > 0, offer.key
        assert offer.place.region, f"{adapter.name}: {offer.key} has no region, nor `unknown`"


def test_the_gpus_of_offers_are_in_the_table(adapter: Adapter, run: Run, specs: Specs) -> None:
    found = {offer.hardware.shape.gpu for offer in run.offers}
    assert found <= set(specs.gpus), f"{adapter.name}: not in broker/specs/gpus.csv"


def test_terms_belong_to_their_price_kinds_and_to_no_others(adapter: Adapter, run: Run) -> None:
    for offer in run.offers:
        kind = offer.price_kind
        firm = kind in (PriceKind.ON_DEMAND, PriceKind.SPOT, PriceKind.CAPACITY_BLOCK)
        assert offer.commitment is None or not firm, f"{adapter.name}: {offer.key}"
        assert offer.commitment is not None or kind not in COMMITTED, offer.key
        assert offer.spot is None or kind is PriceKind.SPOT, offer.key
        assert (offer.block is not None) is (kind is PriceKind.CAPACITY_BLOCK), offer.key


def test_a_rejection_says_what_and_why(wired: Adapter, run: Run) -> None:
    assert run.rejections, f"{wired.name} records no trap: keep a row that is no offer"
    for one in run.rejections:
        assert one.provider == wired.name
        assert one.subject
        assert re.fullmatch(r"[a-z0-9_]+", one.reason), one
        assert one.detail, one


def test_the_same_replies_give_the_same_offers(adapter: Adapter, run: Run) -> None:
    assert run_of(adapter, RecordedTransport(adapter.name)).rows == run.rows


def test_an_api_with_pages_has_two_recorded_ones(wired: Adapter) -> None:
    replayed = [one for one in recordings(wired.name) if one.replay]
    words = sorted({word for one in replayed for word in page_words(one)})
    if not words:
        pytest.skip("its recordings speak of no pages")
    assert pages_of(replayed), (
        f"{wired.name} has pages ({', '.join(words)}), and one of them is recorded: "
        f"add a second one to fixtures/{wired.name}, which the first one leads to"
    )


def test_no_offer_is_lost_without_a_word_where_a_question_has_no_answer(
    wired: Adapter, run: Run, few: httpx.BaseTransport
) -> None:
    """A second page, a region, a token: what fails is a failure, or a part that is missing."""
    whole = prices(wired, few).keys()
    for nth in range(len({(one.method, one.url, one.content) for one in run.requests})):
        outcome = attempt(wired, Failing(few, nth))
        told = any("it broke" in said for said in said_of(outcome))
        left = {one.key for one in outcome.offers} if isinstance(outcome, Run) else set()
        assert told or whole <= left, (
            f"{wired.name} goes on without the answer to its question {nth + 1}: "
            "raise the ProviderError, or yield a Missing (providers/kit/parts.py)"
        )


def test_a_rate_limit_is_waited_for(wired: Adapter, run: Run, transport: RecordedTransport) -> None:
    pauses: list[float] = []
    limited = httpx.Response(429, headers={"Retry-After": "3"}, text="slow down")
    found = live(wired, Once(limited, transport), pauses)
    assert pauses == [3.0]
    assert [offer.key for offer in found.offers] == [offer.key for offer in run.offers]


def test_the_recorded_rate_limit_is_waited_for(
    wired: Adapter, run: Run, transport: RecordedTransport
) -> None:
    limits = [one for one in recorded_failures(wired.name) if one.response.status in LIMITED]
    assert limits, (
        f"{wired.name} has no recorded rate limit: add fixtures/{wired.name}/rate-limited.json "
        'with status 429 (or 503), Retry-After if it sends one, and "replay": false'
    )
    for one in limits:
        pauses: list[float] = []
        found = live(wired, Once(one.reply(), transport), pauses)
        asked = one.response.headers.get("Retry-After", "")
        if asked.isdecimal():
            assert float(asked) <= LONGEST_WAIT_S, f"{one.name}: no refresh waits for so long"
            assert pauses == [float(asked)]
        assert len(pauses) == 1
        assert [offer.key for offer in found.offers] == [offer.key for offer in run.offers]


def test_the_recorded_error_is_told_in_its_own_words(wired: Adapter) -> None:
    errors = [one for one in recorded_failures(wired.name) if one.response.status not in LIMITED]
    assert errors, (
        f"{wired.name} has no recorded error: add fixtures/{wired.name}/error.json "
        'with the status and body of a refused request, and "replay": false'
    )
    for one in errors:
        said = failures(wired, httpx.MockTransport(lambda _, one=one: one.reply()))
        assert said, one.name
        words = re.findall(r"\w{4,}", one.response.content.decode())[:3]
        assert all(str(one.response.status) in text for text in said), said
        assert any(word in text for text in said for word in words), said


@pytest.mark.parametrize("status", [400, 403, 500])
def test_an_error_status_is_a_failure(wired: Adapter, status: int) -> None:
    broken = httpx.MockTransport(lambda _: httpx.Response(status, json={"error": "it broke"}))
    said = failures(wired, broken)
    assert said
    assert all(str(status) in one and "it broke" in one for one in said), said


def test_a_timeout_is_a_failure(wired: Adapter) -> None:
    def wait(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("timed out", request=request)

    said = failures(wired, httpx.MockTransport(wait))
    assert said
    assert all("ReadTimeout" in one for one in said), said


def cut_short(reply: httpx.Response) -> bytes:
    return reply.content[: len(reply.content) // 2]


def maintenance(_: httpx.Response) -> bytes:
    return b"<html>maintenance</html>"


@pytest.mark.parametrize("change", [cut_short, maintenance])
def test_a_reply_that_cannot_be_read_is_a_failure(
    wired: Adapter, transport: RecordedTransport, change: ChangeBody
) -> None:
    assert failures(wired, Altered(transport, change))


def test_unknown_fields_are_ignored(wired: Adapter, run: Run, transport: RecordedTransport) -> None:
    found = run_of(wired, Altered(transport, json_change(with_a_surprise)))
    assert found.rows == run.rows


def test_a_missing_field_never_changes_a_price(wired: Adapter, few: httpx.BaseTransport) -> None:
    """Without a field there is no offer, or the same one, or the provider has failed."""
    whole = prices(wired, few)
    assert whole
    bodies = [one.response.body for one in recordings(wired.name) if one.replay]
    for field in sorted({field for body in bodies for field in fields_of(body)}):
        left = prices(wired, Altered(few, json_change(partial(without, field=field))))
        differ = {key for key in left.keys() & whole.keys() if left[key] != whole[key]}
        assert not differ, f"without the field {field!r} these have another price: {differ}"


def test_a_gpu_by_another_name_is_refused_and_never_taken_for_one_that_is_known(
    adapter: Adapter, run: Run, transports: Mapping[str, RecordedTransport]
) -> None:
    change = renamed_gpus({offer.instance_type for offer in run.offers})
    if adapter.name in SHEETS:
        found = run_sheet(adapter, change)
    else:
        found = run_of(adapter, Altered(transports[adapter.name], change))
    kept = {
        offer.key
        for offer in found.offers
        if offer.hardware.shape.gpu not in NAMELESS.get(adapter.name, ())
    }
    assert not kept, f"{adapter.name} offers these, whatever the GPU is called: {sorted(kept)[:9]}"
    more = Counter(one.reason for one in found.rejections)
    more.subtract(one.reason for one in run.rejections)
    assert max(more.values()) > 0, f"{adapter.name} drops what it does not know, without a word"
