import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from price_lists import GATES, NOON, a_reading, an_offer
from sqlalchemy import text
from sqlmodel import SQLModel

import broker.store
from broker.catalog import tables
from broker.store.database import REVISION, open_database, reading, writing
from broker.catalog.store import open_catalog
from broker.domain.errors import ConfigurationError


def test_the_migrations_make_the_tables_that_the_code_has(tmp_path: Path) -> None:
    assert tables.Observation.metadata is SQLModel.metadata
    with reading(open_database(tmp_path / "catalog.sqlite3")) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, SQLModel.metadata) == []
        assert context.get_current_revision() == REVISION


def test_the_known_revision_is_the_newest_script() -> None:
    config = Config()
    folder = Path(broker.store.__path__[0]) / "migrations"
    config.set_main_option("script_location", str(folder))
    assert ScriptDirectory.from_config(config).get_current_head() == REVISION


def test_the_database_is_in_wal_mode(tmp_path: Path) -> None:
    with reading(open_database(tmp_path / "catalog.sqlite3")) as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"


def test_a_folder_is_made_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "50% off" / "deep" / "catalog.sqlite3"
    open_database(path)
    assert path.is_file()


def test_opening_twice_keeps_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite3"
    with writing(open_database(path)) as connection:
        connection.execute(text("INSERT INTO snapshot VALUES ('abc', '2026-01-01 00:00:00')"))
    with reading(open_database(path)) as connection:
        assert connection.execute(text("SELECT hash FROM snapshot")).scalar() == "abc"


def test_a_catalog_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite3"
    with writing(open_database(path)) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(ConfigurationError, match="newer version") as error:
        open_database(path)
    assert "update gpubroker" in error.value.hint


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite3"
    path.write_text("no database, but long enough to be taken for a header of one" * 40)
    with pytest.raises(ConfigurationError, match=r"catalog\.sqlite3.*not a database"):
        open_database(path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be used") as error:
        open_database(tmp_path / "file" / "catalog.sqlite3")
    assert "GPUBROKER_DATA_DIR" in error.value.hint


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    engine = open_database(tmp_path / "catalog.sqlite3")
    insert = text("INSERT INTO snapshot VALUES (:hash, '2026-01-01 00:00:00')")

    def write_half() -> None:
        with writing(engine) as connection:
            connection.execute(insert, {"hash": "half"})
            raise RuntimeError("in between")

    with pytest.raises(RuntimeError, match="in between"):
        write_half()
    with reading(engine) as connection:
        assert connection.execute(text("SELECT count(*) FROM snapshot")).scalar() == 0


def test_the_upgrade_goes_back_to_an_empty_database(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite3"
    engine = open_database(path)
    config = Config()
    folder = Path(broker.store.__path__[0]) / "migrations"
    config.set_main_option("script_location", str(folder))
    with writing(engine) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
        assert connection.execute(query).fetchall() == [("alembic_version",)]


def test_a_catalog_of_the_first_version_is_brought_up_with_all_that_it_says(
    tmp_path: Path,
) -> None:
    path = tmp_path / "catalog.sqlite3"
    catalog = open_catalog(path)
    catalog.replace(a_reading(an_offer(seen_at=NOON)), GATES, now=NOON)
    before = catalog.state()
    config = Config()
    config.set_main_option("script_location", str(Path(broker.store.__path__[0]) / "migrations"))
    with writing(open_database(path)) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0001")
    with closing(sqlite3.connect(path)) as connection:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(refresh_run)")}
        assert not {"kept", "missing"} & columns
    assert open_catalog(path).state() == before
