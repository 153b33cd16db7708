"""The part of docs/accuracy.md on training: step time and peak memory."""

from collections.abc import Sequence

import numpy as np
from fit_training import CLASSES
from memory_judge import band_of
from memory_judge import held_out as memory_held_out
from memory_judge import usable as usable_peaks
from memory_rows import MemoryRow, own_memory_rows
from numpy.typing import NDArray
from training_judge import HeldOut, held_out, left_out, usable, verdict
from training_rows import Row, own_rows

from broker.specs.load import Specs
from solver.sizing.training_bands import MEMORY_BAND, Kind, Scope
from solver.sizing.training_estimate import scope
from solver.sizing.training_trust import kind_of, training_band

_KNOWN = {
    "dense, tuned stacks": ("10 / 29 %", "7 / 22 %"),
    "torch FSDP, HF and LoRA": ("18 / 45 %", "12 / 35 %"),
    "sparse (MoE)": ("23 / 70 %", "15 / 50 %"),
}
_LEAST_ROWS = 20


def section(specs: Specs, splits: int) -> list[str]:
    """Give the lines of both parts."""
    return [*_steps(own_rows(specs), splits), *_memory(specs, splits)]


def _steps(everything: list[Row], splits: int) -> list[str]:
    rows = usable(everything)
    found = held_out(rows, splits)
    lines = [
        "## Training: time of a step",
        "",
        (
            f"{len(rows)} of {len(everything)} rows of `measurements_training.csv`, {splits} "
            "random halves by network × GPU, fitted on one and judged on the other (median / 90th "
            "percentile, means over the halves, least to most). Naive: 40 % of the dense peak."
        ),
        "",
        "| class | rows | median / p90 | least to most | known | goal | naive median |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, kinds in CLASSES.items():
        chosen = np.array([row.kind in kinds for row in rows])
        told = _told([split[chosen] for split in found.splits])
        known, goal = _KNOWN.get(name, ("", ""))
        naive = _naive([row for row in rows if row.kind in kinds])
        lines.append(
            f"| {name} | {int(chosen.sum())} | {told} | {known} | {goal} | {naive:.0f} % |"
        )
    return [*lines, "", *_coverage(found), "", *_unseen(rows), *_refused(everything), ""]


def _coverage(found: HeldOut) -> list[str]:
    lines = [
        "| 90 % band | rows | band on the rate | holds, held out |",
        "| --- | --- | --- | --- |",
    ]
    classes = [_class(row) for row in found.rows]
    everything: list[NDArray[np.bool_]] = []
    for one in sorted(set(classes)):
        chosen = np.array([each == one for each in classes])
        band = training_band(*one)
        ratio = np.exp(_known(np.concatenate([split[chosen] for split in found.splits])))
        inside = (ratio >= band.low_factor) & (ratio <= band.high_factor)
        everything.append(inside)
        if chosen.sum() < _LEAST_ROWS:
            continue
        lines.append(
            f"| {one[0]}, {one[1]} | {chosen.sum()} "
            f"| {band.low_factor:.2f} to {band.high_factor:.2f} | {inside.mean():.0%} |"
        )
    whole = np.concatenate(everything).mean()
    return [*lines[:2], f"| all | {len(classes)} | | {whole:.0%} |", *lines[2:]]


def _unseen(rows: Sequence[Row]) -> list[str]:
    found = left_out(rows)
    names = [row.setup.gpu.architecture.split()[0] if row.setup else "" for row in rows]
    lines = [
        "A GPU generation that the fit never saw:",
        "",
        "| generation | rows | median / p90 |",
        "| --- | --- | --- |",
    ]
    for name in sorted(set(names)):
        chosen = np.array([one == name for one in names])
        errors = np.abs(np.exp(_known(np.concatenate([one[chosen] for one in found.splits]))) - 1)
        if len(errors) < _LEAST_ROWS:
            continue
        middle, top = 100 * np.quantile(errors, (0.5, 0.9))
        lines.append(f"| {name} | {len(errors)} | {middle:.0f} / {top:.0f} % |")
    return [*lines, ""]


def _refused(rows: Sequence[Row]) -> list[str]:
    reasons = [row.reason for row in rows if row.reason]
    counts = ", ".join(f"{one} {reasons.count(one)}" for one in sorted(set(reasons)))
    return [f"Refused: {len(reasons)} of {len(rows)} rows ({counts})."]


def _memory(specs: Specs, splits: int) -> list[str]:
    everything = own_memory_rows(specs)
    peaks = usable_peaks(everything)
    judged = judged_verdicts(everything)
    found = memory_held_out(peaks, judged, splits)
    chosen = np.array([not row.is_rough for row in peaks])
    allocated = _told([split[chosen] for split in found.splits])
    ratios = np.exp(-_known(np.concatenate(found.splits)))
    held = np.mean((ratios >= MEMORY_BAND[0]) & (ratios <= MEMORY_BAND[1]))
    low, high = band_of(found)
    return [
        "## Training: peak memory",
        "",
        (
            f"{len(peaks)} peaks and {len(judged)} verdicts of `measurements_memory_training.csv`, "
            f"{splits} halves by source × network × GPU."
        ),
        "",
        "| figure | reached | least to most | known | goal |",
        "| --- | --- | --- | --- | --- |",
        f"| peak, median / p90 | {_told(found.splits)} | 9.7 / 31 % | 6 / 20 % |",
        f"| the same, {int(chosen.sum())} allocator peaks | {allocated} | | |",
        f"| fits or not | {_right(found.right)} | 95 % | 98 % |",
        f"| of them outside tight (90 to 107 %) | {_right(found.sure)} | | |",
        "",
        (
            f"The 90 % band ({MEMORY_BAND[0]:.2f} to {MEMORY_BAND[1]:.2f} of the estimate) holds "
            f"{held:.0%}; one fitted anew would be {low:.2f} to {high:.2f}. Allocator peaks "
            "leave out readings of nvidia-smi and whole gigabytes, and tools that offload by "
            "themselves. The tail is of runs whose optimizer or recomputation is not told."
        ),
        "",
    ]


def judged_verdicts(rows: Sequence[MemoryRow]) -> list[MemoryRow]:
    """Keep the rows that tell whether a run fitted; a vendor's table of minima does not."""
    return [
        row
        for row in rows
        if not row.reason and not row.is_vendor and row.capacity and row.fits is not None
    ]


def quantiles_of(
    splits: Sequence[NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give median and 90th percentile of the absolute error in percent, of each split."""
    each = [one for split in splits if (one := np.abs(np.exp(_known(split)) - 1)).size]
    middle = 100 * np.array([np.median(one) for one in each])
    return middle, 100 * np.array([np.quantile(one, 0.9) for one in each])


def _told(splits: Sequence[NDArray[np.float64]]) -> str:
    """Give two cells: the means over splits, and the span of the splits."""
    middle, top = quantiles_of(splits)
    return (
        f"{middle.mean():.1f} / {top.mean():.1f} % | {middle.min():.1f}–{middle.max():.1f} / "
        f"{top.min():.0f}–{top.max():.0f}"
    )


def _right(shares: Sequence[float]) -> str:
    """Give two cells: the mean share of right verdicts, and the span of the splits."""
    return f"{np.mean(shares):.1%} right | {min(shares):.1%}–{max(shares):.1%}"


def _naive(rows: Sequence[Row]) -> float:
    errors = [
        abs(one.naive["constant MFU"] / one.measured - 1)
        for one in map(verdict, rows)
        if one.naive and one.measured
    ]
    return float(100 * np.median(errors))


def _class(row: Row) -> tuple[Kind, Scope]:
    setup = row.setup
    if setup is None:
        raise ValueError(f"row {row.id} has no setup")
    kind = kind_of(
        model=setup.model, stack=setup.stack, method=setup.method, is_encoder=setup.is_encoder
    )
    return kind, scope(setup, row.doubts)


def _known(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    return errors[~np.isnan(errors)]
