"""The listing of the store in a file of its own: made after a refresh, read by every question.

It is made of the store and can be made again at any time: its `version` names the state of the
store, and where the two differ it is out of date. It is read without SQLAlchemy, whose import alone
would take longer than a question.
"""

import json
import os
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import numpy as np
from pydantic import SecretStr

from broker.catalog.gates import Quarantined, Reason
from broker.catalog.listing import Columns, Entry, Listing, Name, Named, Number
from broker.domain.offer import Offer
from broker.store.place import CONNECT_S, Place, driver_url

_FORMAT = 1
"""To be raised where a column means something else than before; new columns are noticed."""

_AT_ONCE = 500
_TABLES = (
    "CREATE TABLE made (version TEXT NOT NULL, snapshot TEXT NOT NULL)",
    "CREATE TABLE offer (id INTEGER PRIMARY KEY, payload TEXT, reason TEXT, detail TEXT)",
    "CREATE TABLE named (name TEXT PRIMARY KEY, codes BLOB NOT NULL, names TEXT NOT NULL)",
    "CREATE TABLE number (name TEXT PRIMARY KEY, numbers BLOB NOT NULL)",
)
_NEWEST = """
    SELECT (SELECT max(finished_at) FROM refresh_run),
           (SELECT max(id) FROM observation),
           (SELECT max(id) FROM quarantine)
"""


def store_version(place: Place) -> str | None:
    """Name the state of a store by its newest rows; None where there is none to be read.

    Whatever changes what stands writes a run, an observation or a held reading.
    """
    newest = _newest_in_file(place) if isinstance(place, Path) else _newest_in_postgres(place)
    if newest is None:
        return None  # a store that is made right now, or none: who opens it will say so
    columns = ",".join((*Name, *Number))
    return "|".join((str(_FORMAT), columns, *(str(one) for one in newest)))


def read_listing(path: Path, version: str) -> Listing | None:
    """Open the listing of a state of the store, None where there is none or it is of another."""
    if not path.is_file():
        return None
    try:
        connection = _read_only(path)
    except sqlite3.Error:
        return None
    try:
        found = _read(connection, version)
    except sqlite3.Error:
        found = None  # no listing, or one of an older format: it will be made again
    if found is None:
        connection.close()
    else:
        weakref.finalize(found, connection.close)
    return found


def write_listing(path: Path, columns: Columns, entries: Iterable[Entry], version: str) -> None:
    """Write a listing in one step: whoever has the old one open goes on reading it.

    Raises:
        OSError: the file cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with closing(sqlite3.connect(beside)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA journal_mode = OFF")
            _fill(connection, columns, entries, version)
            connection.commit()
        beside.replace(path)
    except sqlite3.Error as cause:
        raise OSError(str(cause)) from cause
    finally:
        beside.unlink(missing_ok=True)


def _newest_in_file(database: Path) -> Sequence[object] | None:
    if not database.is_file():
        return None
    try:
        with closing(_read_only(database)) as connection:
            newest: Sequence[object] = connection.execute(_NEWEST).fetchone()
            return newest
    except sqlite3.Error:
        return None


def _newest_in_postgres(url: SecretStr) -> Sequence[object] | None:
    import psycopg  # noqa: PLC0415 - a store in a file can spare it

    try:
        with psycopg.connect(driver_url(url), connect_timeout=CONNECT_S) as connection:
            return connection.execute(_NEWEST).fetchone()
    except psycopg.Error:
        return None


def _read(connection: sqlite3.Connection, version: str) -> Listing | None:
    query = "SELECT snapshot FROM made WHERE version = ?"
    made = connection.execute(query, (version,)).fetchone()
    if made is None:
        return None
    named = connection.execute("SELECT name, codes, names FROM named")
    numbers = connection.execute("SELECT name, numbers FROM number")
    columns = Columns(
        named={
            Name(name): Named(np.frombuffer(codes, np.int32), _names(names))
            for name, codes, names in named
        },
        numbers={Number(name): np.frombuffer(blob, np.float64) for name, blob in numbers},
    )

    def entries(positions: Sequence[int]) -> tuple[Entry, ...]:
        found: dict[int, Entry] = {}
        for start in range(0, len(positions), _AT_ONCE):
            some = positions[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            query = f"SELECT id, payload, reason, detail FROM offer WHERE id IN ({marks})"  # noqa: S608 - question marks only
            found |= {row[0]: _entry(*row[1:]) for row in connection.execute(query, some)}
        return tuple(found[position] for position in positions)

    return Listing(columns, entries, version=version, snapshot=str(made[0]))


def _names(text: str) -> tuple[str, ...]:
    return tuple(str(name) for name in json.loads(text, parse_float=Decimal))


def _entry(payload: str, reason: str, detail: str) -> Entry:
    offer = Offer.model_validate_json(payload)
    return Quarantined(offer, Reason(reason), detail) if reason else offer


def note_snapshot(path: Path, version: str, snapshot: str) -> None:
    """Note the hash of the offers of a listing, so that it is computed once.

    Raises:
        OSError: the file cannot be written.
    """
    try:
        with closing(sqlite3.connect(path)) as connection:
            query = "UPDATE made SET snapshot = ? WHERE version = ?"
            connection.execute(query, (snapshot, version))
            connection.commit()
    except sqlite3.Error as cause:
        raise OSError(str(cause)) from cause


def _fill(
    connection: sqlite3.Connection, columns: Columns, entries: Iterable[Entry], version: str
) -> None:
    for table in _TABLES:
        connection.execute(table)
    connection.execute("INSERT INTO made VALUES (?, '')", (version,))
    connection.executemany("INSERT INTO offer VALUES (?, ?, ?, ?)", _rows(entries))
    connection.executemany(
        "INSERT INTO named VALUES (?, ?, ?)",
        [
            (name, column.codes.tobytes(), json.dumps(column.names))
            for name, column in columns.named.items()
        ],
    )
    connection.executemany(
        "INSERT INTO number VALUES (?, ?)",
        [(name, column.tobytes()) for name, column in columns.numbers.items()],
    )


def _rows(entries: Iterable[Entry]) -> Iterator[tuple[int, str, str, str]]:
    for position, entry in enumerate(entries):
        if isinstance(entry, Quarantined):
            yield position, entry.offer.model_dump_json(), entry.reason, entry.detail
        else:
            yield position, entry.model_dump_json(), "", ""


def _read_only(path: Path) -> sqlite3.Connection:
    # Its listing may be dropped, and the connection closed, in another thread.
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
