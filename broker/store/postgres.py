"""The store in PostgreSQL: what a transaction sees, and how those that write wait for each other.

A reading transaction is REPEATABLE READ: it sees one state throughout. A writing one first takes a
lock that the whole store shares, then sees what the writer before it left (READ COMMITTED, as a
snapshot from before the wait would be old). The lock ends with its transaction, or with its
connection: a machine that vanishes is cut off by the server after five minutes without a word.
"""

from pydantic import SecretStr
from sqlalchemy import URL, Connection, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from broker.domain.errors import ConfigurationError
from broker.store.place import CONNECT_S, check_url

_DRIVER = "postgresql+psycopg"
_LIMITS = (
    "SELECT set_config('lock_timeout', '20s', true), "
    "set_config('idle_in_transaction_session_timeout', '300s', true)"
)
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('gpubroker'), hashtext(current_schema()))"
_ONE_STATE = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"


def postgres_engine(url: SecretStr) -> Engine:
    """Make an engine; nothing is connected yet.

    Raises:
        ConfigurationError: it is no URL of PostgreSQL.
    """
    return create_engine(_url(url), poolclass=NullPool, hide_parameters=True)


def begin_in_postgres(connection: Connection, *, writes: bool) -> None:
    """Say at the start of a transaction what it sees, and take its turn if it writes."""
    if writes:
        connection.exec_driver_sql(_LIMITS)
        connection.exec_driver_sql(_LOCK)
    else:
        connection.exec_driver_sql(_ONE_STATE)


def _url(url: SecretStr) -> URL:
    check_url(url)
    try:
        parsed = make_url(url.get_secret_value()).set(drivername=_DRIVER)
    except (ArgumentError, ValueError):
        raise ConfigurationError(
            "GPUBROKER_DATABASE cannot be read as a URL",
            hint="write GPUBROKER_DATABASE=postgresql://user:password@host:5432/name",
        ) from None  # the cause may repeat the URL, and with it the password
    if "connect_timeout" in parsed.query:
        return parsed
    return parsed.update_query_dict({"connect_timeout": str(CONNECT_S)})
