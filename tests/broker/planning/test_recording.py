"""Recordings made of a network that repeats everything that it is sent."""

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from canaries import COOKIE, Echo, Refusing, canaries, planted
from price_lists import NOON
from pydantic import SecretStr

from broker.domain.errors import ConfigurationError, ProviderError
from broker.planning.recording import Recorded, RecordingService
from broker.specs.load import Specs, load_specs
from providers.kit.recorded import RecordedTransport, recordings_in
from providers.registry import PROVIDERS, adapters

PUBLISHED = frozenset({"nebius", "crusoe", "coreweave"})
"""Their prices come with the package: they ask nothing."""

Answer = Callable[[httpx.Request], httpx.Response]


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


class Studio:
    """Records a provider into a folder of the test."""

    def __init__(self, folder: Path, specs: Specs) -> None:
        self.out = folder / "made" / "here"
        self.settings = planted(folder / "data", specs)

    def record(
        self, provider: str, network: httpx.BaseTransport | Answer, *, max_rows: int | None = None
    ) -> Recorded:
        transport = (
            network if isinstance(network, httpx.BaseTransport) else httpx.MockTransport(network)
        )
        service = RecordingService(
            self.settings, lambda: NOON, transport=transport, sleep=lambda _: None
        )
        return service.record(provider, self.out, max_rows=max_rows)

    def written(self) -> str:
        return "".join(path.read_text(encoding="utf-8") for path in self.out.iterdir())

    def left(self) -> list[str]:
        """Name what lies beside the place of the recordings, and there."""
        return sorted(path.name for path in self.out.parent.glob("*"))


@pytest.fixture
def studio(tmp_path: Path, specs: Specs) -> Studio:
    return Studio(tmp_path, specs)


@pytest.mark.parametrize("provider", sorted(set(PROVIDERS) - PUBLISHED))
def test_a_recording_of_each_provider_is_scrubbed_and_gives_the_same_offers(
    provider: str, studio: Studio
) -> None:
    network = Echo(provider)
    made = studio.record(provider, network)
    written = studio.written()
    for canary in canaries(studio.settings):
        assert canary not in written
    assert COOKIE in Echo(provider).handle_request(network.asked[0]).headers["set-cookie"]
    assert made.offers > 0
    assert {one.evidence for one in made.recordings} == {"recorded"}
    assert studio.left() == ["here"]


def test_what_was_recorded_is_replayed_with_its_age_and_evidence(
    studio: Studio, specs: Specs
) -> None:
    made = studio.record("lambda", Echo("lambda"))
    (adapter,) = adapters(specs, studio.settings, ["lambda"])
    transport = RecordedTransport("lambda", recordings_in(studio.out))
    with httpx.Client(transport=transport) as http:
        rows = list(adapter.offers_in(adapter.fetch(http)))
    offers = [row for row in rows if hasattr(row, "provenance")]
    assert len(offers) == made.offers
    assert {(one.provenance.observed_at, one.provenance.evidence) for one in offers} == {
        (NOON, "recorded")
    }


@pytest.mark.parametrize("provider", ["azure", "gcp", "lambda", "runpod", "vast", "shadeform"])
def test_a_recording_can_be_cut_to_so_many_records(provider: str, studio: Studio) -> None:
    made = studio.record(provider, Echo(provider), max_rows=4)
    whole = len(json.dumps([one.reply().read().decode() for one in made.recordings]))
    assert made.offers > 0
    assert whole < 60_000
    assert "cut to 4 records" in made.recordings[0].note


def test_rows_of_a_long_table_are_kept_where_they_name_a_known_type(studio: Studio) -> None:
    made = studio.record("aws", Echo("aws"), max_rows=2)
    tables = [one.response.text for one in made.recordings if one.response.text is not None]
    assert any("p5.48xlarge" in text for text in tables)
    assert made.offers > 0


def test_what_only_a_user_with_keys_asks_for_is_kept_and_no_replay_asks_for_it(
    studio: Studio,
) -> None:
    made = studio.record("ovhcloud", Echo("ovhcloud"))
    asked = {one.name: one.replay for one in made.recordings}
    assert asked["token"] is False
    assert set(asked.values()) == {True, False}
    assert '"access_token": "scrubbed-' in studio.written()


def test_who_asks_nothing_over_the_network_cannot_be_recorded(studio: Studio) -> None:
    with pytest.raises(ConfigurationError, match="asks nothing over the network"):
        studio.record("nebius", Refusing(500))


def test_an_unknown_provider_is_answered_with_the_nearest(studio: Studio) -> None:
    with pytest.raises(ConfigurationError, match="unknown provider 'lamda'") as caught:
        studio.record("lamda", Refusing(500))
    assert "lambda" in caught.value.hint


@pytest.mark.parametrize("status", [401, 404, 500])
def test_a_provider_that_fails_leaves_nothing_behind(status: int, studio: Studio) -> None:
    with pytest.raises(ProviderError) as caught:
        studio.record("lambda", Refusing(status))
    assert "canary" not in f"{caught.value} {caught.value.hint}"
    assert studio.left() == []


def test_a_part_that_fails_leaves_nothing_behind(studio: Studio) -> None:
    echo, refusing = Echo("ovhcloud"), Refusing(500)

    def answer(request: httpx.Request) -> httpx.Response:
        is_of_us = "ovhSubsidiary=US" in str(request.url)
        return (refusing if is_of_us else echo).handle_request(request)

    with pytest.raises(ProviderError, match="answered 500") as caught:
        studio.record("ovhcloud", answer)
    assert "a part is missing" in caught.value.hint
    assert studio.left() == []


ENTRY = {
    "instance_type": {
        "name": "gpu_1x_h100_pcie",
        "gpu_description": "H100 (80 GB PCIe)",
        "price_cents_per_hour": 249,
        "specs": {"gpus": 1},
    },
    "regions_with_capacity_available": [{"name": "us-east-1"}],
}


def test_a_key_that_stands_as_a_name_is_taken_out(studio: Studio) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        key = request.headers["Authorization"].removeprefix("Bearer ")
        return httpx.Response(200, json={"data": {"type": ENTRY, key: {"broken": True}}})

    assert studio.record("lambda", answer).offers == 1
    assert "canary" not in studio.written()
    assert '"scrubbed-' in studio.written()


def test_a_recording_that_scrubbing_changes_is_not_kept(studio: Studio) -> None:
    keys = {"lambda_api_key": SecretStr("us-east-1")}  # a key that looks like a place
    studio.settings = studio.settings.model_copy(update={"keys": keys})
    answer = httpx.Response(200, json={"data": {"type": ENTRY}})
    with pytest.raises(ProviderError, match="gives 1 offers, of which 0 are among the 1 of"):
        studio.record("lambda", lambda _: answer)
    assert studio.left() == []


def test_numbers_that_json_could_not_write_again_are_kept_as_text(studio: Studio) -> None:
    echo = Echo("lambda")

    def answer(request: httpx.Request) -> httpx.Response:
        text = echo.handle_request(request).read().decode()
        exact = text.replace(
            '"price_cents_per_hour": ',
            '"price_cents_per_hour": 0.0000000000000000001e19, "old": ',
            1,
        )
        long = exact.replace('"old": ', '"old": 1.00000000000000000000000001, "older": ', 1)
        return httpx.Response(200, headers={"content-type": "application/json"}, text=long)

    studio.record("lambda", answer)
    assert "1.00000000000000000000000001" in studio.written()
    (recording,) = recordings_in(studio.out)
    assert recording.response.text is not None


def test_a_reply_that_is_no_text_is_refused(studio: Studio) -> None:
    with pytest.raises(ProviderError, match="is no text"):
        studio.record("lambda", lambda _: httpx.Response(200, content=b"\xff\xfe\x00price"))
    assert studio.left() == []


def test_a_folder_in_use_is_left_alone(studio: Studio) -> None:
    studio.out.mkdir(parents=True)
    (studio.out / "mine.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="is not empty"):
        studio.record("lambda", Echo("lambda"))
    assert [path.name for path in studio.out.iterdir()] == ["mine.json"]


def test_an_empty_folder_is_filled(studio: Studio) -> None:
    studio.out.mkdir(parents=True)
    assert studio.record("lambda", Echo("lambda")).folder == studio.out
    assert studio.left() == ["here"]


def test_a_folder_that_cannot_be_made_is_named(studio: Studio) -> None:
    studio.out.parent.parent.mkdir(exist_ok=True)
    studio.out.parent.write_text("a file")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        studio.record("lambda", Echo("lambda"))
