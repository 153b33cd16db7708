"""What is shown of a refresh: the columns of its table."""

from broker.reports import words
from broker.reports.formats import Column, Report
from broker.reports.layout import Fit
from broker.reports.rows import RefreshRow


def refresh_report(rows: tuple[RefreshRow, ...]) -> Report[RefreshRow]:
    """Show what came of a refresh."""
    return Report(
        schema="gpubroker.refresh/1",
        name="providers",
        row_type=RefreshRow,
        rows=rows,
        columns=(
            Column("provider", lambda row: row.provider),
            Column("result", lambda row: row.status.replace("_", " ")),
            Column("offers", lambda row: f"{row.offers:,}", "right"),
            Column("new", lambda row: f"{row.new:,}", "right"),
            Column("changed", lambda row: f"{row.changed:,}", "right"),
            Column("gone", lambda row: f"{row.vanished:,}", "right"),
            Column("held", lambda row: f"{sum(row.quarantined.values()):,}", "right"),
            Column("rejected", lambda row: f"{sum(row.rejected.values()):,}", "right"),
            Column("age", lambda row: words.age(row.age_h), "right"),
            Column("why rejected", lambda row: words.counts(row.rejected), fit=Fit.WRAP, spare=1),
        ),
        facts={},
    )
