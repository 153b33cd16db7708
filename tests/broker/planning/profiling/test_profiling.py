"""A profile is true to its log: the curve, the tokens, and what a log of its length cannot tell."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.domain.load import LoadCurve
from broker.domain.load_profile import LoadProfile
from broker.domain.traffic import day_curve, is_weekend
from broker.planning.profiling.classes import size_classes
from broker.planning.profiling.curve import Fitted, fit_curve
from broker.planning.profiling.options import ProfileOptions
from broker.planning.profiling.profiler import profile_file
from broker.planning.profiling.rates import Rates, rates_of

MONDAY = datetime(2026, 6, 1, tzinfo=UTC).timestamp()
DAY = 86_400
TRACES = Path(__file__).parents[5] / "shared" / "data" / "request-traces"
CONVERSATION = TRACES / "azure-llm-2023-conv.csv"


def rates_from(curve: LoadCurve, days: int, start: float = MONDAY) -> Rates:
    """Sample a curve in steps of a quarter of an hour, UTC."""
    load = day_curve(curve)
    middles = start + (np.arange(days * 96) + 0.5) * 900
    moments = [datetime.fromtimestamp(at, UTC) for at in middles]
    per_s = [
        load(one.hour + one.minute / 60) * (curve.weekend_factor if is_weekend(one) else 1)
        for one in moments
    ]
    return Rates(start, 900.0, np.array(per_s))


@settings(deadline=None, max_examples=25)
@given(
    mean=st.floats(0.1, 50),
    ratio=st.floats(1.1, 5),
    quarter=st.integers(0, 95),
    weekend=st.floats(0.2, 1.8),
)
def test_a_curve_is_found_again_in_its_own_rates(
    mean: float, ratio: float, quarter: int, weekend: float
) -> None:
    curve = LoadCurve(
        mean=mean, peak=mean * ratio, peak_hour=quarter / 4, weekend_factor=round(weekend, 3)
    )
    fitted = fit_curve(rates_from(curve, 14), "UTC", "log")
    found = fitted.curve
    assert found.mean == pytest.approx(curve.mean, rel=0.01)
    assert found.peak == pytest.approx(curve.peak, rel=0.02)
    distance = abs(found.peak_hour - curve.peak_hour)
    assert min(distance, 24 - distance) <= 0.25
    assert found.weekend_factor == pytest.approx(curve.weekend_factor, abs=0.002)
    assert fitted.error.rms_fraction < 0.05


def test_the_error_of_a_curve_is_that_of_the_log_worked_by_hand() -> None:
    """Two rates in turn, 1 and 3: mean 2, peak 3, and no curve of a day follows them."""
    rates = Rates(MONDAY, 900.0, np.array([1.0, 3.0] * 48 * 5))
    fitted = fit_curve(rates, "UTC", "log")
    load = day_curve(fitted.curve)
    expected = np.array([load((step + 0.5) / 4) for step in range(96)])
    log = np.array([1.0, 3.0] * 48)
    assert (fitted.curve.mean, fitted.curve.peak) == (2, 3)
    assert fitted.error.rms_fraction == pytest.approx(
        float(np.sqrt(np.mean((log - expected) ** 2))) / 2, rel=1e-6
    )
    above = np.maximum(log - expected, 0)
    assert fitted.error.above_share == pytest.approx(float(above.sum() / log.sum()), rel=1e-6)
    assert fitted.error.worst_requests_per_s == pytest.approx(float(above.max()), rel=1e-6)


def test_one_burst_does_not_make_the_peak() -> None:
    rates = rates_from(LoadCurve(mean=2, peak=3), 14)
    rates.per_s[130] = 90
    fitted = fit_curve(rates, "UTC", "log")
    assert fitted.curve.peak == pytest.approx(3, rel=0.01)
    assert fitted.error.worst_requests_per_s == pytest.approx(87, abs=1.5)
    assert fitted.error.worst_at == datetime.fromtimestamp(MONDAY + 130.5 * 900, UTC)


def test_the_peak_hour_is_in_local_time() -> None:
    rates = rates_from(LoadCurve(mean=2, peak=3, peak_hour=18), 5)
    assert fit_curve(rates, "America/New_York", "log").curve.peak_hour == 14


@pytest.mark.parametrize(
    ("days", "start", "seen"),
    [
        (5, MONDAY, (True, True, False)),
        (2, MONDAY + 5 * DAY, (True, False, True)),
        (7, MONDAY, (True, True, True)),
        (1, MONDAY - DAY // 2, (True, False, False)),
    ],
)
def test_what_of_a_week_was_seen(days: int, start: float, seen: tuple[bool, bool, bool]) -> None:
    fitted = fit_curve(rates_from(LoadCurve(mean=2, peak=3), days, start), "UTC", "log")
    assert (fitted.day_seen, fitted.weekday_seen, fitted.weekend_seen) == seen
    assert (fitted.curve.weekend_factor == 1) or all(seen)


def chart_of(days: int) -> Fitted:
    return fit_curve(rates_from(LoadCurve(mean=2, peak=3), days), "UTC", "log")


def test_a_chart_has_a_column_for_each_half_hour_of_a_day() -> None:
    chart = chart_of(5).chart
    assert (len(chart), chart[0].label, chart[1].label) == (48, "00:00", "00:30")
    assert max(chart, key=lambda mark: mark.curve_requests_per_s).label in ("13:30", "14:00")


def test_steps_are_longer_where_few_requests_come() -> None:
    busy = rates_of(MONDAY + np.arange(0, DAY, 10.0))
    calm = rates_of(MONDAY + np.arange(0, DAY, 100.0))
    short = rates_of(MONDAY + np.arange(0, 3600, 1.0))
    assert (busy.step_s, calm.step_s) == (900, 3600)
    assert len(short.per_s) == 11
    assert short.per_s.sum() * short.step_s == pytest.approx(3600)


sizes = st.lists(st.tuples(st.integers(1, 20_000), st.integers(0, 3000)), min_size=1, max_size=400)


@settings(deadline=None, max_examples=60)
@given(pairs=sizes, most=st.integers(1, 6))
def test_classes_keep_the_tokens_and_share_out_all_requests(
    pairs: list[tuple[int, int]], most: int
) -> None:
    inputs, outputs = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    classes = size_classes(inputs, outputs, most)
    assert 1 <= len(classes) <= most
    assert sum(one.request_count for one in classes) == len(pairs)
    assert sum(round(one.size.share * 1000) for one in classes) == 1000
    kept = sum(one.size.share * one.size.input_tokens for one in classes)
    assert abs(kept - inputs.mean()) <= 0.51  # half a token in the last class, and no more
    if outputs.min() > 0:
        kept = sum(one.size.share * one.size.output_tokens for one in classes)
        assert abs(kept - outputs.mean()) <= 0.51
    assert max(one.most_input_tokens for one in classes) == inputs.max()
    order = np.argsort(-inputs, kind="stable")
    assert size_classes(inputs[order], outputs[order], most) == classes


def test_two_kinds_of_requests_become_two_classes() -> None:
    inputs = np.array([100] * 700 + [6000] * 300)
    outputs = np.array([300] * 700 + [20] * 300)
    found = [
        (one.size.input_tokens, one.size.output_tokens, one.size.share)
        for one in size_classes(inputs, outputs)
    ]
    assert found == [(100, 300, 0.7), (6000, 20, 0.3)]


Write = Callable[[str], LoadProfile]


@pytest.fixture
def profiled(tmp_path: Path) -> Write:
    def profile(rows: str) -> LoadProfile:
        path = tmp_path / "log.csv"
        path.write_text(f"ts,input,output\n{rows}", encoding="utf-8")
        return profile_file(path, ProfileOptions())

    return profile


def test_an_hour_says_that_a_day_is_not_known(profiled: Write) -> None:
    found = profiled("".join(f"{MONDAY + second},100,10\n" for second in range(0, 3600, 2)))
    assert (found.curve.mean, found.curve.peak) == pytest.approx((0.5, 0.5), rel=0.003)
    assert any("it covers 1.0 h, which is no whole day" in note for note in found.notes)


def test_an_outage_in_the_log_is_named(profiled: Write) -> None:
    seconds = [at for at in range(0, 3 * DAY, 10) if not 100_000 < at < 115_000]
    found = profiled("".join(f"{MONDAY + at},100,0\n" for at in seconds))
    assert any(
        "no request came from 2026-06-02 04:00 to 2026-06-02 07:45" in note for note in found.notes
    )
    assert any("requests have no output" in note for note in found.notes)
    assert found.classes[0].size.output_tokens == 1  # the least that a class can have


def test_all_requests_at_one_moment_are_no_load(profiled: Write) -> None:
    with pytest.raises(Exception, match="came at one moment"):
        profiled(f"{MONDAY},1,1\n{MONDAY},1,1\n")


@pytest.mark.skipif(not CONVERSATION.exists(), reason="the shared traces are not here")
def test_a_real_conversation_service() -> None:
    """Its 19,366 requests in 58 minutes 22 seconds are 5.53 a second."""
    found = profile_file(CONVERSATION, ProfileOptions())
    assert (found.request_count, found.left_out) == (19_366, ())
    assert found.curve.mean == 5.53
    assert found.kept_input_fraction == pytest.approx(1, abs=0.001)
    assert found.kept_output_fraction == pytest.approx(1, abs=0.001)
    assert len(found.classes) == 4
