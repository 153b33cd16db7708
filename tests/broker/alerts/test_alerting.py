from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from alert_receivers import NIGHT, Reply, receiver
from export_plans import Parts, bought, machine, plan, served
from pydantic import SecretStr
from tiny_cases import run_entry, service_entry

from broker.alerts.announcer import Outcome
from broker.alerts.night import Night
from broker.clock import Clock
from broker.domain.errors import ConfigurationError
from broker.planning.alerting import AlertService, scrub_from, sinks_from
from broker.settings import Settings

Sleep = Callable[[float], None]
BOX = machine("acme/box/east")
MADE = plan(
    [BOX],
    Parts(
        purchases=[bought(BOX, (0, 48, 1))],
        serving=[served(BOX, (0, 48, 4, 1.0))],
        services=[service_entry(0.5, 1)],
        runs=[run_entry(1, window={"earliest": "2026-12-05", "deadline": "2026-12-06"})],
    ),
)
FIRST = Night(NIGHT, "w.yaml", in_force=None, made=MADE, adopted=True, made_name="p.json")


def given(**fields: object) -> Settings:
    return Settings.model_validate(fields)


def test_each_way_that_the_settings_name_is_a_sink(tmp_path: Path, clock: Clock) -> None:
    assert sinks_from(given(), clock) == ()
    settings = given(
        alert_file=tmp_path / "a.jsonl",
        slack_webhook_url="https://hooks.slack.com/services/T/B/X",
        webhook_url="http://finops.internal/hook",
        webhook_secret="s",  # noqa: S106 - a test's
        smtp_host="mail.internal",
        mail_from="a@b.c",
        mail_to=("d@e.f",),
    )
    assert [sink.name for sink in sinks_from(settings, clock)] == [
        "file",
        "slack",
        "webhook",
        "mail",
    ]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"webhook_url": "https://x.y/z"}, "GPUBROKER_WEBHOOK_SECRET is not"),
        ({"webhook_url": "x.y/z", "webhook_secret": "s"}, "GPUBROKER_WEBHOOK_URL is no http"),
        ({"slack_webhook_url": "http://hooks.slack.com/canary"}, "SLACK_WEBHOOK_URL is no https"),
        *(
            ({"slack_webhook_url": f"https://{rest}"}, "SLACK_WEBHOOK_URL is no https address")
            for rest in ("h/x\n", "[::1/x", "h:port/x", "h:99999/x", "a..b/x", "xn--/x")
        ),
        ({"webhook_url": "https://[::1/x", "webhook_secret": "s"}, "WEBHOOK_URL is no http or"),
        *(
            ({"smtp_host": "m", "mail_from": "a@b.c", "mail_to": ("d@e.f",)} | wrong, problem)
            for wrong, problem in (
                ({"smtp_host": "a..b"}, "GPUBROKER_SMTP_HOST: 'a..b' is no host"),
                ({"smtp_host": "m" * 70}, "' is no host"),
                ({"mail_from": "a@b.c\n"}, "GPUBROKER_MAIL_FROM: 'a@b.c.*' is no sender"),
                ({"mail_to": ("d@e.f", "")}, "GPUBROKER_MAIL_TO: '' is no recipient"),
                ({"mail_to": ("d@e.f\nBcc: g@h.i",)}, "is no recipient"),
            )
        ),
        ({"smtp_host": "m"}, "GPUBROKER_MAIL_FROM is not"),
        ({"smtp_host": "m", "mail_from": "a@b.c"}, "GPUBROKER_MAIL_TO is not"),
        (
            {"smtp_host": "m", "mail_from": "a@b.c", "mail_to": ("d@e.f",), "smtp_user": "u"},
            "GPUBROKER_SMTP_PASSWORD is not",
        ),
        (
            {
                "smtp_host": "m",
                "mail_from": "a@b.c",
                "mail_to": ("d@e.f",),
                "smtp_password": "canary",
                "smtp_starttls": False,
            },
            "GPUBROKER_SMTP_STARTTLS is off",
        ),
    ],
)
def test_a_way_that_is_half_set_or_not_safe_is_refused(
    fields: dict[str, object], problem: str, *, clock: Clock
) -> None:
    with pytest.raises(ConfigurationError, match=problem) as caught:
        sinks_from(given(**fields), clock)
    assert "canary" not in f"{caught.value} {caught.value.hint}"


def test_every_secret_of_the_settings_is_kept_out() -> None:
    settings = Settings(
        keys={"lambda_api_key": SecretStr("canary-key")},
        slack_webhook_url=SecretStr("https://hooks.slack.com/services/T0/B0/canary-of-slack"),
        webhook_secret=SecretStr("canary-hmac"),
        smtp_password=SecretStr("canary-mail"),
        database=SecretStr("postgresql://u:canary-db@h/d"),
    )
    text = "canary-key canary-hmac canary-mail canary-db /services/T0/B0/canary-of-slack"
    assert scrub_from(settings).text(text) == "*** *** *** *** ***"
    assert scrub_from(settings).text("the canary-of-slack") == "the ***"


@pytest.mark.local_server
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_a_night_reaches_every_sink_once_and_the_list_knows_whom(
    tmp_path: Path, clock: Clock, sleep: Sleep
) -> None:
    file = tmp_path / "a.jsonl"
    with receiver([Reply(502)]) as there:
        settings = Settings(
            data_dir=tmp_path, slack_webhook_url=SecretStr(there.url), alert_file=file
        )
        shown = AlertService(settings, clock, sleep=sleep).tell(FIRST, dry_run=True)
        told = [AlertService(settings, clock, sleep=sleep).tell(FIRST) for _ in range(2)]
    assert [one.outcome for one in shown] == [Outcome.DRY_RUN] * 2
    assert [[one.sink for one in run] for run in told] == [["file", "slack"], []]
    assert len(there.heard) == 2  # the first was answered with 502
    assert len(file.read_text().splitlines()) == 1
    service = AlertService(settings, clock)
    (one,) = service.listed()
    assert one.told == ("file", "slack")
    assert one.alert.action == "gpubroker approve p.json --by NAME"
    assert service.queue() == ()


def test_a_digest_goes_through_the_same_sinks_once(tmp_path: Path, clock: Clock) -> None:
    file = tmp_path / "a.jsonl"
    service = AlertService(Settings(data_dir=tmp_path, alert_file=file), clock)
    since = NIGHT - timedelta(days=1)
    assert service.digest(since) == ()
    service.tell(FIRST)
    (shown,) = service.digest(since, dry_run=True)
    assert "1 new, 0 changed, 0 over, 1 open" in shown.preview
    assert len(service.digest(since)) == 1
    assert service.digest(since) == ()
    assert len(file.read_text().splitlines()) == 2


def test_a_database_whose_url_cannot_be_read_keeps_nobody_from_telling(
    tmp_path: Path, clock: Clock
) -> None:
    settings = given(database="postgresql://u:pw@[h/d", alert_file=tmp_path / "a.jsonl")
    assert [sink.name for sink in sinks_from(settings, clock)] == ["file"]
