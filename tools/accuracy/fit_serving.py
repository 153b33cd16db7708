"""Fit the serving constants and bands anew, and print them as they stand in solver/sizing.

    PYTHONPATH=tools/accuracy .venv/bin/python tools/accuracy/fit_serving.py            # constants
    PYTHONPATH=tools/accuracy .venv/bin/python tools/accuracy/fit_serving.py --bands    # bands, too

The measurements are broker/specs/measurements_serving.csv. Bands take some minutes: they come from
30 held-out halves, and from leaving out each GPU generation and each kind of network.
"""

import argparse
from collections.abc import Mapping
from dataclasses import fields

from serving_fit import fit
from serving_judge import Class, bands_of, held_out, left_out, usable
from serving_rows import Row, own_rows

from broker.specs.load import load_specs
from solver.sizing.serving_bands import Band, Metric, Scope
from solver.sizing.serving_constants import ServingConstants
from solver.sizing.serving_trust import kind_of

SPLITS = 30
_ROUNDS = 60


def main() -> int:
    """Print constants, and bands where asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--bands", action="store_true", help="fit the error bands, too")
    parser.add_argument("--splits", type=int, default=SPLITS, help="halves to hold out")
    options = parser.parse_args()
    rows = usable(own_rows(load_specs()))
    print_constants(fit(rows, rounds=_ROUNDS))
    if options.bands:
        print_bands(all_bands(rows, options.splits))
    return 0


def all_bands(rows: list[Row], splits: int) -> dict[Class, Band]:
    """Give the bands of every class; one without errors of its own takes the widest like it."""
    found = bands_of(rows, held_out(rows, splits), None)
    generations = {row.group: row.replica.gpu.architecture for row in rows}
    kinds = {row.group: str(kind_of(row.replica.model)) for row in rows}
    found |= bands_of(rows, left_out(rows, generations), Scope.NEW_GPU)
    found |= bands_of(rows, left_out(rows, kinds), Scope.NEW_KIND)
    return {
        (metric, scope, is_moe): _band(found, metric, scope, is_moe=is_moe)
        for metric in Metric
        for scope in Scope
        for is_moe in (False, True)
    }


def _band(found: Mapping[Class, Band], metric: Metric, scope: Scope, *, is_moe: bool) -> Band:
    """Take a class's own band, never narrower than that of what is inside."""
    like = [found.get((metric, one, is_moe)) for one in (scope, Scope.INSIDE)]
    like = [one for one in like if one] or [found[metric, Scope.INSIDE, not is_moe]]
    return min(low for low, _ in like), max(high for _, high in like)


def print_constants(constants: ServingConstants) -> None:
    """Print a set of constants as the source that holds it."""
    print("FITTED: Final = ServingConstants(")
    for one in fields(constants):
        print(f"    {one.name}={_short(getattr(constants, one.name))},")
    print(")")


def print_bands(bands: Mapping[Class, Band]) -> None:
    """Print bands as the source that holds them."""
    for (metric, scope, is_moe), (low, high) in bands.items():
        key = f"(Metric.{metric.name}, Scope.{scope.name}, {is_moe})"
        print(f"        {key}: ({low:.2f}, {high:.2f}),")


def _short(value: float | tuple[float, ...]) -> str:
    if isinstance(value, tuple):
        return "(" + ", ".join(_short(one) for one in value) + ")"
    return f"{value:.3g}" if "." in f"{value:.3g}" or "e" in f"{value:.3g}" else f"{value:.1f}"


if __name__ == "__main__":
    raise SystemExit(main())
