"""What is shown of recordings that were made: one line a file."""

from dataclasses import dataclass

from broker.reports.formats import Column, Report
from broker.reports.layout import Fit


@dataclass(frozen=True, slots=True)
class RecordingRow:
    """One recording. `replay` is false where only a user with keys asks for it."""

    file: str
    method: str
    url: str
    status: int
    replay: bool


def recording_report(
    rows: tuple[RecordingRow, ...], *, provider: str, folder: str, offers: int, rejections: int
) -> Report[RecordingRow]:
    """Show the files; `offers` and `rejections` were read back from them."""
    return Report(
        schema="gpubroker.recording/1",
        name="recordings",
        row_type=RecordingRow,
        rows=rows,
        columns=(
            Column("file", lambda row: row.file),
            Column("request", lambda row: f"{row.method} {row.url}", fit=Fit.SHORTEN),
            Column("replayed", lambda row: "yes" if row.replay else "with keys"),
        ),
        facts={"provider": provider, "folder": folder, "offers": offers, "rejections": rejections},
    )
