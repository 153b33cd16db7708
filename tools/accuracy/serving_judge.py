"""Judge serving estimates on measurements: each row, held-out errors, bands, order of GPUs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from judging import Verdict
from numpy.typing import NDArray
from serving_batch import batch_of, impossible, is_fitted, kind_of, metric_of, single
from serving_fit import fit
from serving_rows import Refused, Row

from broker.domain.candidate import Label
from solver.sizing.serving_bands import BANDS, Band, Metric, Scope
from solver.sizing.serving_constants import FITTED, ServingConstants
from solver.sizing.serving_trust import kind_of as kind_of_model
from solver.sizing.serving_trust import scope_of

_KNOWN = ("tokens", "tpot_m", "ttft_m")
_METRICS = ("tokens per second", "time per token", "time to first token")
_ENOUGH = 50
_LOWEST, _HIGHEST = 0.05, 0.95
Class = tuple[Metric, Scope, bool]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Errors of rows that a fit did not see: log(predicted / measured), and whose rows they are."""

    places: NDArray[np.int64]
    errors: NDArray[np.float64]


def usable(rows: Iterable[Row | Refused]) -> list[Row]:
    """Keep what the fit can use: stated, steady, and within what the hardware can do."""
    stated = [row for row in rows if isinstance(row, Row) and is_fitted(row)]
    beyond = impossible(stated)
    return [row for row, beats in zip(stated, beyond, strict=True) if not beats]


def verdicts(rows: Sequence[Row | Refused], constants: ServingConstants = FITTED) -> list[Verdict]:
    """Predict every row from its configuration alone."""
    batched = [
        row
        for row in rows
        if isinstance(row, Row) and row.requests_per_s is None and row.metric[:6] in _KNOWN
    ]
    by_id = {}
    if batched:
        predicted = batch_of(batched).predicted(constants)
        by_id = {id(row): float(one) for row, one in zip(batched, predicted, strict=True)}
    return [
        _refusal(row) if isinstance(row, Refused) else _verdict(row, by_id.get(id(row)))
        for row in rows
    ]


def held_out(rows: Sequence[Row], splits: int, *, seed: int = 0) -> list[HeldOut]:
    """Fit on a random half of the groups (network × GPU), and predict the other; many times."""
    groups = np.array([row.group for row in rows])
    names = np.unique(groups)
    found = []
    for number in range(splits):
        order = np.random.default_rng(seed + number).permutation(names)
        seen = np.isin(groups, order[: len(names) // 2])
        found.append(_without(rows, seen))
    return found


def left_out(rows: Sequence[Row], key: Mapping[str, str]) -> list[HeldOut]:
    """Fit without all rows of one class (`key` maps groups to classes), and predict those."""
    classes = np.array([key[row.group] for row in rows])
    return [_without(rows, classes != one) for one in np.unique(classes)]


def class_of(row: Row) -> Class:
    """Give the class of a row's band."""
    scope, _ = scope_of(row.replica)
    return metric_of(row), scope, row.replica.model.is_moe


def bands_of(
    rows: Sequence[Row], found: Sequence[HeldOut], scope: Scope | None
) -> dict[Class, Band]:
    """Give the span of measured / predicted that holds 90 %, by class; `scope` overrides."""
    errors: dict[Class, list[float]] = {}
    for one in found:
        for place, error in zip(one.places, one.errors, strict=True):
            metric, own, is_moe = class_of(rows[place])
            errors.setdefault((metric, scope or own, is_moe), []).append(float(error))
    return {
        key: (
            float(np.exp(-np.quantile(values, _HIGHEST))),
            float(np.exp(-np.quantile(values, _LOWEST))),
        )
        for key, values in errors.items()
    }


def coverage(
    rows: Sequence[Row], found: Sequence[HeldOut]
) -> dict[Class | None, tuple[int, float]]:
    """Give rows and the share of held-out errors within the product's bands, by class and in all.

    Only classes of more than 50 rows are listed beside the whole (None).
    """
    inside: dict[Class | None, list[bool]] = {None: []}
    seen: dict[Class | None, set[int]] = {None: set()}
    for one in found:
        for place, error in zip(one.places, one.errors, strict=True):
            key = class_of(rows[place])
            low, high = BANDS[key]
            for name in (None, key):
                inside.setdefault(name, []).append(bool(low <= np.exp(-error) <= high))
                seen.setdefault(name, set()).add(int(place))
    return {
        key: (len(seen[key]), float(np.mean(values)))
        for key, values in inside.items()
        if len(seen[key]) > _ENOUGH
    }


def right_orders(rows: Sequence[Row], found: Sequence[HeldOut]) -> tuple[int, int]:
    """Count pairs of GPU models for one offline job, and those whose order per GPU is right."""
    right = total = 0
    for one in found:
        jobs: dict[tuple[object, ...], dict[str, tuple[float, float]]] = {}
        for place, error in zip(one.places, one.errors, strict=True):
            row = rows[place]
            if kind_of(row) or row.clients is not None:
                continue
            gpus = row.replicas * row.replica.split.gpus
            job = (row.replica.model.name, row.input_tokens, row.output_tokens)
            best = jobs.setdefault(job, {})
            measured = row.value / gpus
            if row.gpu not in best or measured > best[row.gpu][0]:
                best[row.gpu] = (measured, measured * float(np.exp(error)))
        for best in jobs.values():
            for (true, guess), (other_true, other_guess) in combinations(best.values(), 2):
                total += 1
                right += (true > other_true) == (guess > other_guess)
    return right, total


def _without(rows: Sequence[Row], seen: NDArray[np.bool_]) -> HeldOut:
    constants = fit([row for row, one in zip(rows, seen, strict=True) if one])
    places = np.flatnonzero(~seen)
    return HeldOut(places, batch_of([rows[place] for place in places]).errors(constants))


def _refusal(row: Refused) -> Verdict:
    return Verdict(row.id, row.gpu, "", row.metric, row.value, reason=row.reason)


def _verdict(row: Row, predicted: float | None) -> Verdict:
    figure = single(row) if predicted is None else predicted
    sparse, attention = kind_of_model(row.replica.model)
    kind = f"{'sparse' if sparse else 'dense'}, {attention}"
    metric = _METRICS[kind_of(row)] if row.metric[:6] in _KNOWN else row.metric
    if figure is None or row.metric[:6] not in _KNOWN:
        reason = "overloaded" if row.metric[:6] in _KNOWN else "metric_not_estimated"
        return Verdict(row.id, row.gpu, kind, metric, row.value, reason=reason)
    key = class_of(row)
    low, high = BANDS[key]
    scale = 1.0 if kind_of(row) == 0 else 1000.0
    label = Label.CALIBRATED if key[1] is Scope.INSIDE else Label.ESTIMATED
    return Verdict(
        id=row.id,
        gpu=row.gpu,
        kind=kind,
        metric=metric,
        measured=row.value * scale,
        predicted=figure * scale,
        low=figure * low * scale,
        high=figure * high * scale,
        label=label.value,
        naive=_naive(row, scale),
    )


def _naive(row: Row, scale: float) -> dict[str, float]:
    """Predict by bandwidth alone (decode reads all weights), or by 40 % of the peak (prompts)."""
    replica, kind = row.replica, kind_of(row)
    weights = replica.weight_bytes_per_gpu().total
    step = weights / (replica.gpu.memory_gb_per_s * 1e9)
    clients = row.clients or 1.0
    if kind == 0:
        return {"bandwidth only": clients / step}
    if kind == 1:
        return {"bandwidth only": step * scale}
    flops = 2 * replica.model.active_params_b * 1e9 * row.input_tokens
    rate = 0.4 * replica.arithmetic.tflops * 1e12 * replica.split.gpus
    return {"40 % of the peak": flops / rate * scale}
