"""The load of a service over the horizon: by slot and size class, the highest inside the slot."""

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from broker.domain.horizon import Horizon
from broker.domain.load import LoadCurve, LoadSeries
from broker.domain.workload import Service

_STEP = timedelta(minutes=15)
_SATURDAY = 5


def loads_by_size(service: Service, horizon: Horizon) -> tuple[tuple[float, ...], ...]:
    """Give the requests/s to carry, a row for each size class, a figure for each slot.

    It is the peak of the slot and of the start-up after it: a replica serves only after its
    start-up time, so it must be bought that much before the load comes: the load of a slot counts
    from `start_up` before the slot ends on.
    """
    load = service.traffic.requests_per_s
    if isinstance(load, LoadSeries):
        return _rows_of(load, service, horizon)
    curve = _curve_loads(load, service, horizon)
    return tuple(tuple(size.share * one for one in curve) for size in service.sizes)


def load_requests_per_s(service: Service, horizon: Horizon) -> tuple[float, ...]:
    """Give the requests/s to carry in each slot, all size classes together.

    Of a series it is the sum of what each size class has at its highest.
    """
    load = service.traffic.requests_per_s
    if isinstance(load, LoadSeries):
        return tuple(map(sum, zip(*_rows_of(load, service, horizon), strict=True)))
    return _curve_loads(load, service, horizon)


def pinned(service: Service, horizon: Horizon) -> Service:
    """Fix the start of a service's series to the horizon that it was written for."""
    load = service.traffic.requests_per_s
    if not isinstance(load, LoadSeries) or load.start is not None:
        return service
    begun = load.model_copy(update={"start": horizon.start})
    traffic = service.traffic.model_copy(update={"requests_per_s": begun})
    return service.model_copy(update={"traffic": traffic})


def _rows_of(
    series: LoadSeries, service: Service, horizon: Horizon
) -> tuple[tuple[float, ...], ...]:
    slots = [
        series.highest(horizon.start, slot.start_at, slot.end_at + service.start_up)
        for slot in horizon.slots()
    ]
    return tuple(zip(*slots, strict=True))


def _curve_loads(curve: LoadCurve, service: Service, horizon: Horizon) -> tuple[float, ...]:
    day = day_curve(curve)
    return tuple(
        max(
            _load_at(curve, day, moment)
            for moment in _moments(slot.start_at, slot.end_at + service.start_up)
        )
        for slot in horizon.slots()
    )


def _moments(start: datetime, end: datetime) -> list[datetime]:
    count = max(1, math.ceil((end - start) / _STEP))
    return [start + number * _STEP for number in range(count)]


def day_curve(curve: LoadCurve) -> Callable[[float], float]:
    """Give the requests/s of a weekday by the local hour: a raised cosine, its top at `peak_hour`.

    It is sharpened where the peak is above twice the mean, so that the mean of a day holds.
    """
    exponent = _sharpness(curve)
    base = max(0.0, 2 * curve.mean - curve.peak)

    def load(hour: float) -> float:
        bell = (1 + math.cos(math.tau * (hour - curve.peak_hour) / 24)) / 2
        return base + (curve.peak - base) * math.pow(bell, exponent)

    return load


def is_weekend(local: datetime) -> bool:
    """Tell whether a moment of local time is on a Saturday or Sunday."""
    return local.weekday() >= _SATURDAY


def _load_at(curve: LoadCurve, day: Callable[[float], float], moment: datetime) -> float:
    local = moment.astimezone(ZoneInfo(curve.timezone))
    factor = curve.weekend_factor if is_weekend(local) else 1.0
    return factor * day(local.hour + local.minute / 60)


def _sharpness(curve: LoadCurve) -> float:
    """Find k so that the mean of bellᵏ over a day, Γ(k+½) / (√π Γ(k+1)), is mean / peak."""
    if 2 * curve.mean >= curve.peak:
        return 1.0
    low, high = 1.0, 1e4
    for _ in range(60):
        middle = (low + high) / 2
        if _mean_of_bell(middle) > curve.mean / curve.peak:
            low = middle
        else:
            high = middle
    return low


def _mean_of_bell(exponent: float) -> float:
    return math.exp(math.lgamma(exponent + 0.5) - math.lgamma(exponent + 1)) / math.sqrt(math.pi)
