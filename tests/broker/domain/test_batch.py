"""Batch jobs as a file writes them: the windows of their days, and what is refused."""

import pytest
from batch_cases import batch_entry, daily

from broker.domain.errors import BrokerError
from broker.domain.workload import Workloads
from broker.planning.workloads_file import workloads_from


def test_a_daily_job_is_a_run_for_each_day_from_midnight_until_its_time() -> None:
    file = daily(2, by="06:00 UTC")
    assert [(one.name, one.tokens) for one in file.runs] == [
        ("embed@2026-12-01", 3600.0),
        ("embed@2026-12-02", 3600.0),
    ]
    window = file.runs[1].window
    assert f"{window.earliest:%d %H:%M} {window.deadline:%d %H:%M}" == "02 00:00 02 06:00"


def test_a_deadline_at_midnight_ends_the_day_that_the_run_is_named_by() -> None:
    (first, _) = daily(2, by="00:00 UTC").runs
    assert first.name == "embed@2026-12-01"
    assert f"{first.window.earliest:%d %H} {first.window.deadline:%d %H}" == "01 00 02 00"


def test_days_whose_window_is_cut_by_the_horizon_are_no_runs_and_are_named() -> None:
    file = daily(3, after="20:00", by="06:00")
    assert [one.name for one in file.runs] == ["embed@2026-12-02", "embed@2026-12-03"]
    assert file.batch[0].crossing(file.horizon) == ("embed@2026-12-01", "embed@2026-12-04")
    whole = daily(3, by="06:00")
    assert whole.batch[0].crossing(whole.horizon) == ()


def test_requests_are_made_of_prompts_and_the_share_of_answers() -> None:
    file = Workloads.model_validate(
        daily(1).model_dump(by_alias=True)
        | {"batch": [batch_entry(output_share=0.2, input_tokens=800), batch_entry(name="read")]},
        strict=False,
    )
    asked, read = file.batch
    assert (asked.output_tokens, asked.tokens_per_request) == (200, 1000)
    assert (read.output_tokens, read.tokens_per_request) == (1, 1000)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"by": 1080}, "batch[0].by: 1080 is no time of day; write it in quotes and in UTC"),
        ({"by": "6am"}, "batch[0].by: '6am' is no time of day"),
        ({"by": "06:00 CET"}, "'06:00 CET' is no time of day"),
        ({"tokens": 5.0}, "here stands tokens, tokens_per_day, by"),
        ({"tokens_per_day": None, "by": None}, "here stands neither"),
        ({"output_share": 1}, "batch[0].output_share: 1 is not right"),
        ({"output_share": None}, "batch[0].output_share: this key is missing"),
        (
            {
                "tokens_per_day": None,
                "by": None,
                "after": "20:00",
                "tokens": 5.0,
                "window": {"earliest": "2026-12-01", "deadline": "2026-12-02"},
            },
            "after 20:00 UTC goes with by",
        ),
        ({"name": "embed@1"}, "batch[0].name: 'embed@1' is not right"),
    ],
)
def test_a_job_that_makes_no_sense_is_refused_with_key_and_value(
    change: dict[str, object], says: str
) -> None:
    data = {
        "schema": "gpubroker.workloads/1",
        "horizon": {"start": "2026-12-01", "days": 2},
        "batch": [batch_entry(**change)],
    }
    with pytest.raises(BrokerError) as caught:
        workloads_from(data, "file")
    assert says in str(caught.value)


def test_a_job_may_not_have_the_name_of_a_service_or_run() -> None:
    data = daily(1).model_dump(by_alias=True)
    with pytest.raises(BrokerError, match="the name 'embed' is used twice"):
        workloads_from(data | {"batch": [batch_entry(), batch_entry()]}, "file")
