from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.domain.errors import ConfigurationError
from broker.scheduler.rules import (
    Every,
    LocalTime,
    interval_of,
    local_time_of,
    weekday_of,
    zone_of,
)

BERLIN, NEW_YORK, LORD_HOWE, APIA = (
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Apia",
)


def instants(rule: LocalTime, first: str, count: int) -> list[str]:
    """List the instants of a rule after a first one, in UTC."""
    found = []
    now = datetime.fromisoformat(first)
    for _ in range(count):
        now = rule.after(now)
        found.append(f"{now.astimezone(UTC):%m-%d %H:%M}")
    return found


@pytest.mark.parametrize(
    ("zone", "before", "expected"),
    [
        # 02:00 becomes 03:00 on 29 March 2026: there is no 02:30, and 01:30 UTC is 03:30 then.
        (BERLIN, "2026-03-28T00:00Z", ["03-28 01:30", "03-29 01:30", "03-30 00:30"]),
        # 03:00 becomes 02:00 on 25 October 2026: 02:30 is at 00:30 UTC, and again at 01:30.
        (BERLIN, "2026-10-24T00:00Z", ["10-24 00:30", "10-25 00:30", "10-26 01:30"]),
        # 02:00 becomes 03:00 on 8 March 2026.
        (NEW_YORK, "2026-03-07T00:00Z", ["03-07 07:30", "03-08 07:30", "03-09 06:30"]),
        # 02:00 becomes 01:00 on 1 November 2026; 02:30 itself is there once.
        (NEW_YORK, "2026-10-31T00:00Z", ["10-31 06:30", "11-01 07:30", "11-02 07:30"]),
        ("UTC", "2026-03-29T02:30Z", ["03-30 02:30", "03-31 02:30", "04-01 02:30"]),
    ],
)
def test_a_night_without_the_time_or_with_two_of_it_has_one_run(
    zone: str, before: str, expected: list[str]
) -> None:
    assert instants(LocalTime(time(2, 30), ZoneInfo(zone)), before, 3) == expected


def test_the_second_half_past_one_in_new_york_is_no_second_run() -> None:
    rule = LocalTime(time(1, 30), ZoneInfo(NEW_YORK))
    assert instants(rule, "2026-11-01T00:00Z", 2) == ["11-01 05:30", "11-02 06:30"]
    between = datetime(2026, 11, 1, 6, 29, tzinfo=UTC)  # the clocks show 01:29 again
    assert rule.after(between) == datetime(2026, 11, 2, 6, 30, tzinfo=UTC)


@given(
    instant=st.datetimes(datetime(2009, 1, 1), datetime(2032, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - hypothesis adds the zone
    zone=st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, "Asia/Kathmandu", "America/Nuuk"]),
    minutes=st.integers(0, 24 * 60 - 1),
)
def test_every_local_date_has_one_instant_whatever_the_zone(
    instant: datetime, zone: str, minutes: int
) -> None:
    rule = LocalTime(time(*divmod(minutes, 60)), ZoneInfo(zone))
    following = rule.after(instant)
    assert instant < following <= instant + timedelta(hours=26)
    again = rule.after(following)
    days = [one.astimezone(rule.zone).date() for one in (following, again)]
    midnight_skipped = rule.at < time(1) or rule.at >= time(23)
    assert days[1] - days[0] == timedelta(days=1) or midnight_skipped
    assert timedelta(hours=22) <= again - following <= timedelta(hours=26)


def test_the_day_that_samoa_left_out_has_no_run_of_its_own() -> None:
    rule = LocalTime(time(2, 30), ZoneInfo(APIA))
    found = instants(rule, "2011-12-29T00:00Z", 3)
    assert found == ["12-29 12:30", "12-30 12:30", "12-31 12:30"]


def test_a_week_has_one_instant_of_its_weekday() -> None:
    rule = LocalTime(time(8), ZoneInfo(BERLIN), weekday_of("Monday"))
    assert instants(rule, "2026-10-19T06:00Z", 2) == ["10-26 07:00", "11-02 07:00"]
    assert date(2026, 10, 26).weekday() == 0
    assert rule.told == "mon 08:00 Europe/Berlin"


def test_an_interval_counts_from_its_anchor_also_backwards() -> None:
    noon = datetime(2026, 11, 1, 12, tzinfo=UTC)
    rule = Every(timedelta(minutes=30), noon)
    assert rule.after(noon) == noon + timedelta(minutes=30)
    assert rule.after(noon + timedelta(minutes=29)) == noon + timedelta(minutes=30)
    assert rule.after(noon - timedelta(minutes=1)) == noon
    assert rule.told == "every 30 min"
    assert Every(timedelta(hours=36), noon).told == "every 36 h"


@pytest.mark.parametrize("text", ["30", "soon", "30 s", "-5 min", "2 years", "400 d"])
def test_what_is_no_interval_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        interval_of(text)


@pytest.mark.parametrize("text", ["2:30", "25:00", "02:30:15", "night", ""])
def test_what_is_no_time_of_day_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a time such as 02:30"):
        local_time_of(text)


def test_a_wrong_name_is_told_with_the_near_ones() -> None:
    with pytest.raises(ConfigurationError) as error:
        zone_of("Europe/Berlino")
    assert "Europe/Berlin" in error.value.hint
    with pytest.raises(ConfigurationError, match="day of the week"):
        weekday_of("someday")
