"""Fit and judge estimates of peak training memory."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from judging import Verdict
from memory_rows import MemoryRow
from numpy.typing import NDArray
from scipy.optimize import least_squares
from training_fit import weights_of

from solver.sizing.training_bands import Band
from solver.sizing.training_constants import (
    MEMORY,
    OVER_SHARE,
    TIGHT_SHARE,
    MemoryConstants,
)
from solver.sizing.training_facts import Spread, one_spread
from solver.sizing.training_memory import peak_parts
from solver.sizing.training_trust import memory_band

_SCALE = 0.08
_ROUNDS = 20
_HALF = 0.5
_BAND_SHARES = (0.045, 0.955)
_NAIVE_BYTES = 18.0

_Prior = tuple[float, float]
PRIORS: Mapping[str, _Prior | tuple[_Prior, ...]] = {
    "runtime_gb": ((2.5, 0.3), (1.2, 0.4), (1.5, 0.4)),
    "kept_share": (0.86, 0.1),
    "kept_lora_share": (0.82, 0.1),
    "selective_share": (0.41, 0.15),
    "eager_factor": (1.2, 0.15),
    "layer_factor": (1.0, 0.5),
    "checkpoint_bytes": (2.0, 0.15),
    "logit_bytes": ((6.0, 0.4), (11.7, 0.3), (10.0, 0.3)),
    "nf4_bytes": (0.56, 0.1),
    "fp8_bytes": (1.15, 0.2),
    "gather_bytes": (6.0, 0.2),
    "hf_state_bytes": (18.0, 0.2),
    "embedding_state_bytes": (10.0, 0.3),
    "allocated_factor": (1.02, 0.03),
}
"""Middle and log width of each constant: textbook values and earlier published fits."""


@dataclass(frozen=True, slots=True)
class HeldPeaks:
    """Log of predicted over measured peaks that a fit had not seen, by split; NaN where fitted."""

    rows: tuple[MemoryRow, ...]
    splits: tuple[NDArray[np.float64], ...]
    right: tuple[float, ...]
    """Share of verdicts (fits or not) that were right, by split."""
    sure: tuple[float, ...]
    """The same of those that were not tight."""


def peak_bytes(row: MemoryRow, constants: MemoryConstants = MEMORY) -> float:
    """Estimate the peak of a row on each GPU, in bytes."""
    if row.task is None or row.split is None:
        return math.nan
    return _peak(row, one_spread(row.split), constants)


def verdict(row: MemoryRow) -> Verdict:
    """Judge one row, in its own unit; one without a peak by whether it fits: predicted 1 or 0."""
    metric = "peak_memory" if row.peak is not None else "fits"
    told = row.told if row.peak is not None else float(bool(row.fits))
    bare = Verdict(row.id, row.gpu, row.kind, metric, told, reason=row.reason)
    if row.reason:
        return bare
    peak, band = peak_bytes(row), memory_band()
    if row.peak is None:
        return replace(bare, predicted=float(fits(row, peak)), label="estimated")
    unit = row.unit_bytes
    params = row.task.model.params_b * 1e9 if row.task and row.split else 0.0
    gpus = row.split.gpus if row.split else 1
    return replace(
        bare,
        predicted=peak / unit,
        low=peak * band.low_factor / unit,
        high=peak * band.high_factor / unit,
        label="estimated" if row.is_vendor else "calibrated",
        naive={"18 bytes a parameter": params * _NAIVE_BYTES / gpus / unit},
    )


def fits(row: MemoryRow, peak: float) -> bool:
    """Say whether a peak fits into the row's device; tight counts as fitting."""
    return row.capacity is None or peak <= row.capacity


def usable(rows: Sequence[MemoryRow]) -> list[MemoryRow]:
    """Keep measured peaks that tell their tokens; a vendor's table of minima is none."""
    return [row for row in rows if row.peak is not None and not row.reason and not row.is_vendor]


def fit(rows: Sequence[MemoryRow]) -> MemoryConstants:
    """Fit all constants to measured peaks."""
    spreads = [one_spread(row.split) for row in rows if row.split is not None]
    weights = weights_of([row.group for row in rows])
    measured = np.log([row.peak or math.nan for row in rows])
    middle = np.log([prior[0] for _, _, prior in _knobs()])
    width = np.array([prior[1] for _, _, prior in _knobs()])

    def residuals(point: NDArray[np.float64]) -> NDArray[np.float64]:
        constants = constants_at(np.exp(point))
        found = [_peak(row, one, constants) for row, one in zip(rows, spreads, strict=True)]
        scaled = (np.log(found) - measured) * weights / _SCALE
        soft = np.sign(scaled) * np.sqrt(2 * (np.sqrt(1 + scaled**2) - 1))
        return np.concatenate([soft, (point - middle) / width])

    found = least_squares(residuals, middle, max_nfev=_ROUNDS, x_scale=width)
    return constants_at(np.exp(found.x))


def held_out(rows: Sequence[MemoryRow], judged: Sequence[MemoryRow], splits: int) -> HeldPeaks:
    """Fit on random halves by source × network × GPU, and predict the others and all verdicts."""
    groups = sorted({row.group for row in judged} | {row.group for row in rows})
    errors, right, sure = [], [], []
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(groups))
        half = {
            name for name, place in zip(groups, order, strict=True) if place < len(groups) * _HALF
        }
        constants = fit([row for row in rows if row.group in half])
        errors.append(
            np.array(
                [
                    math.nan
                    if row.group in half
                    else math.log(peak_bytes(row, constants) / (row.peak or math.nan))
                    for row in rows
                ]
            )
        )
        others = [row for row in judged if row.group not in half and row.fits is not None]
        peaks = [peak_bytes(row, constants) for row in others]
        hits = [fits(row, peak) == row.fits for row, peak in zip(others, peaks, strict=True)]
        plain = [
            hit
            for hit, row, peak in zip(hits, others, peaks, strict=True)
            if not TIGHT_SHARE < peak / (row.capacity or math.inf) <= OVER_SHARE
        ]
        right.append(sum(hits) / len(hits))
        sure.append(sum(plain) / len(plain))
    return HeldPeaks(tuple(rows), tuple(errors), tuple(right), tuple(sure))


def band_of(found: HeldPeaks) -> Band:
    """Give the span of measured over predicted peaks that holds 90 %."""
    errors = np.concatenate(found.splits)
    low, high = np.exp(-np.quantile(errors[~np.isnan(errors)], _BAND_SHARES[::-1]))
    return float(low), float(high)


def constants_at(values: NDArray[np.float64]) -> MemoryConstants:
    """Make constants of values in the order of the priors."""
    changed: dict[str, float | list[float]] = {}
    for (name, place, _), value in zip(_knobs(), values, strict=True):
        if place is None:
            changed[name] = float(value)
        else:
            held = changed.setdefault(name, [])
            if isinstance(held, list):
                held.append(float(value))
    made = {name: tuple(one) if isinstance(one, list) else one for name, one in changed.items()}
    return replace(MEMORY, **made)  # type: ignore[arg-type]


def _peak(row: MemoryRow, spread: Spread, constants: MemoryConstants) -> float:
    if row.task is None:
        return math.nan
    total = float(peak_parts(row.task, spread, constants).total) + row.extra_bytes
    return max(total, row.least_bytes)


def _knobs() -> list[tuple[str, int | None, _Prior]]:
    knobs: list[tuple[str, int | None, _Prior]] = []
    for name, prior in PRIORS.items():
        if isinstance(prior[0], tuple):
            knobs += [(name, place, one) for place, one in enumerate(prior)]  # type: ignore[misc]
        else:
            knobs.append((name, None, prior))  # type: ignore[arg-type]
    return knobs
