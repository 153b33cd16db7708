"""`gpubroker record`: make a scrubbed fixture from a live reply."""

from pathlib import Path
from typing import Annotated

import typer

from cli.entry import open_recording
from cli.output import FormatOption, Terminal


def record(
    context: typer.Context,
    provider: Annotated[str, typer.Argument(metavar="PROVIDER", help="Whom to ask.")],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder to make; default: recordings/PROVIDER in the current folder.",
        ),
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(
            "--max-rows",
            min=1,
            metavar="ROWS",
            help="Cut each list of a reply to so many records, of GPUs first; default: all.",
        ),
    ] = None,
    form: FormatOption = "table",
) -> None:
    """Ask a provider and keep its replies as recordings, without anything that is yours.

    Keys, tokens, cookies, account ids and addresses of mail are taken out of addresses, headers and
    bodies. Then the recordings are read back; unless they give the same offers, nothing is kept.
    """
    # Imported here, so that `--help` is quick.
    from broker.reports.recording_view import (  # noqa: PLC0415 - see above
        RecordingRow,
        recording_report,
    )

    terminal = Terminal.of(context)
    service = open_recording(terminal)
    folder = out or Path("recordings") / provider
    with terminal.working(f"asking {provider}"):
        made = service.record(provider, folder, max_rows=max_rows)
    rows = tuple(
        RecordingRow(
            file=f"{one.name}.json",
            method=one.request.method,
            url=one.request.url,
            status=one.response.status,
            replay=one.replay,
        )
        for one in made.recordings
    )
    report = recording_report(
        rows,
        provider=provider,
        folder=str(made.folder),
        offers=made.offers,
        rejections=made.rejections,
    )
    terminal.show(report, form)
    terminal.note(f"{made.offers:,} offers were read back from {made.folder}")
