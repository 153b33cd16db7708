"""The load curve that fits rates best: mean and peak are the log's, the hour is searched.

mean            of the weekdays, each step of the day weighing the same
peak            the rate that one step in a hundred exceeds, so that a single burst decides
                nothing; with fewer than a hundred steps the highest
peak_hour       the quarter of an hour for which the squares of the differences from the mean
                weekday are least; where less than a day was seen, that of the highest step
weekend_factor  the mean of the weekend over that of the weekdays, where both were seen
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from broker.domain.errors import ConfigurationError
from broker.domain.load import LoadCurve
from broker.domain.load_profile import CurveError, Mark
from broker.domain.traffic import day_curve, is_weekend
from broker.planning.profiling.rates import Floats, Rates

_HOURS = 24
_QUARTERS = 96
_HOUR_S = 3600.0
_PEAK_SHARE = 0.99
_SEEN = 0.95
"""Part of a day's steps that must be known before the day counts as seen."""
_COLUMNS = 48
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Fitted:
    """A curve, how far the rates are from it, and what of a week was seen."""

    curve: LoadCurve
    error: CurveError
    expected_per_s: Floats
    """What the curve has in each step whose rate is known."""
    day_seen: bool
    weekday_seen: bool
    weekend_seen: bool
    chart: tuple[Mark, ...]
    chart_title: str


@dataclass(frozen=True, slots=True)
class _Local:
    """The known rates, with where each stands in the local day and week."""

    per_s: Floats
    hours: Floats
    weekend: npt.NDArray[np.bool_]
    at_s: Floats
    step_s: float

    @property
    def slots(self) -> npt.NDArray[np.int64]:
        """Number the steps of the local day."""
        return np.asarray((self.hours * _HOUR_S) // self.step_s, dtype=np.int64)

    @property
    def slot_count(self) -> int:
        """Count the steps of a day."""
        return max(1, math.ceil(_HOURS * _HOUR_S / self.step_s))

    def day(self, chosen: npt.NDArray[np.bool_]) -> Floats:
        """Give the mean of the chosen rates in each step of the day; NaN where there is none."""
        sums = np.bincount(self.slots[chosen], self.per_s[chosen], self.slot_count)
        counts = np.bincount(self.slots[chosen], minlength=self.slot_count)
        return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


def fit_curve(rates: Rates, timezone: str, source: str) -> Fitted:
    """Fit a load curve in local time to rates.

    Raises:
        ConfigurationError: no rate is above zero.
    """
    local = _local(rates, timezone)
    if not len(local.per_s) or local.per_s.max() <= 0:
        raise ConfigurationError(
            f"{source}: no rate is above zero", hint="check what the log or the query measures"
        )
    weekday, weekend = local.day(~local.weekend), local.day(local.weekend)
    weekday_seen, weekend_seen = (_part_known(one) >= _SEEN for one in (weekday, weekend))
    counted = ~local.weekend if weekday_seen else np.ones_like(local.weekend)
    day = local.day(counted)
    day_seen = _part_known(day) >= _SEEN
    mean = float(np.nanmean(day))
    factor = float(np.nanmean(weekend)) / mean if weekday_seen and weekend_seen and mean else 1.0
    peak = max(mean, float(np.quantile(local.per_s[counted], _PEAK_SHARE, method="higher")))
    shape = LoadCurve(mean=_down(mean), peak=_up(peak), peak_hour=0, timezone=timezone)
    hour = _best_hour(day, shape) if day_seen else _highest_hour(local)
    curve = shape.model_copy(update={"peak_hour": hour, "weekend_factor": round(factor, 3)})
    expected = _expected(curve, local)
    kind = "weekday" if weekday_seen else "day"
    return Fitted(
        curve=curve,
        error=_error(local, expected),
        expected_per_s=expected,
        day_seen=day_seen,
        weekday_seen=weekday_seen,
        weekend_seen=weekend_seen,
        chart=_day_chart(day, curve) if day_seen else _whole_chart(local, expected, curve),
        chart_title=f"requests/s of the mean {kind} by the hour, {timezone}"
        if day_seen
        else f"requests/s from the log's start to its end, {timezone}",
    )


def _local(rates: Rates, timezone: str) -> _Local:
    zone = ZoneInfo(timezone)
    known = rates.known
    moments = [datetime.fromtimestamp(float(at), zone) for at in rates.middles_s[known]]
    return _Local(
        per_s=rates.per_s[known],
        hours=np.array([one.hour + one.minute / 60 + one.second / _HOUR_S for one in moments]),
        weekend=np.array([is_weekend(one) for one in moments], dtype=np.bool_),
        at_s=rates.middles_s[known],
        step_s=rates.step_s,
    )


def _part_known(day: Floats) -> float:
    return float(np.mean(~np.isnan(day)))


def _best_hour(day: Floats, shape: LoadCurve) -> float:
    """Search the quarters of an hour for the peak that is nearest to a day's mean rates."""
    known = ~np.isnan(day)
    hours = (np.arange(len(day)) + 0.5) * _HOURS / len(day)
    load = day_curve(shape)
    errors = [
        float(np.sum((np.array([load(hour - at) for hour in hours[known]]) - day[known]) ** 2))
        for at in np.arange(_QUARTERS) * _HOURS / _QUARTERS
    ]
    return float(np.argmin(errors)) * _HOURS / _QUARTERS


def _highest_hour(local: _Local) -> float:
    hour = float(local.hours[int(local.per_s.argmax())])
    return round(hour * _QUARTERS / _HOURS) % _QUARTERS * _HOURS / _QUARTERS


def _expected(curve: LoadCurve, local: _Local) -> Floats:
    load = day_curve(curve)
    day = np.array([load(hour) for hour in local.hours])
    return np.asarray(np.where(local.weekend, curve.weekend_factor, 1.0) * day)


def _error(local: _Local, expected: Floats) -> CurveError:
    above = local.per_s - expected
    worst = int(above.argmax())
    return CurveError(
        step_s=local.step_s,
        rms_fraction=float(np.sqrt(np.mean(above**2))) / float(local.per_s.mean()),
        above_share=min(1.0, float(np.maximum(above, 0).sum() / local.per_s.sum())),
        worst_requests_per_s=max(0.0, float(above[worst])),
        worst_at=datetime.fromtimestamp(float(local.at_s[worst]), UTC),
    )


def _whole_chart(local: _Local, expected: Floats, curve: LoadCurve) -> tuple[Mark, ...]:
    zone = ZoneInfo(curve.timezone)
    labels = [f"{datetime.fromtimestamp(float(at), zone):%H:%M}" for at in local.at_s]
    return tuple(_marks(labels, local.per_s, expected))


def _day_chart(day: Floats, curve: LoadCurve) -> tuple[Mark, ...]:
    load = day_curve(curve)
    starts = np.arange(len(day)) * _HOURS / len(day)
    labels = [f"{int(hour):02}:{round(hour % 1 * 60):02}" for hour in starts]
    middles = starts + _HOURS / len(day) / 2
    return tuple(_marks(labels, day, np.array([load(hour) for hour in middles])))


def _marks(labels: list[str], log: Floats, curve: Floats) -> Iterator[Mark]:
    """Put neighbours together where there are more steps than columns."""
    groups = np.array_split(np.arange(len(log)), min(len(log), _COLUMNS))
    for group in groups:
        known = log[group][~np.isnan(log[group])]
        yield Mark(
            label=labels[int(group[0])],
            log_requests_per_s=float(known.mean()) if len(known) else None,
            curve_requests_per_s=float(curve[group].mean()),
        )


def _down(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _up(value: float) -> float:
    """Round up to four digits: a peak below the log's would be too few machines."""
    unit = 10.0 ** (math.floor(math.log10(value)) - _DIGITS + 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.{_DIGITS}g}")
