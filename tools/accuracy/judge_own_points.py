"""What a user's own points are worth: held-out error of a deployment before and after importing.

    python tools/accuracy/judge_own_points.py [FILE.csv] [--splits 20] [--fit]

Of each deployment (model × GPU × engine × precision) some points are imported, as the product does,
and the others are predicted; drawn anew in each split. Then the same with one point of another
model on the same GPU and engine. Without a file the project's own table is read. `--fit` prints the
spreads of solver/sizing/measured.py by greatest likelihood of the residuals of all deployments.
"""

import argparse
import math
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from serving_rows import Refused, Regime, Row, own_rows, read_rows

from broker.specs.load import Specs, load_specs
from solver.sizing.measured import (
    FIRST_SPREAD,
    STEP_SPREAD,
    Correction,
    Deployment,
    Residual,
    ServingPoint,
    Spread,
)
from solver.sizing.measured_points import first_residual, own_numbers, step_residual

_FEWEST_LEFT = 1
_MOST_FITTED = 40
_COUNTS = (0, 3, 10)
Residuals = Mapping[Deployment, Sequence[Residual]]


@dataclass(frozen=True, slots=True)
class Worth:
    """Errors of what was not imported: shares of the measured value, and the band's coverage."""

    points: int
    metric: str
    errors: tuple[float, ...]
    inside: tuple[bool, ...]

    @property
    def median(self) -> float:
        """Give the median error."""
        return float(np.median(self.errors))

    @property
    def p90(self) -> float:
        """Give the error that 90 % stay below."""
        return float(np.percentile(self.errors, 90))

    @property
    def coverage(self) -> float:
        """Give the share inside of the 90 % band."""
        return float(np.mean(self.inside))


def main() -> int:
    """Judge a table and print what points are worth."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE.csv")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--fit", action="store_true", help="print the spreads, too")
    options = parser.parse_args()
    specs = load_specs()
    rows = read_rows(options.file, specs) if options.file else own_rows(specs)
    points = list(points_of(rows))
    for metric, residual, spread in (
        ("time per token", step_residual, STEP_SPREAD),
        ("first token", first_residual, FIRST_SPREAD),
    ):
        known = residuals_of(points, residual, specs)
        for count in _COUNTS:
            told(worth(known, spread, count, metric, splits=options.splits))
        if options.fit:
            print(f"  {fitted(known)}")
    other = of_another_model(points, specs)
    print(f"one point of another model changes {other} of {len(points)} points")
    return 0


def points_of(rows: Iterable[Row | Refused]) -> Iterator[ServingPoint]:
    """Make points of the rows that a benchmark client would give: a closed loop on one replica."""
    for row in rows:
        if isinstance(row, Refused) or row.set_aside or row.clients is None:
            continue
        split = row.replica.split
        is_plain = split.pipeline == split.attention_data == 1 and row.replicas == 1
        if row.regime is Regime.CLOSED and is_plain and row.metric in ("tpot_ms", "ttft_ms"):
            replica = row.replica
            yield ServingPoint(
                deployment=Deployment(
                    replica.model.name,
                    row.gpu,
                    replica.release.engine.value,
                    replica.arithmetic.precision,
                ),
                tensor=split.tensor,
                input_tokens=row.input_tokens,
                output_tokens=row.output_tokens,
                concurrency=row.clients,
                tpot_s=row.value if row.metric == "tpot_ms" else None,
                ttft_s=row.value if row.metric == "ttft_ms" else None,
            )


def residuals_of(
    points: Iterable[ServingPoint], residual: Callable[..., Residual | None], specs: Specs
) -> Residuals:
    """Hold every point against its estimate, by deployment."""
    found: dict[Deployment, list[Residual]] = defaultdict(list)
    for point in points:
        gpu, model = specs.gpu(point.deployment.gpu), specs.llm(point.deployment.model)
        one = residual(point, gpu=gpu, model=model)
        if one is not None:
            found[point.deployment].append(one)
    return found


def worth(known: Residuals, spread: Spread, count: int, metric: str, *, splits: int) -> Worth:
    """Import `count` points of each deployment that has more, and predict its others."""
    draw = random.Random(0)  # noqa: S311 - a draw, no secret
    errors: list[float] = []
    inside: list[bool] = []
    for _ in range(splits):
        for residuals in known.values():
            if len(residuals) < max(_COUNTS[1], count) + _FEWEST_LEFT:
                continue
            order = draw.sample(range(len(residuals)), len(residuals))
            taken = tuple(residuals[place] for place in order[:count])
            correction = Correction(taken, spread) if taken else None
            for place in order[count:]:
                one = residuals[place]
                factor = correction.at(one.at) if correction else None
                off = one.log_ratio - (math.log(factor.factor) if factor else 0.0)
                errors.append(abs(math.exp(-off) - 1))
                inside.append(factor is not None and _holds(off, factor.band.high_factor))
    return Worth(count, metric, tuple(errors), tuple(inside))


def of_another_model(points: Sequence[ServingPoint], specs: Specs) -> int:
    """Count the points whose estimate changes when each other model's points are imported."""
    changed = 0
    by_deployment: dict[Deployment, list[ServingPoint]] = defaultdict(list)
    for point in points:
        by_deployment[point.deployment].append(point)
    for deployment, own in by_deployment.items():
        others = [one for key, some in by_deployment.items() if key != deployment for one in some]
        numbers = own_numbers(others, (), gpu_of=specs.gpu, model_of=specs.llm)
        changed += len(own) if deployment in numbers.serving else 0
    return changed


def fitted(known: Residuals) -> Spread:
    """Find the spread under which the residuals of all deployments are likeliest."""
    from scipy.optimize import minimize  # noqa: PLC0415 - for the fit only

    groups = [
        (np.array([one.at for one in some]), np.array([one.log_ratio for one in some]))
        for some in (found[:_MOST_FITTED] for found in known.values())
        if len(some) > 1
    ]

    def unlikeliness(logs: np.ndarray) -> float:
        values = np.exp(logs)
        total = 0.0
        for at, ratios in groups:
            gaps = (at[:, None, :] - at[None, :, :]) / values[3:]
            near = np.exp(-0.5 * (gaps**2).sum(axis=-1))
            covariance = values[0] ** 2 + values[1] ** 2 * near
            factor = np.linalg.cholesky(covariance + (values[2] ** 2 + 1e-6) * np.eye(len(at)))
            white = np.linalg.solve(factor, ratios)
            total += 0.5 * float(white @ white) + float(np.log(np.diag(factor)).sum())
        return total

    start = np.log([0.2, 0.3, 0.1, 1.6, 3.5, 3.5, 1.0])
    best = np.exp(minimize(unlikeliness, start, method="Nelder-Mead", options={"maxiter": 800}).x)
    lengths = tuple(round(float(one), 1) for one in best[3:])
    return Spread(*(round(float(one), 3) for one in best[:3]), lengths)


def told(found: Worth) -> None:
    """Print one line."""
    band = f", {found.coverage:.0%} inside of the 90 % band" if found.points else ""
    print(
        f"{found.metric}, {found.points} points of its own: median {found.median:.1%}, "
        f"p90 {found.p90:.1%} of {len(found.errors)}{band}"
    )


def _holds(off: float, high_factor: float) -> bool:
    return abs(off) <= math.log(high_factor)


if __name__ == "__main__":
    raise SystemExit(main())
