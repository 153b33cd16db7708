"""A provider that hangs, sends garbage or errors: the night is planned on its last offers."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from nights import Nights, wish

from broker.journal.records import State
from broker.planning.nightly.deciding import Verdict
from broker.planning.nightly.outcomes import PriceOutcome
from broker.store.place import Place
from providers.kit.http import live_client

pytestmark = pytest.mark.long


@dataclass
class Answering:
    """A shop that gives one answer to all, through the client that checks and retries."""

    nights: Nights
    answer: Callable[[httpx.Request], httpx.Response]

    def client(self, _provider: str) -> httpx.Client:
        transport = httpx.MockTransport(self.answer)
        return live_client(lambda: self.nights.now, transport=transport, sleep=lambda _: None)


def times_out(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("no byte came", request=request)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda _: httpx.Response(500, text="oops"), "500"),
        (lambda _: httpx.Response(200, text="<html>we moved</html>"), "cannot be read"),
        (times_out, "no byte came"),
    ],
    ids=["500", "garbage", "silence"],
)
def test_the_night_goes_on_with_the_last_offers_and_people_hear_of_the_provider(
    answer: Callable[[httpx.Request], httpx.Response], why: str, place: Place, tmp_path: Path
) -> None:
    nights = Nights(place, tmp_path)
    nights.service().night(nights.workloads, wish())
    nights.now += timedelta(days=1)
    service = nights.service()
    service._planning.shop = Answering(nights, answer)
    report = service.night(nights.workloads, wish())
    priced = PriceOutcome.model_validate_json(report.steps[0].outcome)
    assert (priced.failed, priced.offers) == (("acme",), 1)
    assert report.run
    assert report.run.state is State.DONE
    assert report.outcome
    assert report.outcome.decided.verdict is Verdict.KEEP
    (news,) = json.loads(nights.told()[1])["news"]
    assert (news["alert"]["kind"], news["alert"]["subject"]) == ("provider_failing", "acme")
    assert why in news["alert"]["facts"][0]


def test_a_provider_that_hangs_is_given_up_on(place: Place, tmp_path: Path) -> None:
    nights = Nights(place, tmp_path)
    nights.service().night(nights.workloads, wish())
    nights.now += timedelta(days=1)
    nights.settings = nights.settings.model_copy(update={"provider_timeout_s": 1.0})
    nights.shop.released.clear()
    try:
        report = nights.service().night(nights.workloads, wish())
    finally:
        nights.shop.released.set()
    assert report.outcome
    assert report.outcome.decided.verdict is Verdict.KEEP
    assert "not done within 1 s" in nights.told()[1]
