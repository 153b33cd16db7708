import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta

import pytest
from alert_receivers import NIGHT, Listener, an_alert
from pydantic import SecretStr
from sqlalchemy import Engine
from store_places import environment_of

from broker.alerts.announcer import Announcer, Outcome
from broker.alerts.book import logged, queued
from broker.alerts.finding import Looked
from broker.alerts.news import Message
from broker.alerts.scrub import scrub_of
from broker.clock import Clock
from broker.domain.alert import Alert, AlertKind
from broker.store.database import reading, writing
from broker.store.place import Place

Tell = Callable[..., list[str]]
PRICE = an_alert("acme/box@spot", "up", AlertKind.PRICE_JUMP)


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def tell(engine: Engine, clock: Clock, listener: Listener) -> Tell:
    """Tell alerts on a night, and give what was heard on it."""

    def call(*alerts: Alert, day: int = 0, looked: Looked | None = None) -> list[str]:
        before = len(listener.said)
        announcer = Announcer(engine, [listener], clock)
        announcer.tell(alerts, now=NIGHT + timedelta(days=day), looked=looked)
        return listener.said[before:]

    return call


def test_what_was_said_is_not_said_again_before_its_state_changes(tell: Tell) -> None:
    assert tell(an_alert()) == ["raised chat: near"]
    assert tell(an_alert(title="other figures"), day=1) == []
    assert tell(an_alert(state="over"), day=2) == ["changed chat: over"]
    assert tell(an_alert(state="over"), day=3) == []
    assert tell(an_alert(), day=4) == ["changed chat: near"]


def test_since_is_when_it_was_first_found(tell: Tell, listener: Listener) -> None:
    tell(an_alert())
    tell(an_alert(state="over", since=NIGHT + timedelta(days=3)), day=3)
    assert listener.heard[-1].news[0].alert.since == NIGHT


def test_the_end_of_trouble_is_said_once_and_what_was_acted_on_ends_in_silence(tell: Tell) -> None:
    assert len(tell(an_alert(), PRICE)) == 2
    assert tell(day=1) == ["mended chat: near"]
    assert tell(day=2) == []
    assert tell(an_alert(), PRICE, day=3) == ["raised chat: near", "raised acme/box@spot: up"]


def test_only_what_was_looked_at_can_be_over(tell: Tell, engine: Engine) -> None:
    down = an_alert("acme", "failing", AlertKind.PROVIDER_FAILING, scope="")
    tell(an_alert(), down)
    elsewhere = Looked("other.yaml", frozenset(AlertKind), frozenset({"beta"}))
    assert tell(day=1, looked=elsewhere) == []
    blind = Looked("w.yaml", frozenset({AlertKind.NIGHT_FAILED}))
    assert tell(day=2, looked=blind) == []
    here = Looked("w.yaml", frozenset(AlertKind), frozenset({"acme"}))
    assert tell(day=3, looked=here) == ["mended chat: near", "mended acme: failing"]
    with reading(engine) as connection:
        assert all(one.mended_at for one in logged(connection))


def test_two_files_may_have_a_service_of_one_name(tell: Tell) -> None:
    assert len(tell(an_alert(), an_alert(scope="other.yaml"))) == 2


def test_all_of_a_night_is_one_message(tell: Tell, listener: Listener) -> None:
    tell(an_alert(), PRICE)
    (message,) = listener.heard
    assert message.title == "chat is near (and 1 more)"


def test_a_sink_that_was_down_hears_it_once_when_it_is_back(
    tell: Tell, listener: Listener, engine: Engine
) -> None:
    listener.down = 1
    assert tell(an_alert()) == []
    with reading(engine) as connection:
        (waits,) = queued(connection)
    assert (waits.attempts, waits.error) == (1, "nobody listens")
    assert tell(an_alert(), day=1) == ["raised chat: near"]
    assert listener.heard[0].key == waits.message.key
    assert tell(an_alert(), day=2) == []


def test_what_changed_or_ended_while_a_sink_was_down_is_told_as_it_stands(
    tell: Tell, listener: Listener
) -> None:
    listener.down = 1
    tell(an_alert(), PRICE, an_alert("other"))
    # One has another state, one is over, one is as it was: its message has the two others no more.
    assert tell(an_alert(state="over"), an_alert("other"), day=1) == [
        "raised other: near",
        "raised chat: over",
    ]
    assert tell(an_alert("other"), day=2) == ["mended chat: over"]


def test_a_plan_that_was_taken_while_a_sink_was_down_is_told_in_the_next_night(
    tell: Tell, listener: Listener
) -> None:
    listener.down = 1
    better = an_alert("w.yaml", "saves 512", AlertKind.BETTER_PLAN)
    assert tell(better) == []
    assert tell(day=1) == ["raised w.yaml: saves 512"]  # it is in force: tonight's is no better
    assert tell(day=2) == []


def test_a_change_that_nobody_heard_of_and_that_went_back_is_not_told(
    tell: Tell, listener: Listener
) -> None:
    tell(an_alert())
    listener.down = 1
    tell(an_alert(state="over"), day=1)
    assert tell(an_alert(), day=2) == []


def test_a_new_sink_hears_of_all_that_stands(tell: Tell, engine: Engine, clock: Clock) -> None:
    tell(an_alert())
    late = Listener("late")
    Announcer(engine, [late], clock).tell([an_alert()], now=NIGHT)
    assert late.said == ["raised chat: near"]


def test_a_sink_that_is_down_is_tried_once_a_run_and_a_refusal_holds_up_nothing(
    engine: Engine, clock: Clock
) -> None:
    down = Listener("down", down=9)
    refusing = Listener("refusing", down=2, is_down=False)
    sinks = [down, refusing]
    Announcer(engine, sinks, clock).tell([an_alert()], now=NIGHT)
    told = Announcer(engine, sinks, clock).tell([an_alert(), PRICE], now=NIGHT)
    assert [(one.sink, one.outcome) for one in told] == [
        ("down", Outcome.FAILED),
        ("refusing", Outcome.FAILED),
        ("refusing", Outcome.DELIVERED),
    ]
    assert down.down == 7
    assert refusing.said == ["raised acme/box@spot: up"]


def test_a_dry_run_shows_what_would_be_told_and_changes_nothing(
    engine: Engine, clock: Clock, listener: Listener
) -> None:
    announcer = Announcer(engine, [listener], clock)
    for _ in range(2):
        (shown,) = announcer.tell([an_alert()], now=NIGHT, dry_run=True)
        assert shown.outcome is Outcome.DRY_RUN
        assert shown.preview == "would hear chat is near"
    with reading(engine) as connection:
        assert (logged(connection), queued(connection)) == ((), ())
    assert len(announcer.tell([an_alert()], now=NIGHT)) == 1
    assert announcer.tell([an_alert()], now=NIGHT, dry_run=True) == ()


def test_alerts_are_kept_where_nobody_is_told(engine: Engine, clock: Clock) -> None:
    assert Announcer(engine, [], clock).tell([an_alert()], now=NIGHT) == ()
    with reading(engine) as connection:
        (one,) = logged(connection)
    assert one.alert == an_alert()
    assert one.told == ()


def test_an_interrupted_delivery_waits_for_the_next_run(
    engine: Engine, clock: Clock, listener: Listener
) -> None:
    class Interrupted(Listener):
        def deliver(self, message: Message) -> None:
            raise KeyboardInterrupt(message.key)

    with pytest.raises(KeyboardInterrupt):
        Announcer(engine, [Interrupted()], clock).tell([an_alert()], now=NIGHT)
    assert len(Announcer(engine, [listener], clock).flush()) == 1
    assert listener.said == ["raised chat: near"]


def test_two_runs_at_once_do_not_send_one_message_twice(
    engine: Engine, clock: Clock, listener: Listener
) -> None:
    class Slow(Listener):
        def deliver(self, message: Message) -> None:
            assert message.news
            # Another run starts while this one is sending.
            assert Announcer(engine, [listener], clock).tell([an_alert()], now=NIGHT) == ()

    assert len(Announcer(engine, [Slow()], clock).tell([an_alert()], now=NIGHT)) == 1
    assert listener.said == []


@pytest.mark.parametrize("moved", [timedelta(days=-400), timedelta(minutes=11)])
def test_a_claim_from_another_host_ends_with_time_whichever_way_the_clock_is_set(
    moved: timedelta, *, engine: Engine, clock: Clock, listener: Listener
) -> None:
    listener.down = 1
    Announcer(engine, [listener], clock).tell([an_alert()], now=NIGHT)
    with writing(engine) as connection:
        connection.exec_driver_sql("UPDATE alert_outbox SET claimed_by = 'elsewhere:1'")
        connection.exec_driver_sql("UPDATE alert_outbox SET claimed_at = '2026-12-02 03:00:00'")
    assert Announcer(engine, [listener], clock).flush() == ()
    assert len(Announcer(engine, [listener], lambda: NIGHT + moved).flush()) == 1


def test_no_secret_is_kept_or_told(engine: Engine, clock: Clock, listener: Listener) -> None:
    scrub = scrub_of([SecretStr("canary/1+2=")])
    said = ("it said canary/1+2=", "and canary%2F1%2B2%3D")
    Announcer(engine, [listener], clock, scrub=scrub).tell([an_alert(facts=said)], now=NIGHT)
    assert listener.heard[0].news[0].alert.facts == ("it said ***", "and ***")
    with reading(engine) as connection:
        assert "canary" not in repr((logged(connection), listener.heard))


DIES = """
import os, signal
from alert_receivers import NIGHT, Listener, an_alert
from store_places import told_place
from broker.alerts.announcer import Announcer
from broker.store.database import open_database

class Dies(Listener):
    def deliver(self, message):
        print(message.key, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

Announcer(open_database(told_place()), [Dies()], lambda: NIGHT).tell([an_alert()], now=NIGHT)
"""


def test_a_process_killed_while_it_sends_leaves_the_message_to_the_next_with_its_key(
    engine: Engine, place: Place, clock: Clock, listener: Listener
) -> None:
    ended = subprocess.run(  # noqa: S603 - the code is above
        [sys.executable, "-c", DIES],
        env=environment_of(place),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    # Its claim is gone with it: nobody waits for a lease to run out.
    Announcer(engine, [listener], clock).tell([an_alert()], now=NIGHT)
    assert [one.key for one in listener.heard] == [ended.stdout.strip()]
