"""What-if: a workloads file and a catalog with some things changed, each written as key=value.

    traffic=1.3                  the traffic of every service, times a factor
    traffic.SERVICE=0.8          that of one service
    deadline.RUN=2026-12-20      the end of a run's window
    deadline.JOB=08:00           the time by which a daily batch job is done
    provider.NAME=off            no offer of a provider, or of provider:tier; `on` allows it again
    price.WHAT=0.9x              prices times a factor, by the hour and upfront: WHAT is a GPU
                                 model, a provider, a machine or the key of an offer
    price.OFFER=2.10             the dollars per node-hour of one offer
    any.other.path=value         what stands there in the workloads file, written as in the file:
                                 policy.price_trend_per_year, services.chat.spot.max_share

Entries of a list go by their name, or by their number from 0.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from broker.domain.errors import ConfigurationError
from broker.domain.place_names import provider_names
from broker.domain.workload import Workloads
from broker.planning.catalog_view import CatalogView
from broker.planning.nearest import unknown
from broker.planning.price_changes import with_price
from broker.planning.tree import Tree, data_of, names_in, value_at, with_value
from broker.planning.workloads_file import parse_value, workloads_from

_READ_WITH_THE_FILE = (".traffic.trace", ".traffic.trace_read")
_HINT = "write key=value, such as traffic=1.3, provider.vast=off or price.H100-SXM=0.9x"


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to change, as it was written."""

    key: str
    value: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}"


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a plan is made from."""

    workloads: Workloads
    view: CatalogView


@dataclass(frozen=True, slots=True)
class _Draft:
    """Inputs while they are changed: the workloads as data, checked when all is done."""

    data: Tree
    view: CatalogView


def parse_change(text: str, option: str = "--what-if") -> Change:
    """Read key=value.

    Raises:
        ConfigurationError: it has no key or no value.
    """
    key, equals, value = (part.strip() for part in text.partition("="))
    if not (key and equals and value):
        raise ConfigurationError(f"{option} {text!r} is no change", hint=_HINT)
    return Change(key, value)


def changed(inputs: Inputs, changes: Sequence[Change], option: str = "--what-if") -> Inputs:
    """Make every change, in the order given; the file's own rules hold for what comes out.

    Raises:
        ConfigurationError: a key names nothing, or a value is not right for it.
    """
    draft = _Draft(data_of(inputs.workloads), inputs.view)
    for change in changes:
        draft = _changed(draft, change, option)
    name = f"{option} {' '.join(map(str, changes))}"
    return Inputs(workloads_from(draft.data, name), draft.view)


def _changed(draft: _Draft, change: Change, option: str) -> _Draft:
    name, _, rest = change.key.partition(".")
    head = name.partition("[")[0]
    try:
        if name in _SPECIAL:
            return _SPECIAL[name](draft, rest, change.value)
        if head not in draft.data:
            raise unknown("key", head, (*draft.data, *_SPECIAL))
        if change.key.endswith(_READ_WITH_THE_FILE):
            raise _too_late()
        value = parse_value(change.value, change.key)
        return replace(draft, data=with_value(draft.data, change.key, value))
    except ConfigurationError as cause:
        raise ConfigurationError(f"{option} {change}: {cause}", hint=cause.hint) from cause


def _too_late() -> ConfigurationError:
    return ConfigurationError(
        "a log is read with the workloads file, not afterwards",
        hint="name it there, or change the curve: traffic.SERVICE=1.3",
    )


def _with_traffic(draft: _Draft, service: str, value: str) -> _Draft:
    factor = _factor(value)
    names = names_in(draft.data, "services")
    if not names:
        raise ConfigurationError(
            "the workloads file has no service", hint="only services have traffic"
        )
    if service and service not in names:
        raise unknown("service", service, names)
    data = draft.data
    for name in [service] if service else names:
        path = f"services.{name}.traffic.requests_per_s"
        data = with_value(data, path, _scaled(value_at(data, path), factor, name))
    return replace(draft, data=data)


def _scaled(load: object, factor: float, service: str) -> Mapping[str, object]:
    """Multiply the figures of a curve or a series."""
    keys = ("by_size",) if isinstance(load, Mapping) and "by_size" in load else ("mean", "peak")
    if not isinstance(load, Mapping) or any(key not in load for key in keys):
        raise ConfigurationError(
            f"the traffic of {service!r} is neither a curve nor a series",
            hint="give it as requests_per_s: {mean: …, peak: …}, or {by_size: [[…]]}",
        )
    return {**load, **{key: _times(load[key], factor) for key in keys}}


def _times(figures: object, factor: float) -> object:
    if isinstance(figures, (list, tuple)):
        return [_times(one, factor) for one in figures]
    return figures * factor if isinstance(figures, (int, float)) else figures


def _with_deadline(draft: _Draft, run: str, value: str) -> _Draft:
    runs, jobs = names_in(draft.data, "training"), names_in(draft.data, "batch")
    if run not in (*runs, *jobs):
        raise unknown("run", run, (*runs, *jobs))
    where = f"training.{run}" if run in runs else f"batch.{run}"
    daily = run in jobs and value_at(draft.data, f"{where}.by") is not None
    end = "by" if daily else "window.deadline"
    return replace(draft, data=with_value(draft.data, f"{where}.{end}", value))


def _with_provider(draft: _Draft, name: str, value: str) -> _Draft:
    known = {one for offer in draft.view.all_offers for one in provider_names(offer)}
    if name.lower() not in known:
        raise unknown("provider", name, {one.removesuffix(":") for one in known})
    if value.lower() not in ("on", "off"):
        raise ConfigurationError(
            f"{value!r} is neither on nor off", hint=f"write provider.{name}=off"
        )
    where = "policy.providers"
    allow, deny = (_names(value_at(draft.data, f"{where}.{part}")) for part in ("allow", "deny"))
    deny = [one for one in deny if one.lower() != name.lower()]
    if value.lower() == "off":
        deny.append(name.lower())
    elif allow and name.lower() not in map(str.lower, allow):
        allow.append(name.lower())
    data = with_value(draft.data, f"{where}.allow", tuple(allow))
    return replace(draft, data=with_value(data, f"{where}.deny", tuple(deny)))


def _with_price(draft: _Draft, what: str, value: str) -> _Draft:
    return replace(draft, view=with_price(draft.view, what, value))


_SPECIAL: Mapping[str, Callable[[_Draft, str, str], _Draft]] = MappingProxyType(
    {
        "traffic": _with_traffic,
        "deadline": _with_deadline,
        "provider": _with_provider,
        "price": _with_price,
    }
)


def _factor(value: str) -> float:
    try:
        factor = float(value.removesuffix("x"))
    except ValueError:
        factor = math.nan
    if not 0 < factor < math.inf:
        raise ConfigurationError(
            f"{value!r} is no factor", hint="write a number above 0, such as 1.3"
        )
    return factor


def _names(found: object) -> list[str]:
    return [str(one) for one in found] if isinstance(found, Iterable) else []
