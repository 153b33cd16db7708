"""The options that say which catalog a command reads, shared by all that read one."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from broker.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from broker.planning.catalog_view import CatalogSource

RecordedOption = Annotated[
    bool, typer.Option("--recorded", help="Use the recorded replies instead of the catalog.")
]
SheetOption = Annotated[
    Path | None,
    typer.Option(
        "--sheet", metavar="FILE", help="Use a price sheet (CSV or YAML) instead of the catalog."
    ),
]
SnapshotOption = Annotated[
    str | None,
    typer.Option(
        "--snapshot", metavar="HASH", help="Use the catalog as it was when it had this hash."
    ),
]
AsOfOption = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="DATE",
        help="Use the catalog as it stood at this date or instant (UTC); ages count from it.",
    ),
]


def source_from(
    *,
    recorded: bool = False,
    sheet: Path | None = None,
    snapshot: str | None = None,
    as_of: str | None = None,
) -> "CatalogSource":
    """Gather the options of a command.

    Raises:
        ConfigurationError: they name two catalogs, or the instant is none.
    """
    from broker.planning.catalog_view import CatalogSource  # noqa: PLC0415 - keeps `--help` quick

    return CatalogSource(
        recorded=recorded, sheet=sheet, snapshot=snapshot, as_of=_instant(as_of) if as_of else None
    )


def source_or_none(
    *, recorded: bool, sheet: Path | None, snapshot: str | None, as_of: str | None
) -> "CatalogSource | None":
    """Gather the options of a command; None is what stands in the store now.

    Raises:
        ConfigurationError: they name two catalogs, or the instant is none.
    """
    if not (recorded or sheet or snapshot is not None or as_of is not None):
        return None  # said without the import of what reads the others
    return source_from(recorded=recorded, sheet=sheet, snapshot=snapshot, as_of=as_of)


def _instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
        return instant.astimezone(UTC) if instant.tzinfo else instant.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:  # the first or last day there is, elsewhere
        raise ConfigurationError(
            f"--as-of {text!r} is no date", hint="write it as 2026-12-01 or 2026-12-01T06:00Z"
        ) from error
