"""Size classes: few, so that a program stays small, and true to the tokens that must be computed.

The requests are cut again and again where the cut takes most off the squared differences from the
classes' means, prompt and answer each measured against the mean of the whole log. Large requests
weigh most in it, as they do on the machines. A class has the mean of its requests, so the tokens
of all classes together are those of the log, up to rounding, and the rounding of one class is made
good in the next. The same log always gives the same classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from broker.domain.load_profile import ClassMembers
from broker.domain.workload import SizeClass
from broker.planning.profiling.request_log import Floats, Ints

MOST_CLASSES = 4
_LEAST_SHARE = 0.02
"""Part of the requests that a class has at least."""
_LEAST_GAIN = 0.03
"""Part of the squared differences that a further class must take away."""
_PARTS = 1000
"""Shares are whole thousandths."""
_LEVELS = 64
"""Sizes told apart for each factor of e: all up to 64 tokens, then steps below two per cent."""
_RADIX = 1 << 31
_TINY = 1e-9

_Positions = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Requests of nearly one size put together: sums, largest, and both measures of a cut."""

    inputs: Ints
    outputs: Ints
    counts: Ints
    most_inputs: Ints
    most_outputs: Ints
    features: Floats
    """Two columns: mean prompt and mean answer, over those of the log."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """A cut of a class in two, and how much it takes off the squared differences."""

    gain: float
    parts: tuple[_Positions, _Positions]


def size_classes(inputs: Ints, outputs: Ints, most: int = MOST_CLASSES) -> tuple[ClassMembers, ...]:
    """Gather requests into at most so many classes, the smallest prompts first."""
    sizes = _sizes(inputs, outputs)
    total = int(sizes.counts.sum())
    classes: list[_Positions] = [np.arange(len(sizes.counts))]
    cuts = [_best_cut(sizes, classes[0], total)]
    all_differences = _differences(sizes, classes[0])
    while len(classes) < most:
        gains = [cut.gain if cut else 0.0 for cut in cuts]
        at = int(np.argmax(gains))
        cut = cuts[at]
        if cut is None or cut.gain < _LEAST_GAIN * all_differences:
            break
        classes[at : at + 1] = cut.parts
        cuts[at : at + 1] = [_best_cut(sizes, part, total) for part in cut.parts]
    return _members(sizes, classes)


def _sizes(inputs: Ints, outputs: Ints) -> _Sizes:
    """Put together what is less than two in a hundred apart, so that a huge log is a small one."""
    keys = _level(inputs) * _RADIX + _level(outputs)
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    counts = np.diff(np.append(starts, len(keys)))
    sums = [np.add.reduceat(column[order], starts) for column in (inputs, outputs)]
    means = [max(float(column.mean()), _TINY) for column in (inputs, outputs)]
    return _Sizes(
        inputs=sums[0],
        outputs=sums[1],
        counts=counts,
        most_inputs=np.maximum.reduceat(inputs[order], starts),
        most_outputs=np.maximum.reduceat(outputs[order], starts),
        features=np.stack([sums[0] / counts / means[0], sums[1] / counts / means[1]], axis=1),
    )


def _level(tokens: Ints) -> Ints:
    return np.asarray(np.rint(np.log1p(tokens) * _LEVELS), dtype=np.int64)


def _differences(sizes: _Sizes, members: _Positions) -> float:
    """Sum the squared differences of a class from its mean."""
    weights = sizes.counts[members][:, None]
    values = sizes.features[members]
    sums = (weights * values).sum(axis=0)
    squares = float((weights * values**2).sum())
    return squares - float((sums**2).sum()) / float(weights.sum())


def _best_cut(sizes: _Sizes, members: _Positions, total: int) -> _Cut | None:
    found = [_cut_along(sizes, members, axis, total) for axis in (0, 1)]
    cuts = [cut for cut in found if cut is not None]
    return max(cuts, key=lambda cut: cut.gain, default=None)


def _cut_along(sizes: _Sizes, members: _Positions, axis: int, total: int) -> _Cut | None:
    """Find the best cut by one of the two measures; None where no cut leaves both sides enough."""
    values = sizes.features[members, axis]
    order = members[np.argsort(values, kind="stable")]
    values = sizes.features[order, axis]
    weights = sizes.counts[order].astype(np.float64)
    below = np.cumsum(weights)[:-1]
    above = weights.sum() - below
    sums = np.cumsum(weights[:, None] * sizes.features[order], axis=0)
    left, whole = sums[:-1], sums[-1]
    gains = (left**2).sum(axis=1) / below + ((whole - left) ** 2).sum(axis=1) / above
    gains -= float((whole**2).sum()) / float(weights.sum())
    least = _LEAST_SHARE * total
    allowed = (values[1:] > values[:-1]) & (below >= least) & (above >= least)
    if not allowed.any():
        return None
    at = int(np.argmax(np.where(allowed, gains, -1.0)))
    return _Cut(float(gains[at]), (order[: at + 1], order[at + 1 :]))


def _members(sizes: _Sizes, classes: Sequence[_Positions]) -> tuple[ClassMembers, ...]:
    counts = np.array([int(sizes.counts[one].sum()) for one in classes])
    parts = _parts(counts)
    inputs = _rounded([int(sizes.inputs[one].sum()) for one in classes], parts, counts)
    outputs = _rounded([int(sizes.outputs[one].sum()) for one in classes], parts, counts)
    found = [
        ClassMembers(
            size=SizeClass(
                input_tokens=inputs[at], output_tokens=outputs[at], share=int(parts[at]) / _PARTS
            ),
            request_count=int(counts[at]),
            most_input_tokens=int(sizes.most_inputs[one].max()),
            most_output_tokens=int(sizes.most_outputs[one].max()),
        )
        for at, one in enumerate(classes)
    ]
    return tuple(sorted(found, key=lambda one: (one.size.input_tokens, one.size.output_tokens)))


def _parts(counts: Ints) -> Ints:
    """Share out the thousandths by the largest remainders; none gets nothing."""
    exact = counts * _PARTS / counts.sum()
    parts = np.floor(exact).astype(np.int64)
    order = np.argsort(-(exact - parts), kind="stable")
    parts[order[: _PARTS - int(parts.sum())]] += 1
    return np.asarray(parts, dtype=np.int64)


def _rounded(tokens: Sequence[int], parts: Ints, counts: Ints) -> list[int]:
    """Round the means to whole tokens, the smallest class last, which makes the rest good."""
    found = [0] * len(tokens)
    carried = 0.0
    total = int(counts.sum())
    for at in np.argsort(-parts, kind="stable"):
        wanted = tokens[at] / total + carried
        share = int(parts[at]) / _PARTS
        found[at] = max(1, round(wanted / share))
        carried = wanted - found[at] * share
    return found
