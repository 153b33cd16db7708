"""What is shown of a user's own measurements: a row for each deployment."""

from dataclasses import dataclass

from broker.reports.formats import Column, Report
from broker.reports.layout import Fit


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """The points of one deployment, and what an estimated time is multiplied by at them.

    `engine` is the software stack and method of training. A factor is None where points are not
    used; `used` says why.
    """

    kind: str
    model: str
    gpu: str
    engine: str
    precision: str
    points: int
    low_factor: float | None
    high_factor: float | None
    used: str


def measured_report(rows: tuple[MeasuredRow, ...]) -> Report[MeasuredRow]:
    """Show what is kept."""
    return Report(
        schema="gpubroker.measurements/1",
        name="deployments",
        row_type=MeasuredRow,
        rows=rows,
        columns=(
            Column("model", lambda row: row.model, fit=Fit.BREAK),
            Column("GPU", lambda row: row.gpu, fit=Fit.BREAK),
            Column("engine", lambda row: row.engine),
            Column("format", lambda row: row.precision),
            Column("points", lambda row: f"{row.points}", "right"),
            Column("times", _factors, "right"),
            Column("used", lambda row: row.used, fit=Fit.WRAP),
        ),
        facts={},
    )


def _factors(row: MeasuredRow) -> str:
    if row.low_factor is None or row.high_factor is None:
        return "–"
    low, high = f"{row.low_factor:.2f}", f"{row.high_factor:.2f}"
    return f"× {low}" if low == high else f"× {low}–{high}"
