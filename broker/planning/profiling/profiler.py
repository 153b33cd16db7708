"""The way from a file to a load profile: what kind it is, what it says, what it cannot say."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from broker.domain.errors import ConfigurationError
from broker.domain.load_profile import LoadProfile
from broker.planning.profiling.classes import size_classes
from broker.planning.profiling.curve import Fitted, fit_curve
from broker.planning.profiling.instants import InstantReader
from broker.planning.profiling.options import ProfileOptions
from broker.planning.profiling.prometheus import is_reply, read_rates
from broker.planning.profiling.rates import Rates, busiest_minute_per_s, rates_of
from broker.planning.profiling.request_log import RequestLog, file_sha256, read_requests

_DAY_S = 86_400.0
_WEEK_S = 7 * _DAY_S
_GAP_S = 3600.0
_MISSING = 50
"""Requests that the curve has in a gap, so that their lack is no chance."""
_MOST_GAPS = 3
_TREND = 0.1
_BURST = 1.5
_TINY = 1e-9


def profile_file(path: Path, options: ProfileOptions) -> LoadProfile:
    """Read a log of requests, or a saved reply of Prometheus, and profile the load in it.

    Raises:
        ConfigurationError: it cannot be read, or there is no load in it.
    """
    if is_reply(path):
        return _of_rates(path, options)
    start = options.start.timestamp() if options.start else None
    reader = InstantReader(ZoneInfo(options.log_timezone), start)
    log = read_requests(path, options.columns, reader)
    if log.times_s[-1] <= log.times_s[0]:
        raise ConfigurationError(
            f"log {str(path)!r}: all of its {len(log.times_s):,} requests came at one moment",
            hint="name the column of their arrival with --time",
        )
    return _of_requests(path, log, options)


def _of_requests(path: Path, log: RequestLog, options: ProfileOptions) -> LoadProfile:
    rates = rates_of(log.times_s)
    fitted = fit_curve(rates, options.timezone, str(path))
    classes = size_classes(log.input_tokens, log.output_tokens, options.most_classes)
    kept_input = sum(one.size.share * one.size.input_tokens for one in classes)
    kept_output = sum(one.size.share * one.size.output_tokens for one in classes)
    return LoadProfile(
        source=path.name,
        sha256=file_sha256(path),
        from_at=_instant(float(log.times_s[0])),
        to_at=_instant(float(log.times_s[-1])),
        request_count=len(log.times_s),
        input_tokens=int(log.input_tokens.sum()),
        output_tokens=int(log.output_tokens.sum()),
        curve=fitted.curve,
        error=fitted.error,
        classes=classes,
        kept_input_fraction=kept_input / float(log.input_tokens.mean()),
        kept_output_fraction=kept_output / max(float(log.output_tokens.mean()), _TINY),
        left_out=log.left_out,
        notes=(*_log_notes(log, rates, fitted, options), *_notes(rates, fitted)),
        chart=fitted.chart,
        chart_title=fitted.chart_title,
    )


def _of_rates(path: Path, options: ProfileOptions) -> LoadProfile:
    rates, series, left_out = read_rates(path)
    fitted = fit_curve(rates, options.timezone, str(path))
    notes = ["the sizes of requests are not in it: write the size classes yourself"]
    if series > 1:
        notes.append(f"{series:,} series were added up; they are taken to be parts of one service")
    return LoadProfile(
        source=path.name,
        sha256=file_sha256(path),
        from_at=_instant(rates.start_s),
        to_at=_instant(rates.start_s + rates.step_s * len(rates.per_s)),
        request_count=None,
        input_tokens=None,
        output_tokens=None,
        curve=fitted.curve,
        error=fitted.error,
        classes=(),
        kept_input_fraction=None,
        kept_output_fraction=None,
        left_out=left_out,
        notes=(*notes, *_unknown_steps(rates), *_notes(rates, fitted)),
        chart=fitted.chart,
        chart_title=fitted.chart_title,
    )


def _log_notes(
    log: RequestLog, rates: Rates, fitted: Fitted, options: ProfileOptions
) -> Iterator[str]:
    """Say what is known of single requests alone."""
    if not log.names_zones:
        yield f"its instants name no time zone: they were taken as {options.log_timezone}"
    empty = int((log.output_tokens == 0).sum())
    if empty:
        yield f"{empty:,} requests have no output; they count as load, with an answer of nothing"
    minute = busiest_minute_per_s(log.times_s)
    if minute > _BURST * fitted.curve.peak:
        yield (
            f"in its busiest minute {minute:.3g} requests/s came: such bursts are above the peak "
            f"of the curve, which is of {rates.step_s / 60:.0f} minutes"
        )
    gaps = list(_gaps(rates, fitted))
    for start, end in gaps[:_MOST_GAPS]:
        yield (
            f"no request came from {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC: this counts "
            "as no load; if only the log was off, cut the log there"
        )
    if len(gaps) > _MOST_GAPS:
        yield f"there are {len(gaps) - _MOST_GAPS:,} more such gaps"


def _notes(rates: Rates, fitted: Fitted) -> Iterator[str]:
    """Say what a log of this length cannot tell."""
    length = rates.step_s * len(rates.per_s)
    if not fitted.day_seen:
        yield (
            f"it covers {length / 3600:.1f} h, which is no whole day: mean and peak are those of "
            "these hours, as if each day were so; the mean of a day, the hour of its peak and the "
            "weekend are not known"
        )
        return
    if not fitted.weekday_seen:
        yield "no whole weekday is in it: all days are taken as alike"
    elif not fitted.weekend_seen:
        yield "no whole weekend is in it: weekend_factor 1 is a guess"
    if length < _WEEK_S:
        yield f"it covers {length / _DAY_S:.1f} days, less than a week: days may differ"
    trend = _trend(rates)
    if trend is None:
        yield "it covers less than two weeks: whether the load grows is not known"
    elif abs(trend) >= _TREND:
        yield (
            f"its load changed by {trend:+.0%} from its first to its last weeks: the curve is of "
            "all of them, so scale it if this goes on"
        )


def _trend(rates: Rates) -> float | None:
    """Compare the mean of the last whole weeks with that of the same number of first ones."""
    weeks = int(rates.step_s * len(rates.per_s) // _WEEK_S) // 2
    steps = int(weeks * _WEEK_S / rates.step_s)
    if not steps:
        return None
    first, last = rates.per_s[:steps], rates.per_s[-steps:]
    before, after = float(np.nanmean(first)), float(np.nanmean(last))
    return after / before - 1 if before else None


def _gaps(rates: Rates, fitted: Fitted) -> Iterator[tuple[datetime, datetime]]:
    """List the stretches of an hour and more without a request in which many would have come."""
    empty = np.concatenate(([0], (rates.per_s == 0).astype(np.int8), [0]))
    edges = np.flatnonzero(np.diff(empty))
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        length = float(last - first) * rates.step_s
        missing = float(fitted.expected_per_s[first:last].sum()) * rates.step_s
        if length >= _GAP_S and missing >= _MISSING:
            start = _instant(rates.start_s + float(first) * rates.step_s)
            yield start, start + timedelta(seconds=length)


def _unknown_steps(rates: Rates) -> Iterator[str]:
    unknown = int((~rates.known).sum())
    if unknown:
        hours = unknown * rates.step_s / 3600
        yield f"{hours:.1f} h of its time have no sample; they are taken as unknown, not as no load"


def _instant(at_s: float) -> datetime:
    return datetime.fromtimestamp(at_s, UTC)
