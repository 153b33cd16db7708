"""The database that tests of the store run on: SQLite, or PostgreSQL where one is named.

    pytest --database postgresql://user@host/name tests/broker/catalog

or GPUBROKER_TEST_DATABASE. Every store of a test is a schema of its own there, dropped in the end.
"""

import gc
import multiprocessing
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import hypothesis
import psycopg
import pytest
from command_line import Solve, solve_once
from pydantic import SecretStr
from store_places import of_schema

from broker.settings import Settings
from broker.store.database import open_database
from broker.store.place import Place


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database",
        default=os.environ.get("GPUBROKER_TEST_DATABASE"),  # noqa: TID251 - no setting of ours
        help="URL of a PostgreSQL database for the tests of the store; SQLite files without one.",
    )


def pytest_configure() -> None:
    """Let no example fail because the machine is busy: what is slow is told by other tests."""
    hypothesis.settings.register_profile("tests", deadline=None)
    hypothesis.settings.load_profile("tests")


def pytest_collection_finish() -> None:
    """Let the collector of cycles look at what tests make, not at all that was loaded for them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an empty SQLite store by all migrations, once; a copy of it is as good as another."""
    path = tmp_path_factory.mktemp("empty") / "catalog.sqlite3"
    open_database(path).dispose()
    return path


@pytest.fixture(scope="session")
def new_bare_place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Place]]:
    """Give a maker of places for stores: each call names another one, which has no table yet."""
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


@pytest.fixture(scope="session")
def new_place(new_bare_place: Callable[[], Place], empty_store: Path) -> Callable[[], Place]:
    """Give a maker of places for stores: each call names another one, which is empty."""

    def make() -> Place:
        place = new_bare_place()
        return Path(shutil.copy(empty_store, place)) if isinstance(place, Path) else place

    return make


@pytest.fixture
def place(new_place: Callable[[], Place]) -> Place:
    """Name the place of the one store of a test; it is empty."""
    return new_place()


@pytest.fixture
def store_settings(tmp_path: Path, place: Place) -> Settings:
    """Give settings with a data folder and a store of their own, which is empty."""
    folder = tmp_path / "data"
    if isinstance(place, SecretStr):
        return Settings(data_dir=folder, database=place)
    folder.mkdir()
    shutil.move(place, folder)
    return Settings(data_dir=folder)


@pytest.fixture
def is_postgres(request: pytest.FixtureRequest) -> bool:
    """Tell whether the stores of this run are in PostgreSQL."""
    return request.config.getoption("--database") is not None


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Give a folder that all workers of a run have in common."""
    own = tmp_path_factory.getbasetemp()
    folder = (own if worker_id == "master" else own.parent) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def solve(shared_folder: Path) -> Solve:
    """Plan an example over the recordings, with its table printed and its JSON written."""
    return partial(solve_once, shared_folder)


@pytest.fixture(scope="module")
def forked_children() -> Iterator[None]:
    """Fork the processes that solve off one that has imported what they need.

    The product starts each anew, which takes a second; the tests of the pool, of whole processes
    and of wheels do so.
    """
    start_method = multiprocessing.get_context
    if "forkserver" not in multiprocessing.get_all_start_methods():
        yield
        return
    forking = start_method("forkserver")
    forking.set_forkserver_preload(["broker.planning.service", "solver.milp.pool"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            multiprocessing,
            "get_context",
            lambda method=None: forking if method == "spawn" else start_method(method),
        )
        yield
