"""Judge training estimates: verdicts of rows, and errors on halves that were not fitted to."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from judging import Verdict
from numpy.typing import NDArray
from training_fit import Batch, batch_of, fit_batch, weights_of
from training_rows import Row

from broker.domain.gpu import Precision
from solver.sizing.training_bands import Band, Kind, Scope
from solver.sizing.training_estimate import TrainingEstimate, scope, training_estimate
from solver.sizing.training_facts import Job
from solver.sizing.training_time import model_flops_per_token
from solver.sizing.training_trust import kind_of

_TERA = 1e12
_CONSTANT_MFU = 0.40
_UNTOLD_PRECISION = "precision not stated"
_HALF = 0.5
_BAND_SHARES = (0.045, 0.955)
"""Just beyond 90 %, as the bands must hold it on measurements that are not here."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Log of predicted over measured step time of rows that a fit had not seen, by split."""

    rows: tuple[Row, ...]
    splits: tuple[NDArray[np.float64], ...]
    """NaN where a row was fitted to."""


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Judge every row with the product's constants."""
    return [verdict(row) for row in rows]


def verdict(row: Row) -> Verdict:
    """Judge one row: the prediction in its unit, with the band."""
    bare = Verdict(row.id, row.gpu, row.kind, row.metric, row.value, reason=row.reason)
    if row.setup is None:
        return bare
    found = training_estimate(row.setup, doubts=row.doubts)
    if found is None:
        return replace(bare, reason="precision_unsupported")
    seconds = found.step_s * _rival_factor(row, found)
    band = found.band
    ends = sorted(row.in_unit(seconds / factor) for factor in (band.low_factor, band.high_factor))
    return replace(
        bare,
        predicted=row.in_unit(seconds),
        low=ends[0],
        high=ends[1],
        label=str(found.label),
        naive={"constant MFU": row.in_unit(_naive_s(row))},
    )


def usable(rows: Sequence[Row]) -> list[Row]:
    """Keep the rows that may be fitted to: those that tell their precision, or need not."""
    return [
        row
        for row in rows
        if row.setup is not None
        and row.setup.job() is not None
        and (row.setup.is_encoder or _UNTOLD_PRECISION not in row.doubts)
    ]


def held_out(rows: Sequence[Row], splits: int) -> HeldOut:
    """Fit on random halves by network × GPU, and predict the other halves."""
    batch, weights = batch_of(rows), weights_of([row.group for row in rows])
    groups = sorted({row.group for row in rows})
    places = np.array([groups.index(row.group) for row in rows])
    errors = []
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(groups))
        is_fitted = (order < len(groups) * _HALF)[places]
        errors.append(_unseen(batch, weights, is_fitted))
    return HeldOut(tuple(rows), tuple(errors))


def left_out(rows: Sequence[Row]) -> HeldOut:
    """Fit without one GPU generation after the other, and predict it."""
    batch, weights = batch_of(rows), weights_of([row.group for row in rows])
    names = [row.setup.gpu.architecture.split()[0] if row.setup else "" for row in rows]
    errors = []
    for name in sorted(set(names)):
        is_fitted = np.array([one != name for one in names])
        errors.append(_unseen(batch, weights, is_fitted))
    return HeldOut(tuple(rows), tuple(errors))


def bands_of(found: HeldOut, at: Scope | None = None) -> dict[tuple[Kind, Scope], Band]:
    """Give the span of measured over predicted rates that holds 90 % of each class."""
    classes = [_class(row, at) for row in found.rows]
    bands = {}
    for one in set(classes):
        chosen = np.array([each == one for each in classes])
        errors = np.concatenate([split[chosen] for split in found.splits])
        errors = errors[~np.isnan(errors)]
        if errors.size:
            low, high = np.exp(np.quantile(errors, _BAND_SHARES))
            bands[one] = (float(low), float(high))
    return bands


def _class(row: Row, at: Scope | None) -> tuple[Kind, Scope]:
    setup = row.setup
    if setup is None:
        raise ValueError(f"row {row.id} has no setup")
    kind = kind_of(
        model=setup.model, stack=setup.stack, method=setup.method, is_encoder=setup.is_encoder
    )
    return kind, at or scope(setup, row.doubts)


def _unseen(
    batch: Batch, weights: NDArray[np.float64], is_fitted: NDArray[np.bool_]
) -> NDArray[np.float64]:
    constants = fit_batch(batch.part(is_fitted), weights[is_fitted])
    errors = batch.errors(constants)
    errors[is_fitted] = np.nan
    return errors


def _rival_factor(row: Row, found: TrainingEstimate) -> float:
    """Give the middle of FP8 and NVFP4 over FP8 where a row says that it is one of them."""
    if not row.may_be_fp4 or row.setup is None:
        return 1.0
    other = training_estimate(replace(row.setup, precision=Precision.NVFP4))
    return 1.0 if other is None else math.sqrt(other.step_s / found.step_s)


def _naive_s(row: Row) -> float:
    """Time a step at 40 % of the 16-bit peak, or of the precision's where it is told."""
    job: Job | None = row.setup.job() if row.setup else None
    if job is None or row.setup is None:
        return math.nan
    split = row.setup.split
    tokens = split.micro_batches * split.micro_batch * split.data * row.setup.sequence_length
    flops = float(model_flops_per_token(job)) * tokens
    return flops / (split.gpus * float(job.peak_tflops) * _TERA * _CONSTANT_MFU)
