"""The rules that services and runs bring: objectives, places, spares, windows, hardware."""

import math
from collections.abc import Iterator
from datetime import datetime, timedelta

from broker.domain.availability import Availability
from broker.domain.gpu import Precision
from broker.domain.horizon import MAX_SLOTS, Horizon
from broker.domain.latency import Percentile
from broker.domain.policy import Policy
from broker.domain.workload import Run, Service, TrainingRun, Workloads
from broker.planning.explaining.rules import Edits, Rule, duration, ladder

_LOOSEST_OBJECTIVE = 10
"""Latency objectives are loosened up to this many times."""

_TTFT_STEP = timedelta(milliseconds=10)
_TPOT_STEP = timedelta(milliseconds=1)
_RTT_STEP = timedelta(milliseconds=10)
_FARTHEST = timedelta(milliseconds=400)
"""About the round trip between the two points of the globe that are farthest apart."""

_SHARE_STEP = 0.01
_TENTHS = 10
_FABRICS_GBIT_PER_S = (3200, 1600, 800, 400, 200, 100, 50, 25, 10, 0)
_MOST_GPUS = 1024
_SMALLER = (Precision.FP8, Precision.INT4)
_DAY = timedelta(days=1)
_LONGER = (1.25, 1.5, 2, 3, 4)


def service_rules(number: int, service: Service) -> Iterator[Rule]:
    """List the rules of a service that have a looser value."""
    path, place = f"services.{service.name}", f"services.{number}"
    if not service.disaggregated:
        yield from _spot(path, place, service)
    yield _objective(path, place, "ttft", (service.slo.ttft, _TTFT_STEP))
    yield _objective(path, place, "tpot", (service.slo.tpot, _TPOT_STEP))
    spare, least = service.availability.spare_replicas, service.min_replicas
    fewest = service.availability.min_zones if service.availability.min_zones > 1 else 0
    fewer = [(one, str(one)) for one in range(spare - 1, -1, -1)]
    name = "availability.spare_replicas"
    yield ladder(f"{path}.{name}", f"{place}.{name}", str(spare), fewer, is_sized=False)
    fewer = [(one, str(one)) for one in range(least - 1, fewest - 1, -1)]
    yield ladder(f"{path}.min_replicas", f"{place}.min_replicas", str(least), fewer, is_sized=False)
    name = "availability.max_provider_share"
    yield provider_share(f"{path}.{name}", f"{place}.{name}", service.availability)
    zones = service.availability.min_zones
    lowest = 2 if service.availability.spare_zone else 1
    fewer = [(one, str(one)) for one in range(zones - 1, lowest - 1, -1)]
    name = "availability.min_zones"
    yield ladder(f"{path}.{name}", f"{place}.{name}", str(zones), fewer, is_sized=False)
    if service.availability.spare_zone:
        name = "availability.spare_zone"
        yield ladder(
            f"{path}.{name}", f"{place}.{name}", "true", [(False, "false")], is_sized=False
        )
    if service.min_up_time:
        yield _least_time_up(path, place, service.min_up_time)
    yield _round_trip(path, place, service)
    if service.gpu_models:
        listed = ", ".join(service.gpu_models)
        yield ladder(
            f"{path}.gpu_models", f"{place}.gpu_models", listed, [((), "any")], is_sized=True
        )
    yield fewer_bits(path, place, service.precisions)


def run_rules(
    number: int, run: TrainingRun, horizon: Horizon, *, may_extend: bool
) -> Iterator[Rule]:
    """List the rules of a run that have a looser value.

    With `may_extend` the deadline may go past the horizon, which is made longer for it.
    """
    path, place = f"training.{run.name}", f"training.{number}"
    yield from window_rules(path, place, run, horizon, may_extend=may_extend)
    if run.max_duration is not None:
        yield _longest(path, place, run.max_duration)
    wish, where = run.hardware, f"{path}.hardware"
    slowest = wish.min_inter_node_gbit_per_s
    slower = [(float(one), f"{one}") for one in _FABRICS_GBIT_PER_S if one < slowest]
    name = "min_inter_node_gbit_per_s"
    yield ladder(
        f"{where}.{name}", f"{place}.hardware.{name}", f"{slowest:g}", slower, is_sized=True
    )
    if wish.bare_metal == "require":
        any_kind = [("any", "any")]
        name = "bare_metal"
        yield ladder(
            f"{where}.{name}", f"{place}.hardware.{name}", "require", any_kind, is_sized=True
        )
    if wish.gpu_models:
        listed = ", ".join(wish.gpu_models)
        name = "gpu_models"
        yield ladder(
            f"{where}.{name}", f"{place}.hardware.{name}", listed, [((), "any")], is_sized=True
        )
    yield _more_gpus(path, place, run)


def window_rules(
    path: str, place: str, run: Run, horizon: Horizon, *, may_extend: bool
) -> Iterator[Rule]:
    """Let a run end later, and begin earlier."""
    yield _deadline(path, place, run, _Reach(horizon, may_extend=may_extend))
    yield _earliest(path, place, run, horizon)


def _longest(path: str, place: str, limit: timedelta) -> Rule:
    """Let a run take longer from its first start to its end, at last as long as its window."""
    longer: list[tuple[object, str]] = [
        (limit * factor, duration(limit * factor)) for factor in _LONGER
    ]
    name = "max_duration"
    limits = [*longer, (None, "no limit")]
    return ladder(f"{path}.{name}", f"{place}.{name}", duration(limit), limits, is_sized=True)


def _least_time_up(path: str, place: str, least: timedelta) -> Rule:
    """Let replicas go sooner, at last whenever the load asks for fewer."""
    shorter: list[tuple[object, str]] = [
        (least / factor, duration(least / factor)) for factor in (2, 4)
    ]
    name = "min_up_time"
    times = [*shorter, (timedelta(0), "none")]
    return ladder(f"{path}.{name}", f"{place}.{name}", duration(least), times, is_sized=False)


def _spot(path: str, place: str, service: Service) -> Iterator[Rule]:
    share = service.spot.max_share
    yield Rule(
        path=f"{path}.spot.max_share",
        value=f"{share:g}",
        steps=math.ceil(round((1 - share) / _SHARE_STEP, 6)),
        edits=lambda _, step: {f"{place}.spot.max_share": _share(share, step)},
        text=lambda step: f"{_share(share, step):g}",
        is_sized=True,
    )


def provider_share(path: str, place: str, of: Availability | Policy) -> Rule:
    """Let one provider have more of a service's replicas, at last all."""
    share = of.max_provider_share
    more: list[tuple[object, str]] = [
        (one / _TENTHS, f"{one / _TENTHS:g}")
        for one in range(1, _TENTHS + 1)
        if one / _TENTHS > share
    ]
    return ladder(path, place, f"{share:g}", more, is_sized=False)


def _share(share: float, step: int) -> float:
    return min(1.0, round(share + step * _SHARE_STEP, 6))


def _objective(path: str, place: str, kind: str, of: tuple[Percentile, timedelta]) -> Rule:
    given, step_length = of
    name = f"p{given.share * 100:g}"
    limit = timedelta(seconds=given.limit_s)
    return Rule(
        path=f"{path}.slo.{kind}.{name}",
        value=duration(limit),
        steps=math.ceil((_LOOSEST_OBJECTIVE - 1) * limit / step_length),
        edits=lambda _, step: {f"{place}.slo.{kind}.{name}": limit + step * step_length},
        text=lambda step: duration(limit + step * step_length),
        is_sized=True,
    )


def _round_trip(path: str, place: str, service: Service) -> Rule:
    limit = service.max_network_rtt
    return Rule(
        path=f"{path}.max_network_rtt",
        value=duration(limit),
        steps=max(0, math.ceil((_FARTHEST - limit) / _RTT_STEP)),
        edits=lambda _, step: {f"{place}.max_network_rtt": limit + step * _RTT_STEP},
        text=lambda step: duration(limit + step * _RTT_STEP),
        is_sized=True,
    )


def fewer_bits(path: str, place: str, given: tuple[Precision, ...]) -> Rule:
    """Let the model be quantized further: its answers may then be a little worse."""
    more: list[tuple[object, str]] = []
    found = given
    for one in _SMALLER:
        if one not in found:
            found = (*found, one)
            more.append((found, ", ".join(found)))
    name = "precisions"
    return ladder(f"{path}.{name}", f"{place}.{name}", ", ".join(given), more, is_sized=True)


class _Reach:
    """How far a deadline may go: to the end of the horizon, or past it with a longer one."""

    def __init__(self, horizon: Horizon, *, may_extend: bool) -> None:
        self.horizon = horizon
        self.may_extend = may_extend

    def steps(self, run: Run) -> int:
        last = self.horizon.end
        if self.may_extend:
            length = run.window.deadline - run.window.earliest
            longest = self.horizon.start + MAX_SLOTS * self.horizon.slot // _DAY * _DAY
            last = min(last + max(2 * length, 7 * _DAY), longest)
        return max(0, (last - self.base(run)) // self.horizon.slot)

    def base(self, run: Run) -> datetime:
        return min(run.window.deadline, self.horizon.end)


def _deadline(path: str, place: str, run: Run, reach: _Reach) -> Rule:
    horizon, base = reach.horizon, reach.base(run)

    def later(step: int) -> datetime:
        return base + step * horizon.slot

    def edits(workloads: Workloads, step: int) -> Edits:
        end = later(step)
        changed: dict[str, object] = {}
        if end > run.window.deadline:
            changed[f"{place}.window.deadline"] = end
        if end > workloads.horizon.end:
            changed["horizon.days"] = math.ceil((end - horizon.start) / _DAY)
        return changed

    return Rule(
        path=f"{path}.window.deadline",
        value=_instant(run.window.deadline),
        steps=reach.steps(run),
        edits=edits,
        text=lambda step: (
            _instant(later(step)) + (", in a longer horizon" if later(step) > horizon.end else "")
        ),
    )


def _earliest(path: str, place: str, run: Run, horizon: Horizon) -> Rule:
    start = run.window.earliest
    return Rule(
        path=f"{path}.window.earliest",
        value=_instant(start),
        steps=max(0, (start - horizon.start) // horizon.slot),
        edits=lambda _, step: {f"{place}.window.earliest": start - step * horizon.slot},
        text=lambda step: _instant(start - step * horizon.slot),
    )


def _more_gpus(path: str, place: str, run: TrainingRun) -> Rule:
    given = run.hardware.gpus
    more: list[tuple[object, str]] = []
    found = given
    while 2 * max(found) <= _MOST_GPUS:
        found = (*found, 2 * max(found))
        more.append((found, ", ".join(map(str, found))))
    name = "hardware.gpus"
    listed = ", ".join(map(str, given))
    return ladder(f"{path}.{name}", f"{place}.{name}", listed, more, is_sized=True)


def _instant(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"
