"""Fit the serving constants: robust relative error over rows, shrunk towards physical values.

In two stages, as the first token says little of a step: first all that throughput, pace and batch
prefill follow from, then what only the first token of a closed loop sees. Rows are weighted by
their group (network × GPU) to the power −1/4, so that the largest does not decide alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from serving_batch import Batch, batch_of
from serving_rows import Row

from solver.sizing.serving_constants import ServingConstants
from solver.sizing.serving_estimate import Load
from solver.sizing.serving_facts import StepFacts

_SCALE = 0.15
"""Log error at which the loss turns from squares to absolute values."""
_STEP_PRIOR = 4.0
_TOKEN_PRIOR = 0.7
"""Weight of log(constant / start), in rows' log errors."""
_GROUP_POWER = -0.25
_ROUNDS = 25
_FIRST_TOKEN = ("client_s", "queue_share", "queue_load_factor", "pairing_share")
_FOLLOWERS = {3: 1}
"""Engines of the last place (others) take the constants of vLLM but for host times."""

_Bounds = tuple[float, float, float]
START: Mapping[str, tuple[_Bounds, ...] | _Bounds] = {
    "compute_share": (
        (0.6, 0.3, 0.85),
        (0.6, 0.3, 0.8),
        (0.45, 0.2, 0.7),
        (0.5, 0.2, 0.8),
        (0.4, 0.1, 0.8),
    ),
    "amd_compute_share": (0.35, 0.15, 0.6),
    "other_compute_share": (0.8, 0.3, 0.95),
    "gddr_compute_factor": (0.9, 0.5, 1.1),
    "blackwell_compute_factor": (0.7, 0.4, 1.1),
    "ampere_compute_factor": (1.1, 0.8, 1.25),
    "bandwidth_share": ((0.88, 0.6, 0.95), (0.9, 0.6, 0.97), (0.6, 0.4, 0.9), (0.7, 0.3, 0.95)),
    "kv_bandwidth_factor": (0.85, 0.3, 1.1),
    "expert_bandwidth_factor": (0.9, 0.5, 1.05),
    "expert_compute_factor": (0.8, 0.3, 1.0),
    "expert_half_width": (200.0, 1.0, 3000.0),
    "expert_spread_factor": (1.2, 1.0, 3.0),
    "overlap_loss_share": (0.9, 0.01, 1.0),
    "decode_compute_factor": (0.9, 0.4, 1.2),
    "latent_share": (0.4, 0.1, 0.8),
    "prompt_attention_share": (0.5, 0.2, 0.8),
    "engine_host_s": (
        (5e-4, 1e-5, 5e-3),
        (5e-4, 1e-5, 5e-3),
        (8e-4, 1e-5, 5e-3),
        (1e-3, 1e-5, 0.02),
    ),
    "layer_host_s": ((4e-5, 1e-6, 2e-4),) * 3 + ((4e-5, 1e-6, 4e-4),),
    "sequence_host_s": ((9e-6, 1e-6, 1e-4),) * 3,
    "expert_layer_host_s": ((3e-5, 1e-6, 2e-4),) * 3,
    "prompt_layer_host_s": ((5e-5, 1e-6, 5e-4),) * 3,
    "fast_link_latency_s": (8e-6, 1e-6, 5e-5),
    "fast_link_share": (0.48, 0.2, 0.9),
    "pcie_latency_s": (6e-5, 5e-6, 3e-4),
    "pcie_share": (0.6, 0.1, 0.9),
    "pcie_growth": (0.5, 0.01, 2.0),
    "exchange_factor": (1.0, 0.2, 5.0),
    "stage_loss_share": (0.05, 1e-3, 0.5),
    "host_gain_per_year": (1.3, 1.0, 2.5),
    "compute_gain_per_year": (1.1, 1.0, 1.6),
    "interference_factor": ((1.0, 0.3, 1.6), (1.0, 0.3, 1.6), (0.5, 0.1, 1.5)),
    "client_s": ((0.099, 1e-3, 0.3), (0.033, 1e-3, 0.3), (0.195, 1e-3, 0.4)),
    "queue_share": ((0.089, 1e-3, 1.0), (0.077, 1e-3, 1.0), (0.293, 0.01, 1.0)),
    "queue_load_factor": (0.3, 1e-3, 3.0),
    "pairing_share": ((0.3, 1e-3, 1.0),) * 3,
}
"""Start, least and most of each constant: starts are textbook values and earlier published fits."""


@dataclass(frozen=True, slots=True)
class _Knob:
    name: str
    place: int | None
    bounds: _Bounds


def fit(rows: Sequence[Row], *, rounds: int = _ROUNDS) -> ServingConstants:
    """Fit all constants to rows."""
    batch, weights = batch_of(rows), _weights(rows)
    static = np.asarray(batch.load.is_static) > 0
    steps = (batch.kind < 2) | static  # noqa: PLR2004 - the third place is the first token
    knobs = _knobs()
    first = [knob for knob in knobs if knob.name not in _FIRST_TOKEN]
    second = [knob for knob in knobs if knob.name in _FIRST_TOKEN]
    found = _stage(batch, weights, steps, first, start=_start(), prior=_STEP_PRIOR, rounds=rounds)
    return _stage(batch, weights, ~steps, second, start=found, prior=_TOKEN_PRIOR, rounds=rounds)


def _stage(
    batch: Batch,
    weights: NDArray[np.float64],
    chosen: NDArray[np.bool_],
    knobs: Sequence[_Knob],
    *,
    start: ServingConstants,
    prior: float,
    rounds: int,
) -> ServingConstants:
    part, weight = _part(batch, chosen), weights[chosen]
    if not weight.size:
        return start
    centre = np.log([knob.bounds[0] for knob in knobs])
    low = np.log([knob.bounds[1] for knob in knobs])
    high = np.log([knob.bounds[2] for knob in knobs])

    def residuals(point: NDArray[np.float64]) -> NDArray[np.float64]:
        errors = part.errors(_with(start, knobs, np.exp(point))) * weight
        return np.concatenate([errors, prior * (point - centre)])

    inside = np.clip(centre, low + 1e-6, high - 1e-6)
    found = least_squares(
        residuals, inside, loss="soft_l1", f_scale=_SCALE, max_nfev=rounds, bounds=(low, high)
    )
    return _with(start, knobs, np.exp(found.x))


def _weights(rows: Sequence[Row]) -> NDArray[np.float64]:
    keys = [(row.group, row.metric[:4]) for row in rows]
    sizes = Counter(keys)
    raw = np.array([sizes[key] ** _GROUP_POWER for key in keys])
    return raw / raw.mean()


def _part(batch: Batch, chosen: NDArray[np.bool_]) -> Batch:
    def cut(value: StepFacts | Load) -> dict[str, NDArray[np.float64]]:
        return {one.name: np.asarray(getattr(value, one.name))[chosen] for one in fields(value)}

    return Batch(
        StepFacts(**cut(batch.facts)),
        Load(**cut(batch.load)),
        batch.kind[chosen],
        batch.measured[chosen],
    )


def _knobs() -> list[_Knob]:
    knobs = []
    for name, bounds in START.items():
        if isinstance(bounds[0], tuple):
            knobs += [_Knob(name, place, one) for place, one in enumerate(bounds)]  # type: ignore[arg-type]
        else:
            knobs.append(_Knob(name, None, bounds))  # type: ignore[arg-type]
    return knobs


def _start() -> ServingConstants:
    blank = {one.name: 0.0 for one in fields(ServingConstants)}
    tuples = {name: (0.0,) * 5 for name, bounds in START.items() if isinstance(bounds[0], tuple)}
    knobs = _knobs()
    made = ServingConstants(**{**blank, **tuples})  # type: ignore[arg-type]
    return _with(made, knobs, np.array([knob.bounds[0] for knob in knobs]))


def _with(
    base: ServingConstants, knobs: Sequence[_Knob], values: NDArray[np.float64]
) -> ServingConstants:
    changed: dict[str, float | list[float]] = {}
    for knob, value in zip(knobs, values, strict=True):
        if knob.place is None:
            changed[knob.name] = float(value)
        else:
            held = changed.setdefault(knob.name, list(getattr(base, knob.name)))
            held[knob.place] = float(value)  # type: ignore[index]
    return replace(base, **{name: _closed(name, one) for name, one in changed.items()})


def _closed(name: str, value: float | list[float]) -> float | tuple[float, ...]:
    if isinstance(value, float):
        return value
    length = len(START[name])
    places = max(length, 4)
    return tuple(value[place if place < length else _FOLLOWERS[place]] for place in range(places))
