"""Recordings: which request they answer, and what they must state."""

import json
from pathlib import Path

import httpx
import pytest

from broker.domain.errors import ConfigurationError, ProviderError
from broker.domain.offer import Evidence
from providers.kit.adapter import EVIDENCE, OBSERVED_AT
from providers.kit.recorded import (
    RecordedTransport,
    Recording,
    recorded_client,
    recorded_providers,
    recordings,
)

VAST = "https://console.vast.ai/api/v0/bundles/"


def some_recording(**changes: object) -> dict[str, object]:
    return {
        "name": "types",
        "made_on": "2026-11-27",
        "evidence": "composed",
        "sources": ["a price list of 2026-09-20"],
        "note": "two rows",
        "request": {"method": "GET", "url": "https://cloud.example/types?b=2&a=1"},
        "response": {"status": 200, "headers": {}, "body": {"price": 1.10}},
        **changes,
    }


def test_lambda_runpod_and_vast_are_recorded() -> None:
    assert {"lambda", "runpod", "vast"} <= set(recorded_providers())


def test_a_reply_carries_the_day_and_the_evidence_of_its_recording() -> None:
    recording = Recording.model_validate_json(json.dumps(some_recording()))
    reply = recording.reply()
    assert reply.extensions[OBSERVED_AT] == recording.made_on
    assert reply.extensions[EVIDENCE] is Evidence.COMPOSED
    assert json.loads(reply.read()) == {"price": 1.10}


def test_a_raw_body_is_given_as_it_came() -> None:
    cut = some_recording(response={"text": '{"data": ['})
    assert Recording.model_validate_json(json.dumps(cut)).reply().read() == b'{"data": ['


@pytest.mark.parametrize(
    "changes",
    [{"evidence": "live"}, {"sources": []}, {"note": ""}, {"made_on": "today"}, {"extra": 1}],
)
def test_a_recording_without_provenance_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(changes))):
        Recording.model_validate_json(json.dumps(some_recording(**changes)))


def test_the_order_of_keys_in_a_body_does_not_matter() -> None:
    (asked,) = [one for one in recordings("vast") if one.name == "on-demand"]
    assert isinstance(asked.request.body, dict)
    turned = dict(reversed(asked.request.body.items()))
    transport = RecordedTransport("vast")
    with httpx.Client(transport=transport) as http:
        reply = http.post(VAST, json=turned)
    assert reply.extensions[EVIDENCE] is Evidence.COMPOSED
    assert transport.unused() == ("bid",)


def test_a_request_that_was_not_recorded_is_named() -> None:
    named = pytest.raises(ProviderError, match=r"console\.vast\.ai/api/v0/instances")
    with recorded_client("vast") as http, named as error:
        http.get("https://console.vast.ai/api/v0/instances/")
    assert "on-demand" in error.value.hint


def test_another_body_is_another_request() -> None:
    with recorded_client("vast") as http, pytest.raises(ProviderError, match="no recording"):
        http.post(VAST, json={"type": "reserved"})


def test_a_provider_without_recordings_is_a_configuration_error() -> None:
    with (
        recorded_client("nosuchcloud") as http,
        pytest.raises(ConfigurationError, match="nosuchcloud") as error,
    ):
        http.get(VAST)
    assert "lambda" in error.value.hint


def test_recordings_speak_of_no_secret_and_no_machine() -> None:
    for provider in recorded_providers():
        for recording in recordings(provider):
            text = recording.model_dump_json()
            assert "Bearer " not in text, recording.name
            assert "/home/" not in text, recording.name
            names = {header.lower() for header in recording.request.headers}
            assert not names & {"authorization", "x-api-key", "cookie"}, recording.name


def test_recordings_are_found_beside_the_package_in_a_checkout() -> None:
    root = Path(__file__).parents[2] / "fixtures"
    folders = {path.parent.name for path in root.glob("*/*.json")}
    assert set(recorded_providers()) == folders
