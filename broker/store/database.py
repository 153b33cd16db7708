"""The database under all that is kept, brought to the newest schema at opening.

It is a SQLite file in WAL mode, or PostgreSQL by a URL. On both, a transaction that reads sees one
state throughout, and one that will write takes the write lock at its start, so two refreshes at one
time wait for each other instead of failing half way.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from sqlite3 import Connection as SqliteConnection

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import DatabaseError, DBAPIError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool
from tenacity import retry, retry_if_exception_message, stop_after_delay, wait_fixed

from broker.domain.errors import ConfigurationError
from broker.settings import Settings
from broker.store.place import Place, shown, store_place
from broker.store.postgres import begin_in_postgres, postgres_engine
from broker.store.unusable import unusable

REVISION = "0006"
"""The newest migration; a test compares it with the scripts."""

_WRITES = "catalog_writes"
_PLACE = "catalog_place"
_BUSY_MS = 20_000
_PRAGMAS = (
    f"PRAGMA busy_timeout = {_BUSY_MS}",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
)


def open_store(settings: Settings) -> Engine:
    """Open the database that the settings name.

    Raises:
        ConfigurationError: it cannot be opened, is no catalog, or is from a newer version.
    """
    return open_database(store_place(settings))


def open_database(place: Place) -> Engine:
    """Open a database: a file, made with its folder where there is none, or PostgreSQL by a URL.

    Raises:
        ConfigurationError: it cannot be opened, is no catalog, or is from a newer version.
    """
    opened = _sqlite_engine(place) if isinstance(place, Path) else postgres_engine(place)
    event.listen(opened, "begin", _begin)
    engine = opened.execution_options(**{_PLACE: place})
    with _translated(engine, all_of_them=True):
        _bring_up_to_date(engine, place)
    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that sees one state of the catalog throughout.

    Raises:
        ConfigurationError: the database cannot be read.
    """
    with _translated(engine), engine.begin() as connection:
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that holds the write lock; it is all done, or nothing is.

    Raises:
        ConfigurationError: the database cannot be written.
    """
    with _translated(engine), engine.execution_options(**{_WRITES: True}).begin() as connection:
        yield connection


def upgrade(connection: Connection) -> None:
    """Run every migration that the database lacks."""
    from alembic import command  # noqa: PLC0415 - slow to import, needed once in a database's life
    from alembic.config import Config  # noqa: PLC0415 - the same

    with as_file(files("broker.store") / "migrations") as scripts:
        config = Config()
        config.set_main_option("script_location", str(scripts).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _sqlite_engine(path: Path) -> Engine:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise unusable(path, cause) from cause
    # Without a pool no connection outlives its transaction, so no thread inherits another's.
    # Not as a text: a `?` in a path would begin the query of an address.
    engine = create_engine(URL.create("sqlite", database=str(path)), poolclass=NullPool)
    event.listen(engine, "connect", _prepare)
    return engine


def _bring_up_to_date(engine: Engine, place: Place) -> None:
    with engine.begin() as connection:
        revision = _revision(connection)
    if revision == REVISION:
        return
    if revision is not None and revision > REVISION:
        raise ConfigurationError(
            f"the catalog {shown(place)!r} was written by a newer version of gpubroker "
            f"(schema {revision}, this one knows {REVISION})",
            hint="update gpubroker, or point GPUBROKER_DATA_DIR to another folder",
        )
    with engine.execution_options(**{_WRITES: True}).begin() as connection:
        upgrade(connection)  # another process may have been first: then there is nothing to do


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def _prepare(connection: SqliteConnection, record: ConnectionPoolEntry) -> None:
    del record
    connection.isolation_level = None  # the driver must not begin transactions by itself
    for pragma in _PRAGMAS:
        connection.execute(pragma)
    _into_wal_mode(connection)


@retry(
    retry=retry_if_exception_message(match="database is locked"),
    stop=stop_after_delay(_BUSY_MS / 1000),
    wait=wait_fixed(0.05),
    reraise=True,
)
def _into_wal_mode(connection: SqliteConnection) -> None:
    """Change a new file's mode, which fails at once, without a wait, where another process does."""
    connection.execute("PRAGMA journal_mode = WAL")


def _begin(connection: Connection) -> None:
    writes = bool(connection.get_execution_options().get(_WRITES, False))
    if connection.dialect.name == "postgresql":
        begin_in_postgres(connection, writes=writes)
    else:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _translated(engine: Engine, *, all_of_them: bool = False) -> Iterator[None]:
    """Say what is wrong with the database itself; what is wrong with a statement is a bug.

    At the opening every error is about the database: a file that is none, a right that lacks.
    """
    try:
        yield
    except DBAPIError as cause:
        is_of_database = isinstance(cause, OperationalError) or type(cause) is DatabaseError
        if not (is_of_database or all_of_them):
            raise
        raise unusable(engine.get_execution_options()[_PLACE], cause.orig) from cause
