"""The database under the catalog: SQLite in WAL mode, brought to the newest schema at opening.

A transaction that will write takes the write lock at its start, so two refreshes at one time wait
for each other instead of failing half way.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from sqlite3 import Connection as SqliteConnection

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from broker.domain.errors import ConfigurationError

REVISION = "0006"
"""The newest migration; a test compares it with the scripts."""

_WRITES = "catalog_writes"
_BUSY_MS = 20_000
_PRAGMAS = (
    f"PRAGMA busy_timeout = {_BUSY_MS}",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
)


def open_database(path: Path) -> Engine:
    """Open the database file, making it and its folder where there is none.

    Raises:
        ConfigurationError: the file cannot be opened, is no catalog, or is from a newer version.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise _unusable(path, str(cause)) from cause
    # Without a pool no connection outlives its transaction, so no thread inherits another's.
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    try:
        _bring_up_to_date(engine, path)
    except DatabaseError as cause:
        raise _unusable(path, str(cause.orig)) from cause
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


def _bring_up_to_date(engine: Engine, path: Path) -> None:
    with engine.begin() as connection:
        revision = _revision(connection)
    if revision == REVISION:
        return
    if revision is not None and revision > REVISION:
        raise ConfigurationError(
            f"the catalog {str(path)!r} was written by a newer version of gpubroker "
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


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _translated(engine: Engine) -> Iterator[None]:
    try:
        yield
    except OperationalError as cause:
        raise _unusable(Path(engine.url.database or ""), str(cause.orig)) from cause


def _unusable(path: Path, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"the catalog {str(path)!r} cannot be used: {why}",
        hint="check the folder and its free space, wait for a refresh that runs, "
        "or set GPUBROKER_DATA_DIR to another folder",
    )
