"""The part of docs/accuracy.md on serving: held-out error, bands, order of GPUs, in text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from judging import summaries
from numpy.typing import NDArray
from serving_batch import FEW_CLIENTS, kind_of
from serving_judge import HeldOut, coverage, held_out, right_orders, usable, verdicts
from serving_rows import Refused, Row, own_rows
from serving_trial import memory_lines

from broker.specs.load import Specs
from solver.sizing.serving_constants import FITTED_ON

_TOP = 90


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the table: what, which rows, and the goal and known figures in percent."""

    name: str
    holds: Callable[[Row], bool]
    known: str
    goal: str


def _is_first(row: Row) -> bool:
    return kind_of(row) == 2  # noqa: PLR2004 - the third place


def _is_rated(row: Row) -> bool:
    """Pass over what states too little for a fit to count: mean lengths only, services around."""
    return row.tier in ("A", "A2") or row.scenario == "static-batch"


_LINES = (
    _Line("throughput", lambda row: kind_of(row) == 0 and _is_rated(row), "13 / 50", "9 / 35"),
    _Line("time per output token", lambda row: kind_of(row) == 1, "17 / 45", "12 / 35"),
    _Line(
        f"time to first token, up to {FEW_CLIENTS} clients",
        lambda row: _is_first(row) and (row.clients or 1) <= FEW_CLIENTS,
        "28 / 90",
        "18 / 60",
    ),
    _Line(
        "sparse models: throughput and time per token",
        lambda row: not _is_first(row) and row.replica.model.is_moe and _is_rated(row),
        "24 / 60",
        "15 / 45",
    ),
    _Line("time to first token, any number of clients", _is_first, "", ""),
    _Line("throughput, all rows that state their load", lambda row: kind_of(row) == 0, "", ""),
)


def section(specs: Specs, splits: int) -> list[str]:
    """Write the section, as lines of Markdown."""
    table = list(own_rows(specs))
    rows = usable(table)
    found = held_out(rows, splits)
    return [
        "## Serving",
        "",
        *_told(table, rows, splits),
        *_errors(rows, found),
        *_bands(rows, found),
        *_order(rows, found),
        *memory_lines(specs, table),
        *_by_gpu(table),
    ]


def _told(table: Sequence[Row | Refused], rows: Sequence[Row], splits: int) -> list[str]:
    refused = sum(isinstance(row, Refused) for row in table)
    return [
        f"{len(table):,} public measurements (broker/specs/measurements_serving.csv, each with its",
        f"source). {refused} do not state their lengths; {len(table) - refused - len(rows)} are",
        "open-loop or MLPerf runs, or beat the datasheet, so that a cache answered; on the other",
        f"{len(rows):,} the constants of {FITTED_ON} are fitted. Below, they are fitted on half of",
        f"the groups (network × GPU) and judged on the other half, {splits} times.",
        "",
    ]


def _errors(rows: Sequence[Row], found: Sequence[HeldOut]) -> list[str]:
    heads = ("held out, median / p90 in %", "rows", "mean", "least to most", "known", "goal")
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for line in _LINES:
        chosen = np.array([line.holds(row) for row in rows])
        medians, tops = _quantiles(chosen, found)
        lines.append(
            f"| {line.name} | {int(chosen.sum()):,} | {np.mean(medians):.1f} / {np.mean(tops):.0f} "
            f"| {min(medians):.1f}–{max(medians):.1f} / {min(tops):.0f}–{max(tops):.0f} "
            f"| {line.known} | {line.goal} |"
        )
    return [*lines, ""]


def _quantiles(
    chosen: NDArray[np.bool_], found: Sequence[HeldOut]
) -> tuple[list[float], list[float]]:
    medians, tops = [], []
    for one in found:
        errors = 100 * np.abs(np.exp(one.errors[chosen[one.places]]) - 1)
        if errors.size:
            medians.append(float(np.median(errors)))
            tops.append(float(np.percentile(errors, _TOP)))
    return medians, tops


def _bands(rows: Sequence[Row], found: Sequence[HeldOut]) -> list[str]:
    lines = [
        "The 90 % bands hold of the held-out measurements:",
        "",
        "| class | rows | held in % |",
        "| --- | --- | --- |",
    ]
    for key, (count, share) in coverage(rows, found).items():
        name = "all"
        if key is not None:
            metric, scope, is_moe = key
            name = f"{metric}, {scope}, {'sparse' if is_moe else 'dense'}"
        lines.append(f"| {name.replace('_', ' ')} | {count:,} | {100 * share:.0f} |")
    return [*lines, ""]


def _order(rows: Sequence[Row], found: Sequence[HeldOut]) -> list[str]:
    right, total = right_orders(rows, found)
    return [
        f"Of {total:,} held-out pairs of GPU models on one offline job, the order of output tokens",
        f"per second and GPU is right in {100 * right / total:.1f} %.",
        "",
    ]


def _by_gpu(table: Sequence[Row | Refused]) -> list[str]:
    lines = [
        "With all constants, on all rows of the table (in sample; open-loop and MLPerf, too):",
        "",
        "| GPU | rows | median / p90 in % | in band in % |",
        "| --- | --- | --- | --- |",
    ]
    for one in summaries(verdicts(table), lambda verdict: verdict.gpu):
        if one.median_percent is None or one.within_share is None:
            continue
        lines.append(
            f"| {one.group} | {one.rows - one.refused} | {one.median_percent:.0f} / "
            f"{one.top_percent:.0f} | {100 * one.within_share:.0f} |"
        )
    return [*lines, ""]
