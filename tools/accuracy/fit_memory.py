"""Fit the constants of peak training memory anew, and print them as they stand in solver/sizing.

    PYTHONPATH=tools/accuracy .venv/bin/python tools/accuracy/fit_memory.py [--bands]

The measurements are broker/specs/measurements_memory_training.csv.
"""

import argparse

import numpy as np
from fit_training import SPLITS, print_constants
from memory_judge import HeldPeaks, band_of, fit, held_out, usable
from memory_rows import own_memory_rows

from broker.specs.load import load_specs


def main() -> int:
    """Print constants, and held-out errors with the band where asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--bands", action="store_true", help="fit the error band, too")
    parser.add_argument("--splits", type=int, default=SPLITS, help="halves to hold out")
    options = parser.parse_args()
    rows = own_memory_rows(load_specs())
    peaks = usable(rows)
    print_constants("MEMORY", fit(peaks))
    if options.bands:
        judged = [row for row in rows if not row.reason and not row.is_vendor and row.capacity]
        print_errors(held_out(peaks, judged, options.splits))
    return 0


def print_errors(found: HeldPeaks) -> None:
    """Print held-out errors, the share of right verdicts, and the band."""
    each = [np.abs(np.exp(split[~np.isnan(split)]) - 1) for split in found.splits]
    middle = 100 * np.mean([np.median(one) for one in each])
    top = 100 * np.mean([np.quantile(one, 0.9) for one in each])
    print(f"# peak memory {len(found.rows)} rows  median {middle:.1f} %  p90 {top:.1f} %")
    print(f"# fits or not: {np.mean(found.right):.1%} right")
    low, high = band_of(found)
    print(f"MEMORY_BAND: Final[Band] = ({low:.2f}, {high:.2f})")


if __name__ == "__main__":
    raise SystemExit(main())
