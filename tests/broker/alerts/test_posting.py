import json
import logging
import runpy
from collections.abc import Callable
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from alert_receivers import NIGHT, Reply, a_message, an_alert, receiver
from pydantic import SecretStr
from sqlalchemy import Engine

from broker.alerts.announcer import Announcer, Outcome
from broker.alerts.news import Event
from broker.alerts.sink import DeliveryError, Sink
from broker.alerts.sinks.slack import Slack
from broker.alerts.sinks.webhook import Webhook
from broker.clock import Clock

pytestmark = [pytest.mark.local_server, pytest.mark.allow_hosts(["127.0.0.1"])]

ROOT = Path(__file__).parents[3]
SECRET = SecretStr("canary-signing-secret")
PATH = "/services/T0CANARY/B0CANARY/canary-token-of-slack"
Sleep = Callable[[float], None]


def slack(url: str, clock: Clock, sleep: Sleep) -> Sink:
    return Slack(SecretStr(url), clock=clock, sleep=sleep)


def webhook(url: str, clock: Clock, sleep: Sleep) -> Sink:
    return Webhook(url, SECRET, clock=clock, sleep=sleep)


@pytest.mark.parametrize("make", [slack, webhook])
def test_a_receiver_that_fails_first_hears_it_in_the_end(
    make: Callable[..., Sink], *, clock: Clock, sleep: Sleep, pauses: list[float]
) -> None:
    soon = format_datetime(NIGHT + timedelta(seconds=9))
    replies = [
        Reply(None),
        Reply(503, "busy", (("Retry-After", soon),)),
        Reply(429, "rate_limited", (("Retry-After", "7"),)),
    ]
    with receiver(replies) as there:
        make(there.url, clock, sleep).deliver(a_message())
    assert len(there.heard) == 4
    assert len({one.body for one in there.heard}) == 1
    assert 1 <= pauses[0] <= 2
    assert pauses[1:] == [9, 7]


@pytest.mark.parametrize("make", [slack, webhook])
def test_what_is_refused_for_good_is_asked_once_and_the_error_has_no_secret(
    make: Callable[..., Sink],
    *,
    clock: Clock,
    sleep: Sleep,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    echo = f"invalid_payload {PATH} {SECRET.get_secret_value()}"
    with (
        caplog.at_level(logging.DEBUG),
        receiver([Reply(400, echo)], PATH) as there,
        pytest.raises(DeliveryError) as caught,
    ):
        make(there.url, clock, sleep).deliver(a_message())
    error = caught.value
    assert len(there.heard) == 1
    assert "(127.0.0.1) answered 400: invalid_payload" in str(error)
    assert not error.is_down
    assert error.__cause__ is None
    printed = capsys.readouterr()
    written = f"{error} {error.hint} {error!r} {caplog.text} {printed.out} {printed.err}"
    assert "canary" not in written.replace("canary-signing-secret", "" if make is slack else "!")


def test_a_long_wait_is_left_to_the_next_run(clock: Clock, sleep: Sleep) -> None:
    late = Reply(429, "", (("Retry-After", "3600"),))
    with receiver([late]) as there, pytest.raises(DeliveryError, match="answered 429"):
        slack(there.url, clock, sleep).deliver(a_message())
    assert len(there.heard) == 1


def test_a_redirect_is_not_followed(clock: Clock, sleep: Sleep) -> None:
    with (
        receiver() as other,
        receiver([Reply(307, "", (("Location", other.url),))]) as there,
        pytest.raises(DeliveryError, match="answered 307"),
    ):
        webhook(there.url, clock, sleep).deliver(a_message())
    assert other.heard == []


def test_nobody_at_the_address_is_a_sink_that_is_down(
    clock: Clock, sleep: Sleep, pauses: list[float]
) -> None:
    with receiver(path=PATH) as there:
        url = there.url
    with pytest.raises(DeliveryError, match=r"Slack \(127\.0\.0\.1\) gave no answer") as caught:
        slack(url, clock, sleep).deliver(a_message())
    assert caught.value.is_down
    assert "canary" not in f"{caught.value}{caught.value.hint}"
    assert len(pauses) == 3


def test_slack_down_for_a_whole_run_and_back_says_it_once(
    engine: Engine, clock: Clock, sleep: Sleep
) -> None:
    with receiver([Reply(500, "down")] * 4) as there:
        announcer = Announcer(engine, [slack(there.url, clock, sleep)], clock)
        runs = [announcer.tell([an_alert()], now=NIGHT + timedelta(days=day)) for day in range(3)]
    assert [[one.outcome for one in run] for run in runs] == [
        [Outcome.FAILED],
        [Outcome.DELIVERED],
        [],
    ]
    assert len(there.heard) == 5  # four attempts of the first night, one of the second


def test_slack_reads_no_markup_and_no_command_of_ours_is_cut(clock: Clock, sleep: Sleep) -> None:
    sly = an_alert(
        title="<!channel> & <https://evil|x>",
        facts=("<@U1>", "y" * 5000),
        action="gpubroker plan 'a&b.yaml'",
    )
    with receiver() as there:
        slack(there.url, clock, sleep).deliver(a_message(sly, an_alert("other")))
    payload = json.loads(there.heard[0].body)
    header, first, second, small = payload["blocks"]
    assert payload["text"] == "&lt;!channel&gt; &amp; &lt;https://evil|x&gt; (and 1 more)"
    assert header["text"]["type"] == "plain_text"
    assert first["text"]["text"].startswith("*&lt;!channel&gt; &amp; ")
    assert "• &lt;@U1&gt;\n" in first["text"]["text"]
    assert first["text"]["text"].endswith("```gpubroker plan 'a&amp;b.yaml'```")
    assert "costs $12.00 a day" in second["text"]["text"]
    assert small["elements"][0]["text"] == "2026-12-02 03:00 UTC · k1"


def test_slack_gets_no_more_than_it_takes(clock: Clock, sleep: Sleep) -> None:
    many = [an_alert(f"s{number}", facts=("&" * 400,) * 9) for number in range(80)]
    with receiver() as there:
        slack(there.url, clock, sleep).deliver(a_message(*many, key="k"))
    blocks = json.loads(there.heard[0].body)["blocks"]
    texts = [block["text"]["text"] for block in blocks if block["type"] == "section"]
    assert len(blocks) <= 50
    assert all(len(text) <= 3000 for text in texts)
    assert all("gpubroker plan w.yaml" in text for text in texts)
    assert not any(text.rstrip("`").endswith("&am") for text in texts)
    assert sum(map(len, texts)) < 13_000
    assert f"{80 - len(texts)} more: gpubroker alerts list" in json.dumps(blocks)


@pytest.fixture
def is_ours(tmp_path: Path) -> Callable[..., bool]:
    """Give the check that the documentation tells receivers to make."""
    code = (ROOT / "docs" / "alerts.md").read_text().partition("```python\n")[2].split("```")[0]
    (tmp_path / "receiver.py").write_text(code)
    return runpy.run_path(str(tmp_path / "receiver.py"))["is_ours"]


def test_a_webhook_is_verified_as_documented_and_its_key_stays(
    is_ours: Callable[..., bool], clock: Clock, sleep: Sleep
) -> None:
    with receiver([Reply(500)]) as there:
        webhook(there.url, clock, sleep).deliver(a_message(an_alert(), key="abc"))
    now, secret = NIGHT.timestamp(), SECRET.get_secret_value()
    for one in there.heard:
        assert one.headers["Idempotency-Key"] == "abc"
        assert is_ours(one.headers, one.body, secret, now + 299)
        assert not is_ours(one.headers, one.body, secret, now + 301)
        assert not is_ours(one.headers, one.body + b" ", secret, now)
        assert not is_ours(one.headers, one.body, "other", now)
        later = one.headers | {"X-Gpubroker-Timestamp": str(int(now) + 600)}
        assert not is_ours(later, one.body, secret, now + 600)
    body = json.loads(there.heard[0].body)
    assert (body["schema"], body["key"]) == ("gpubroker.alerts/1", "abc")
    assert body["news"][0]["alert"]["usd_per_day"] == "12.000000"
    assert body["news"][0]["event"] == "raised"


@pytest.mark.parametrize("make", [slack, webhook])
def test_a_preview_shows_what_would_be_sent_and_no_secret(
    make: Callable[..., Sink], *, clock: Clock, sleep: Sleep
) -> None:
    with receiver(path=PATH) as there:
        shown = make(there.url, clock, sleep).preview(a_message(event=Event.MENDED))
    assert "Mended: chat is near" in shown or '"mended"' in shown
    assert "canary" not in shown
    assert there.heard == []
