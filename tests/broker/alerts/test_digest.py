from datetime import timedelta
from decimal import Decimal

from alert_receivers import NIGHT, Listener, an_alert
from sqlalchemy import Engine

from broker.alerts.announcer import Announcer
from broker.alerts.digest import digest_of
from broker.clock import Clock
from broker.domain.alert import Alert, AlertKind

DAY = timedelta(days=1)


def tell(engine: Engine, clock: Clock, day: int, *alerts: Alert) -> None:
    Announcer(engine, [], clock).tell(alerts, now=NIGHT + day * DAY)


def worth(usd: int, subject: str) -> Alert:
    return an_alert(subject, kind=AlertKind.IDLE_COMMITMENT, usd_per_day=Decimal(usd))


def test_a_digest_has_what_moved_and_the_three_that_are_worth_most(
    engine: Engine, clock: Clock
) -> None:
    old = [worth(usd, f"idle{usd}") for usd in (5, 400, 30, 200)]
    tell(engine, clock, 0, *old, an_alert("gone"))
    tell(engine, clock, 3, *old[:3], worth(200, "idle200").model_copy(update={"state": "over"}))
    tell(engine, clock, 4, *old, an_alert("late", usd_per_day=None))
    digest = digest_of(engine, since=NIGHT + 2 * DAY, now=NIGHT + 9 * DAY)
    assert digest is not None
    assert digest.title == "gpubroker, 7 days: 1 new, 1 changed, 1 over, 5 open"
    assert digest.text == (
        "From 2026-12-04 03:00 UTC to 2026-12-11 03:00 UTC: 1 new, 1 changed, 1 over, 5 open.\n"
        "\n"
        "Worth most, of what is open:\n"
        "1. idle400 is near: costs $400 a day\n"
        "   gpubroker plan w.yaml\n"
        "2. idle200 is near: costs $200 a day\n"
        "   gpubroker plan w.yaml\n"
        "3. idle30 is near: costs $30.00 a day\n"
        "   gpubroker plan w.yaml\n"
        "\n"
        "New:\n"
        "- late is near (9 days)\n"
        "\n"
        "Changed:\n"
        "- idle200 is near (9 days)\n"
        "\n"
        "Over:\n"
        "- gone is near (3 days)\n"
    )


def test_a_time_in_which_nothing_moved_has_no_digest(engine: Engine, clock: Clock) -> None:
    assert digest_of(engine, since=NIGHT, now=NIGHT + DAY) is None
    tell(engine, clock, 0, an_alert())
    tell(engine, clock, 2, an_alert(title="the same, with other figures"))
    assert digest_of(engine, since=NIGHT, now=NIGHT + 3 * DAY) is None


def test_a_digest_is_sent_once_to_each_sink_also_after_it_failed(
    engine: Engine, clock: Clock
) -> None:
    tell(engine, clock, 1, an_alert())
    digest = digest_of(engine, since=NIGHT, now=NIGHT + 2 * DAY)
    assert digest is not None
    up, down = Listener("up"), Listener("down", down=1)
    for _ in range(3):
        announcer = Announcer(engine, [up, down], clock)
        announcer.send(digest.title, digest.text, key=digest.key, now=NIGHT + 2 * DAY)
    assert [one.text for one in up.heard] == [digest.text]
    assert [one.text for one in down.heard] == [digest.text]
