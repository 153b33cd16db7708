"""What is shown of a catalog that travels: which offers of whom went into a file or came out."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from broker.reports import words
from broker.reports.formats import Column, Report, plain


@dataclass(frozen=True, slots=True)
class ExchangeRow:
    """One provider's part of the file. `result` says whether it was taken; ages are in hours."""

    provider: str
    result: str
    offers: int
    quarantined: int
    evidence: Mapping[str, int]
    newest_age_h: float | None
    oldest_age_h: float | None
    error: str = ""


def exchange_report(
    rows: tuple[ExchangeRow, ...], *, file: str, snapshot: str, at: datetime
) -> Report[ExchangeRow]:
    """Show what a file of a catalog holds; `snapshot` is the hash that plans name it by."""
    return Report(
        schema="gpubroker.exchange/1",
        name="providers",
        row_type=ExchangeRow,
        rows=rows,
        columns=(
            Column("provider", lambda row: row.provider),
            Column("result", lambda row: row.result),
            Column("offers", lambda row: f"{row.offers:,}", "right"),
            Column("held", lambda row: f"{row.quarantined:,}", "right"),
            Column("newest", lambda row: words.age(row.newest_age_h), "right"),
            Column("oldest", lambda row: words.age(row.oldest_age_h), "right"),
            Column("evidence", lambda row: words.counts(row.evidence), spare=1),
        ),
        facts={"file": file, "snapshot": snapshot, "at": plain(at)},
    )
