"""`gpubroker quarantine`: what the trust gates hold back, and a person's word for it."""

from typing import Annotated

import typer

from cli.entry import open_catalog_service
from cli.output import FormatOption, Terminal

quarantine = typer.Typer(
    help="Show what is held back from planning, and let it through.", no_args_is_help=True
)


@quarantine.command(name="list")
def list_held(
    context: typer.Context,
    *,
    provider: Annotated[
        list[str] | None,
        typer.Option("--provider", metavar="NAME", help="Of this one; may be given again."),
    ] = None,
    reason: Annotated[
        list[str] | None,
        typer.Option(
            "--reason", metavar="CODE", help="For this reason, as price_jumped; may be given again."
        ),
    ] = None,
    form: FormatOption = "table",
) -> None:
    """List the offers that are held back, why, and since when.

    A second refresh that reads the same confirms a movement; nothing but a release, a setting or a
    corrected source lets through what cannot be right.
    """
    # Imported here, so that `--help` is quick.
    from broker.planning.catalog_rows import held_rows  # noqa: PLC0415 - see above
    from broker.reports.quarantine_view import held_report  # noqa: PLC0415 - see above

    terminal = Terminal.of(context)
    service = open_catalog_service(terminal)
    rows = held_rows(service.quarantine(provider or (), reason or ()), service.clock())
    terminal.show(held_report(rows), form)
    if rows:
        terminal.note(f"{len(rows):,} held back; gpubroker quarantine release OFFER --by NAME")
    else:
        terminal.note("nothing is held back")


@quarantine.command()
def release(
    context: typer.Context,
    offers: Annotated[list[str], typer.Argument(metavar="OFFER...", help="Keys of held offers.")],
    *,
    by: Annotated[
        str, typer.Option("--by", metavar="NAME", help="Who answers for it; it is recorded.")
    ],
    note: Annotated[
        str, typer.Option(metavar="TEXT", help="Why; it is recorded. Default: none.")
    ] = "",
    form: FormatOption = "table",
) -> None:
    """Let held offers be planned with, until they say something else.

    Who released which terms, when and why is kept for good: gpubroker quarantine releases.
    """
    # Imported here, so that `--help` is quick.
    from broker.planning.catalog_rows import release_rows  # noqa: PLC0415 - see above
    from broker.reports.quarantine_view import releases_report  # noqa: PLC0415 - see above

    terminal = Terminal.of(context)
    rows = release_rows(open_catalog_service(terminal).release(offers, by=by, note=note))
    terminal.show(releases_report(rows), form)


@quarantine.command()
def releases(context: typer.Context, *, form: FormatOption = "table") -> None:
    """List what was released: by whom, when, against which doubt, and whether it still holds."""
    # Imported here, so that `--help` is quick.
    from broker.planning.catalog_rows import release_rows  # noqa: PLC0415 - see above
    from broker.reports.quarantine_view import releases_report  # noqa: PLC0415 - see above

    terminal = Terminal.of(context)
    rows = release_rows(open_catalog_service(terminal).releases())
    terminal.show(releases_report(rows), form)
    if not rows:
        terminal.note("nothing was released yet")
