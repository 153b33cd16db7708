"""What a person reads when the database fails, and that the next run goes on as if nothing was."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from postgres_server import PASSWORD, PostgresServer, programs, running_server
from price_lists import GATES, a_reading, after, an_offer
from pydantic import SecretStr
from sqlalchemy import Connection, event, text

from broker.catalog.listing_file import store_version
from broker.catalog.runs import RunOutcome
from broker.catalog.store import Catalog, open_catalog
from broker.domain.errors import ConfigurationError
from broker.settings import Settings
from broker.store.database import open_database, writing
from broker.store.place import Place, listing_path, shown

CANARY = "canary-7d1f"
NO_SERVER = f"postgresql://ana:{CANARY}@127.0.0.1:1/prices"


def refresh(catalog: Catalog, usd: str, hours: float, count: int = 1) -> RunOutcome:
    offers = [an_offer(usd, name=f"n{one}", seen_at=after(hours)) for one in range(count)]
    return catalog.replace(a_reading(*offers), GATES, now=after(hours))


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        (f"mysql://ana:{CANARY}@host/prices", "mysql:// is not understood"),
        (f"ana:{CANARY}@host", "it is not understood"),
        (f"postgresql://ana:{CANARY}@{CANARY}@host/prices", "cannot be read"),
        (f"postgresql://ana:{CANARY}@host:{CANARY}/prices", "cannot be read"),
        (f"{NO_SERVER}?nonsense={CANARY}", "invalid connection option"),
        (NO_SERVER, "Connection refused"),
        (f"postgres://127.0.0.1:1/prices?user=ana&password={CANARY}", "Connection refused"),
    ],
)
def test_a_url_that_leads_nowhere_is_told_without_its_password(url: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        open_database(SecretStr(url))
    told = f"{error.value} {error.value.hint}"
    assert problem in told
    assert CANARY not in told
    assert CANARY not in repr(error.value)
    assert CANARY not in shown(SecretStr(url))


def test_a_place_is_shown_by_user_host_and_name() -> None:
    url = SecretStr("postgresql+psycopg://ana:p%40ss@db.example.com:5433/prices?sslmode=require")
    assert shown(url) == "postgresql://ana@db.example.com:5433/prices"


def test_each_database_has_a_listing_of_its_own(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    urls = [NO_SERVER, NO_SERVER.replace("prices", "others"), NO_SERVER.replace(CANARY, "new")]
    paths = [listing_path(settings.model_copy(update={"database": SecretStr(url)})) for url in urls]
    assert len(set(paths)) == 2  # a new password is no new database
    assert {one.parent for one in paths} == {tmp_path}
    assert listing_path(settings) == tmp_path / "catalog-listing.sqlite3"
    assert store_version(SecretStr(NO_SERVER)) is None


def test_a_full_disk_leaves_the_catalog_as_it_was(tmp_path: Path) -> None:
    engine = open_database(tmp_path / "catalog.sqlite3")
    catalog = Catalog(engine)
    refresh(catalog, "2.00", 0)
    before, limits = catalog.state(), [100]

    @event.listens_for(engine, "begin")
    def limit(connection: Connection) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {limits[0]}")

    with pytest.raises(ConfigurationError, match="database or disk is full") as error:
        refresh(catalog, "2.10", 1, count=3000)
    assert "free some space" in error.value.hint
    assert catalog.state() == before
    limits[0] = 1_000_000
    assert refresh(catalog, "2.10", 2, count=3000).offers == 3000


def test_a_folder_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    catalog = open_catalog(folder / "catalog.sqlite3")
    refresh(catalog, "2.00", 0)
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(ConfigurationError, match="unable to open database file") as error:
        refresh(catalog, "2.10", 1)
    assert "check the folder" in error.value.hint
    (tmp_path / "elsewhere").rename(folder)
    outcome = refresh(catalog, "2.10", 2)
    assert (outcome.offers, outcome.changed) == (1, 1)


@pytest.mark.long
def test_a_database_that_stays_locked_is_told_and_then_used(place: Place) -> None:
    catalog = open_catalog(place)
    with ExitStack() as stack:
        stack.enter_context(writing(open_database(place)))
        with pytest.raises(ConfigurationError, match=r"locked|lock timeout") as error:
            refresh(catalog, "2.00", 0)
        assert "another gpubroker has been writing for 20 seconds" in error.value.hint
    assert refresh(catalog, "2.00", 1).new == 1


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    found = programs()
    if found is None:
        pytest.skip("no PostgreSQL server is installed")
    with running_server(found) as server:
        yield server


@pytest.mark.long
def test_a_server_that_stops_and_comes_back_loses_the_step_and_nothing_else(
    server: PostgresServer,
) -> None:
    catalog = open_catalog(SecretStr(server.url))
    refresh(catalog, "2.00", 0)
    before = catalog.state()
    engine = open_database(SecretStr(server.url))
    update = text("UPDATE observation SET offer_key = 'broken'")

    def write_half() -> None:
        with writing(engine) as connection:
            connection.execute(update)
            server.stop()
            connection.execute(update)

    with pytest.raises(ConfigurationError, match="cannot be used") as error:
        write_half()
    assert "nothing of this step was written" in error.value.hint
    with pytest.raises(ConfigurationError, match="cannot be used") as gone:
        refresh(catalog, "2.10", 1)
    assert "check that the server runs" in gone.value.hint
    server.start()
    assert catalog.state() == before
    assert refresh(catalog, "2.10", 2).changed == 1


@pytest.mark.long
def test_a_password_that_is_wrong_or_right_is_never_told(server: PostgresServer) -> None:
    with pytest.raises(ConfigurationError, match="password authentication failed") as error:
        open_database(SecretStr(server.url_with(CANARY)))
    missing = SecretStr(server.url.replace("/postgres?", "/nowhere?"))
    with pytest.raises(ConfigurationError, match="does not exist") as other:
        open_database(missing)
    assert "CREATE DATABASE" in other.value.hint
    for one in (error.value, other.value):
        told = f"{one} {one.hint}"
        assert not re.search(rf"{CANARY}|{re.escape(PASSWORD)}|canary%20", told)
