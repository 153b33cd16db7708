"""`gpubroker history`: what an offer cost over time."""

import shutil
from datetime import datetime
from typing import Annotated

import typer

from broker.domain.errors import ConfigurationError
from cli.entry import open_catalog_service
from cli.output import FormatOption, Terminal

TABLE_LIMIT = 20
"""Steps in a table: the newest of them."""


def history(
    context: typer.Context,
    offer: Annotated[
        str,
        typer.Argument(
            metavar="OFFER",
            help="Key of an offer, as PROVIDER/TYPE/REGION@KIND; the kind may be left out where "
            "there is one only.",
        ),
    ],
    *,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="DATE", help="Leave out what ended before (UTC); default: all."
        ),
    ] = None,
    form: FormatOption = "table",
) -> None:
    """Show the price of an offer over time: a chart, and each step with what was held back.

    Times are those at which this catalog learned of a price.
    """
    # Imported here, so that `--help` is quick.
    from broker.planning.catalog_rows import history_rows  # noqa: PLC0415 - see above
    from broker.reports.history_view import history_report, price_chart  # noqa: PLC0415 - see above

    after = _instant(since) if since else None
    terminal = Terminal.of(context)
    found = open_catalog_service(terminal).history(offer)
    rows = history_rows(found, after)
    if not rows:
        terminal.note(f"{found.key} was not seen since then; leave out --since to see its past")
    start = max(found.steps[0].from_at, after or found.steps[0].from_at)
    shown = rows[-TABLE_LIMIT:] if form == "table" else rows
    if form == "table":
        width = shutil.get_terminal_size((80, 24)).columns
        chart = price_chart(rows, start=start, end=found.at, width=width)
        terminal.write("".join(f"{line}\n" for line in (found.key, "", *chart, "")))
    terminal.show(history_report(found.key, shown, start=start, end=found.at), form)
    if len(shown) < len(rows):
        terminal.note(f"the last {len(shown)} of {len(rows)} steps; --format csv has all")


def _instant(text: str) -> datetime:
    from broker.domain.quantities import parse_instant  # noqa: PLC0415 - keeps `--help` quick

    try:
        instant = parse_instant(text)
    except ValueError:
        instant = None
    if not isinstance(instant, datetime):
        raise ConfigurationError(
            f"--since {text!r} is no date", hint="write it as 2026-12-01 or 2026-12-01T06:00Z"
        )
    return instant
