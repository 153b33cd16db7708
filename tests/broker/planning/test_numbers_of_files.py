"""A number that is none, or endless, is told with its place; so is a place that is nowhere."""

import pytest
from tiny_files import RUN, WORKLOADS

from broker.domain.errors import ConfigurationError
from broker.planning.names import unmatched_names
from broker.planning.workloads_file import parse_value, parse_workloads
from broker.specs.load import load_specs


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("peak: 2", "peak: .inf", "services[0].traffic.requests_per_s.peak: inf is not right"),
        ("peak: 2", "peak: .nan", "peak: nan is not right: input should be a finite number"),
        ("tokens: 1.0e+8", "tokens: .inf", "training[0].tokens: inf is not right"),
        ("days: 1", "days: .inf", "horizon.days: inf is not right"),
        ("services:", "policy: {budget_usd_per_month: .inf}\nservices:", "month: inf is not right"),
        ("p95: 2 s", "p95: inf s", "'inf s' is not a duration"),
        ("p95: 2 s", "p95: 1e300 s", "'1e300 s' is longer than time can be counted"),
        ("days: 1", f"days: {'9' * 5000}", "line 2, column 36: '9999"),
        ("days: 1", "days: !!int one", "line 2, column 36: 'one' cannot be read as int"),
        ("days: 1", "days: !!bool maybe", "'maybe' cannot be read as bool"),
        ("days: 1", "days: !!timestamp soon", "'soon' cannot be read as timestamp"),
    ],
)
def test_a_number_without_end_is_refused(old: str, new: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        parse_workloads((WORKLOADS + RUN).replace(old, new, 1), "w")
    assert told in str(error.value)


def test_a_negative_duration_is_told_in_seconds() -> None:
    text = WORKLOADS.replace("- name:", "- min_up_time: -3h\n    name:", 1)
    with pytest.raises(ConfigurationError, match="min_up_time: -10800 s is not right"):
        parse_workloads(text, "w")


def test_a_key_in_the_wrong_place_is_not_its_own_remedy() -> None:
    with pytest.raises(ConfigurationError) as error:
        parse_workloads(f"{WORKLOADS}inventory: [{{provider: aws}}]\n", "w")
    assert "inventory[0].provider: there is no such key" in str(error.value)
    assert "did you mean 'provider'" not in str(error.value)


def test_a_place_that_is_nowhere_is_warned_of_with_the_nearest_name() -> None:
    text = f"{WORKLOADS}policy: {{regions: {{deny: [nonsense]}}}}\n"
    (told,) = unmatched_names(parse_workloads(text, "w"), [], load_specs())
    assert told.startswith("policy.regions.deny: no place is called 'nonsense' in this catalog; ")
    assert "the nearest name is '" in told


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("0001-01-01T00:00:00+14:00", "horizon.start: 0001-01-01 00:00:00+14:00 is in no year"),
        ("0001-01-01", "horizon: start 1-01-01 is too early; write a later day"),
        ("9999-12-31", "horizon: start 9999-12-31 is too late; write an earlier day"),
    ],
)
def test_a_day_at_the_end_of_time_is_refused(start: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        parse_workloads(WORKLOADS.replace("2026-12-01", f"'{start}'"), "w")
    assert told in str(error.value)


@pytest.mark.parametrize("zone", ["America", "Europe", "x" * 300, "../etc", ""])
def test_a_part_of_the_world_is_no_time_zone(zone: str) -> None:
    with pytest.raises(ConfigurationError, match=r"timezone: .* is no time zone; write one such"):
        parse_workloads(WORKLOADS.replace("Europe/Berlin", f"'{zone}'"), "w")


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_a_file_that_is_nested_without_end_is_told(opening: str) -> None:
    with pytest.raises(ConfigurationError, match="broken YAML: lists or mappings are nested too"):
        parse_workloads(f"schema: {opening * 5000}" if opening != "- " else "- " * 5000, "w")


def test_a_mapping_that_was_merged_and_changed_may_be_merged_again() -> None:
    base = "{usd: 9, team: chat}"
    text = f"{{first: [[{{one: &one {{<<: {base}, usd: 8}}}}]], then: {{<<: *one, provider: aws}}}}"
    assert parse_value(text, "text") == {
        "first": [[{"one": {"usd": 8, "team": "chat"}}]],
        "then": {"usd": 8, "team": "chat", "provider": "aws"},
    }
    with pytest.raises(ConfigurationError, match="is no value"):
        parse_value("{usd: 1, usd: 2}", "text")
