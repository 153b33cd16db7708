"""Fit the constants of training steps anew, and print them as they stand in solver/sizing.

    PYTHONPATH=tools/accuracy .venv/bin/python tools/accuracy/fit_training.py           # constants
    PYTHONPATH=tools/accuracy .venv/bin/python tools/accuracy/fit_training.py --bands   # bands, too
    PYTHONPATH=tools/accuracy .venv/bin/python tools/accuracy/fit_training.py --errors  # held out

The measurements are broker/specs/measurements_training.csv. Bands and errors take a minute or two:
they come from 30 held-out halves, and from leaving out each GPU generation.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray
from training_fit import fit
from training_judge import HeldOut, bands_of, held_out, left_out, usable
from training_rows import Row, own_rows

from broker.specs.load import load_specs
from solver.sizing.training_bands import Band, Kind, Scope

SPLITS = 30
_ROUNDS = 60
_DIGITS = 3
CLASSES: Mapping[str, tuple[str, ...]] = {
    "dense, tuned stacks": ("dense tuned", "adapters tuned"),
    "of them full training": ("dense tuned",),
    "torch FSDP, HF and LoRA": ("dense torch", "dense hf", "adapters tuned"),
    "sparse (MoE)": ("sparse",),
    "encoders": ("encoder",),
}
"""Published classes by the kinds of rows in them."""


def main() -> int:
    """Print constants, and bands or errors where asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--bands", action="store_true", help="fit the error bands, too")
    parser.add_argument("--errors", action="store_true", help="print the held-out errors")
    parser.add_argument("--splits", type=int, default=SPLITS, help="halves to hold out")
    options = parser.parse_args()
    rows = usable(own_rows(load_specs()))
    print_constants("TIME", fit(rows, rounds=_ROUNDS))
    if options.bands or options.errors:
        found = held_out(rows, options.splits)
        print_errors(found)
        if options.bands:
            print_bands(all_bands(rows, found))
    return 0


def errors_of(found: HeldOut, kinds: Sequence[str]) -> tuple[float, float, int]:
    """Give median and 90th percentile of the absolute error in percent, means over splits."""
    chosen = np.array([row.kind in kinds for row in found.rows])
    each = [_median_and_top(split[chosen]) for split in found.splits]
    middle, top = np.nanmean(np.array(each), axis=0)
    return float(middle), float(top), int(chosen.sum())


def all_bands(rows: Sequence[Row], found: HeldOut) -> dict[tuple[Kind, Scope], Band]:
    """Give the bands of every class; a new GPU takes the widest of all that were left out."""
    bands = bands_of(found)
    new = bands_of(left_out(rows), Scope.NEW_GPU)
    widest = _joined(list(bands.values()))
    unseen = _joined(list(new.values()))
    made = {}
    for kind in Kind:
        inside = bands.get((kind, Scope.INSIDE)) or bands.get((kind, Scope.EDGE)) or widest
        made[kind, Scope.INSIDE] = inside
        made[kind, Scope.EDGE] = _joined([inside, bands.get((kind, Scope.EDGE), inside)])
        made[kind, Scope.NEW_GPU] = _joined([inside, unseen])
    return made


def _joined(bands: Sequence[Band]) -> Band:
    return min(low for low, _ in bands), max(high for _, high in bands)


def print_constants(name: str, constants: object) -> None:
    """Print a set of constants as the source that holds it."""
    print(f"{name}: Final = {type(constants).__name__}(")
    for one in fields(constants):  # type: ignore[arg-type]
        print(f"    {one.name}={_short(getattr(constants, one.name))},")
    print(")")


def print_bands(bands: Mapping[tuple[Kind, Scope], Band]) -> None:
    """Print bands as the source that holds them."""
    for (kind, scope), (low, high) in bands.items():
        print(f"        (Kind.{kind.name}, Scope.{scope.name}): ({low:.2f}, {high:.2f}),")


def print_errors(found: HeldOut) -> None:
    """Print held-out errors by published class."""
    for name, kinds in CLASSES.items():
        middle, top, rows = errors_of(found, kinds)
        print(f"# {name:26} {rows:4} rows  median {middle:.1f} %  p90 {top:.1f} %")


def _median_and_top(errors: NDArray[np.float64]) -> tuple[float, float]:
    known = np.abs(np.exp(errors[~np.isnan(errors)]) - 1)
    if not known.size:
        return np.nan, np.nan
    return float(100 * np.median(known)), float(100 * np.quantile(known, 0.9))


def _short(value: float | tuple[float, ...]) -> str:
    if isinstance(value, tuple):
        return "(" + ", ".join(_short(one) for one in value) + ")"
    text = f"{value:.{_DIGITS}g}"
    return text if "." in text or "e" in text else f"{text}.0"


if __name__ == "__main__":
    raise SystemExit(main())
