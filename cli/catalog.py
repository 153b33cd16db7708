"""`gpubroker catalog`: a catalog that travels in one file."""

from pathlib import Path
from typing import Annotated

import typer

from cli.entry import open_catalog_service
from cli.files import check_writable, write_whole
from cli.output import FormatOption, Terminal
from cli.sources import AsOfOption, source_from

catalog = typer.Typer(
    help="Carry the catalog to another machine: one file, checked when it is read.",
    no_args_is_help=True,
)


@catalog.command(name="export")
def export_file(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    *,
    as_of: AsOfOption = None,
    form: FormatOption = "table",
) -> None:
    """Write the catalog to a file: offers, what is held back, ages and sources, under a hash."""
    # Imported here, so that `--help` is quick.
    from broker.planning.catalog_rows import exported_rows  # noqa: PLC0415 - see above
    from broker.reports.exchange_view import exchange_report  # noqa: PLC0415 - see above

    check_writable(file, inputs=(), name="FILE", example="catalog.jsonl.gz")
    terminal = Terminal.of(context)
    service = open_catalog_service(terminal)
    exported = service.export(source_from(as_of=as_of).as_of)
    write_whole(file, exported.content, name="FILE")
    rows = exported_rows(exported.state, service.clock())
    report = exchange_report(rows, file=str(file), snapshot=exported.snapshot, at=exported.state.at)
    terminal.show(report, form)
    terminal.note(f"written to {file}; its hash is {exported.snapshot}")


@catalog.command(name="import")
def import_file(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file that gpubroker catalog export wrote.")
    ],
    *,
    form: FormatOption = "table",
) -> None:
    """Take a catalog from a file: its offers replace those of its providers, with their ages.

    What was held back where it was written is held back here. Newer offers of this machine stay.
    """
    # Imported here, so that `--help` is quick.
    from broker.planning.catalog_rows import imported_rows  # noqa: PLC0415 - see above
    from broker.reports.exchange_view import exchange_report  # noqa: PLC0415 - see above

    terminal = Terminal.of(context)
    service = open_catalog_service(terminal)
    found = service.bring_in(file)
    rows = imported_rows(found.state, found.outcomes, service.clock())
    report = exchange_report(rows, file=str(file), snapshot=found.snapshot, at=found.state.at)
    terminal.show(report, form)
    for row in rows:
        if row.error:
            terminal.note(f"{row.provider}: {row.error}; its newer offers are kept")
    if found.same:
        terminal.note(f"the catalog is the exported one: --snapshot {found.snapshot}")
    else:
        terminal.note(
            f"the catalog holds other offers, too, and has the hash {found.now_snapshot}; "
            "to plan over the exported one alone, import it with GPUBROKER_DATA_DIR set to an "
            "empty folder"
        )
