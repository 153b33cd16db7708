"""What a doctor says of the database: that it opens, is whole, can be written, how new it is."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from broker.catalog.store import Catalog
from broker.domain.errors import ConfigurationError
from broker.reports.doctor_view import CheckRow, State
from broker.settings import Settings
from broker.store.database import REVISION, open_store, reading, writing
from broker.store.place import has_store, shown, store_place

_NAME = "database"


@dataclass(frozen=True, slots=True)
class StoreExam:
    """The check of the database, and when the newest price in it was seen."""

    row: CheckRow
    newest_at: datetime | None


def examine_store(settings: Settings) -> StoreExam:
    """Open the database, which brings it up to date as any command does, and try to write to it.

    A file that is not there is not made.
    """
    place = shown(store_place(settings))
    if not has_store(settings):
        hint = "gpubroker refresh makes it and fills it"
        return StoreExam(CheckRow(_NAME, State.OK, f"none yet: {place}", hint), None)
    try:
        engine = open_store(settings)
        with reading(engine) as connection:
            damage = _damage(connection)
        if damage:
            row = CheckRow(_NAME, State.BROKEN, f"{place} is damaged: {damage}", _RESTORE)
            return StoreExam(row, None)
        with writing(engine) as connection:  # a real write that changes nothing
            connection.execute(text("UPDATE alembic_version SET version_num = version_num"))
        runs = Catalog(engine).last_runs()
    except ConfigurationError as error:
        hint = _RESTORE if "malformed" in str(error) else error.hint
        return StoreExam(CheckRow(_NAME, State.BROKEN, str(error), hint), None)
    offers = sum(run.offers for run in runs)
    newest = max((run.newest_observed_at for run in runs if run.newest_observed_at), default=None)
    found = f"{place}, revision {REVISION}, {offers:,} offers; it can be written"
    hint = "" if offers else "fill it: gpubroker refresh"
    return StoreExam(CheckRow(_NAME, State.OK, found, hint), newest)


_RESTORE = (
    "move the file away and restore your last copy, or fill a new one: gpubroker refresh, or "
    "gpubroker catalog import"
)


def _damage(connection: Connection) -> str:
    """Let SQLite look through its file; PostgreSQL looks after its own."""
    if connection.dialect.name != "sqlite":
        return ""
    said = str(connection.execute(text("PRAGMA quick_check(1)")).scalar())
    return "" if said == "ok" else said
