import pkgutil
import time
from importlib import import_module
from multiprocessing.pool import ThreadPool
from pathlib import Path
from sqlite3 import connect
from threading import Timer

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from price_lists import GATES, NOON, a_reading, an_offer
from sqlalchemy import ColumnElement, Engine, String, inspect, literal_column, select, text
from sqlmodel import SQLModel

import broker
import broker.store
from broker.catalog.store import open_catalog
from broker.domain.errors import ConfigurationError
from broker.store.database import REVISION, open_database, reading, writing
from broker.store.ordering import code_points
from broker.store.place import Place


def test_the_migrations_make_the_tables_that_the_code_has(place: Place) -> None:
    assert "broker.catalog.tables" in _modules_of_tables()
    with reading(open_database(place)) as connection:
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


def test_a_new_file_that_another_process_is_writing_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    other = connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    other.execute("CREATE TABLE theirs (one INTEGER)")
    Timer(0.3, other.execute, ("COMMIT",)).start()
    with reading(open_database(path)) as connection:
        assert connection.execute(text("SELECT count(*) FROM theirs")).scalar_one() == 0


@pytest.mark.parametrize("name", ["50% off", "is it?", "a?mode=ro", "#1%20", "[red]", "a@b:c"])
def test_a_folder_is_made_whatever_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name / "deep" / "catalog.sqlite3"
    open_database(path)
    assert path.is_file()
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_opening_twice_keeps_what_is_there(place: Place) -> None:
    with writing(open_database(place)) as connection:
        connection.execute(text("INSERT INTO snapshot VALUES ('abc', '2026-01-01 00:00:00')"))
    with reading(open_database(place)) as connection:
        assert connection.execute(text("SELECT hash FROM snapshot")).scalar() == "abc"


def test_a_catalog_of_a_newer_version_is_left_alone(place: Place) -> None:
    with writing(open_database(place)) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(ConfigurationError, match="newer version") as error:
        open_database(place)
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


def test_a_transaction_that_fails_leaves_nothing(place: Place) -> None:
    engine = open_database(place)
    insert = text("INSERT INTO snapshot VALUES (:hash, '2026-01-01 00:00:00')")

    def write_half() -> None:
        with writing(engine) as connection:
            connection.execute(insert, {"hash": "half"})
            raise RuntimeError("in between")

    with pytest.raises(RuntimeError, match="in between"):
        write_half()
    with reading(engine) as connection:
        assert connection.execute(text("SELECT count(*) FROM snapshot")).scalar() == 0


def test_the_upgrade_goes_back_to_an_empty_database(place: Place) -> None:
    engine = open_database(place)
    _downgrade(engine, "base")
    with reading(engine) as connection:
        assert inspect(connection).get_table_names() == ["alembic_version"]


def test_a_catalog_of_the_first_version_is_brought_up_with_all_that_it_says(place: Place) -> None:
    catalog = open_catalog(place)
    catalog.replace(a_reading(an_offer(seen_at=NOON)), GATES, now=NOON)
    before = catalog.state()
    engine = open_database(place)
    _downgrade(engine, "0001")
    with reading(engine) as connection:
        columns = {one["name"] for one in inspect(connection).get_columns("refresh_run")}
        assert not {"kept", "missing"} & columns
    assert open_catalog(place).state() == before


def test_texts_are_in_the_order_of_their_code_points(place: Place) -> None:
    words = ["a", "B", "é", "_", "aa", "a_b", "A", "-", "z"]
    engine = open_database(place)
    column: ColumnElement[str] = literal_column("hash", String)
    with writing(engine) as connection:
        for word in words:
            row = {"word": word, "at": NOON.replace(tzinfo=None)}
            connection.execute(text("INSERT INTO snapshot VALUES (:word, :at)"), row)
        found = select(column).select_from(text("snapshot")).order_by(code_points(column).desc())
        assert list(connection.execute(found).scalars()) == sorted(words, reverse=True)


def test_a_transaction_that_reads_sees_one_state_throughout(place: Place) -> None:
    engine = open_database(place)
    count = text("SELECT count(*) FROM snapshot")
    with reading(engine) as reader:
        assert reader.execute(count).scalar() == 0
        with writing(engine) as writer:
            writer.execute(text("INSERT INTO snapshot VALUES ('new', '2026-01-01 00:00:00')"))
        assert reader.execute(count).scalar() == 0
    with reading(engine) as reader:
        assert reader.execute(count).scalar() == 1


def test_a_writer_that_waited_sees_what_the_one_before_it_wrote(place: Place) -> None:
    """Each of two threads adds one to a number; neither addition is lost."""
    engine = open_database(place)
    with writing(engine) as connection:
        connection.execute(text("INSERT INTO snapshot VALUES ('0', '2026-01-01 00:00:00')"))

    def add(_: int) -> None:
        with writing(engine) as connection:
            number = int(connection.execute(text("SELECT hash FROM snapshot")).scalar_one())
            time.sleep(0.01)
            new = {"new": str(number + 1)}
            connection.execute(text("UPDATE snapshot SET hash = :new"), new)

    with ThreadPool(2) as pool:
        pool.map(add, range(6))
    with reading(engine) as connection:
        assert connection.execute(text("SELECT hash FROM snapshot")).scalar() == "6"


def _downgrade(engine: Engine, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(broker.store.__path__[0]) / "migrations"))
    with writing(engine) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, revision)


def _modules_of_tables() -> list[str]:
    """Import every package's `tables`, so that all of them are known."""
    packages = [one.name for one in pkgutil.iter_modules(broker.__path__) if one.ispkg]
    names = [f"broker.{name}.tables" for name in packages if _has_tables(name)]
    for name in names:
        import_module(name)
    return names


def _has_tables(package: str) -> bool:
    inside = import_module(f"broker.{package}").__path__
    return any(one.name == "tables" for one in pkgutil.iter_modules(inside))
