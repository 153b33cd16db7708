"""A sweep: the plan for every combination of the values of one or two keys."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from broker.domain.errors import ConfigurationError
from broker.domain.plan import Plan, SolveSettings
from broker.planning.executor import Executor
from broker.planning.points import plan_points
from broker.planning.what_if import Change, Inputs, changed, parse_change
from broker.settings import Settings
from broker.specs.load import Specs

MOST_KEYS = 2
MOST_POINTS = 400
_OPTION = "--vary"
_NESTING = {"[": 1, "{": 1, "]": -1, "}": -1}


@dataclass(frozen=True, slots=True)
class Axis:
    """A key of a what-if, and the values to try, in the order given."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sweep:
    """The axes, and the plan of every point: the values of the last axis change fastest.

    `snapshot` names the catalog before any change to it.
    """

    snapshot: str
    axes: tuple[Axis, ...]
    points: tuple[tuple[str, ...], ...]
    plans: tuple[Plan, ...]


def parse_axes(texts: Sequence[str]) -> tuple[Axis, ...]:
    """Read one or two of key=a,b,c; commas inside brackets belong to a value.

    Raises:
        ConfigurationError: there are too many or none, a key stands twice, or values do.
    """
    axes = tuple(_axis(text) for text in texts)
    if not 0 < len(axes) <= MOST_KEYS:
        raise ConfigurationError(
            f"a sweep varies one or two keys, not {len(axes)}",
            hint=f"write {_OPTION} traffic=0.5,1,2, once or twice",
        )
    if len({one.key for one in axes}) < len(axes):
        raise ConfigurationError(
            f"{_OPTION} {axes[0].key} stands twice", hint="give all its values in one"
        )
    count = math.prod(len(one.values) for one in axes)
    if count > MOST_POINTS:
        raise ConfigurationError(
            f"the sweep has {count} points; at most {MOST_POINTS} are planned",
            hint="give fewer values, or split it",
        )
    return axes


def points_of(
    inputs: Inputs, axes: Sequence[Axis]
) -> tuple[tuple[tuple[str, ...], ...], tuple[Inputs, ...]]:
    """List the values of every point and the inputs that they lead to.

    Raises:
        ConfigurationError: a key names nothing, or a value is not right for it.
    """
    points = tuple(product(*(one.values for one in axes)))
    keys = [one.key for one in axes]
    made = tuple(
        changed(inputs, [Change(*one) for one in zip(keys, point, strict=True)], _OPTION)
        for point in points
    )
    return points, made


def plan_sweep(
    inputs: Inputs,
    axes: Sequence[Axis],
    solve: SolveSettings,
    executor: Executor,
    *,
    specs: Specs,
    settings: Settings,
    on_done: Callable[[str], None],
) -> Sweep:
    """Plan every point; `on_done` is called with the name of each that is done.

    Raises:
        ConfigurationError: a key names nothing, or a value is not right for it.
    """
    points, made = points_of(inputs, axes)
    plans = plan_points(
        made,
        solve,
        executor,
        specs=specs,
        settings=settings,
        on_done=lambda at: on_done(", ".join(points[at])),
    )
    return Sweep(inputs.view.snapshot, tuple(axes), points, plans)


def _axis(text: str) -> Axis:
    change = parse_change(text, _OPTION)
    values = tuple(_split(change.value))
    if "" in values or len(set(values)) < len(values):
        raise ConfigurationError(
            f"{_OPTION} {text!r} has an empty value or one twice",
            hint=f"write {change.key}=a,b,c with different values",
        )
    return Axis(change.key, values)


def _split(text: str) -> Iterator[str]:
    """Split at the commas that stand in no brackets."""
    depth, value = 0, ""
    for sign in text:
        depth += _NESTING.get(sign, 0)
        if sign == "," and depth == 0:
            yield value.strip()
            value = ""
        else:
            value += sign
    yield value.strip()
