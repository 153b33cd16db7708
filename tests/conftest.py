"""The database that tests of the store run on: SQLite, or PostgreSQL where one is named.

    pytest --database postgresql://user@host/name tests/broker/catalog

or GPUBROKER_TEST_DATABASE. Every store of a test is a schema of its own there, dropped in the end.
"""

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr
from store_places import of_schema

from broker.settings import Settings
from broker.store.place import Place


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database",
        default=os.environ.get("GPUBROKER_TEST_DATABASE"),  # noqa: TID251 - no setting of ours
        help="URL of a PostgreSQL database for the tests of the store; SQLite files without one.",
    )


@pytest.fixture(scope="session")
def new_place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Place]]:
    """Give a maker of places for stores: each call names another one, which is empty."""
    server = request.config.getoption("--database")
    made: list[str] = []

    def make() -> Place:
        if server is None:
            return tmp_path_factory.mktemp("store") / "catalog.sqlite3"
        made.append(f"test_{uuid.uuid4().hex}")
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {made[-1]}")
        return SecretStr(of_schema(server, made[-1]))

    yield make
    if server is not None:
        with psycopg.connect(server, autocommit=True) as connection:
            for schema in made:
                connection.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def place(new_place: Callable[[], Place]) -> Place:
    """Name the place of the one store of a test; it is empty."""
    return new_place()


@pytest.fixture
def store_settings(tmp_path: Path, place: Place) -> Settings:
    """Give settings with a data folder and a store of their own, both empty."""
    return Settings(
        data_dir=tmp_path / "data", database=place if isinstance(place, SecretStr) else None
    )


@pytest.fixture
def is_postgres(request: pytest.FixtureRequest) -> bool:
    """Tell whether the stores of this run are in PostgreSQL."""
    return request.config.getoption("--database") is not None
