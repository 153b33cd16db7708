"""Several processes at once: nothing is lost, nothing is there twice, whoever comes first."""

import subprocess
import sys

import pytest
from book_plans import book_plan
from price_lists import after
from sqlalchemy import text
from store_places import environment_of

from broker.catalog.store import open_catalog
from broker.purchases.identity import plan_hash
from broker.purchases.plan_book import PlanBook
from broker.store.database import open_database, reading
from broker.store.place import Place

ROUNDS = 4
WORK = f"""
import sys
from book_plans import book_plan, later, word
from price_lists import GATES, a_reading, after, an_offer
from store_places import told_place
from broker.catalog.store import Catalog
from broker.purchases.plan_book import PlanBook
from broker.store.database import open_database

own = sys.argv[1]
engine = open_database(told_place())  # the first of all makes the tables
catalog, book = Catalog(engine), PlanBook(engine)
for turn in range({ROUNDS}):
    for provider in (own, "shared"):
        offers = [
            an_offer(f"2.{{turn}}", name=f"n{{number}}", provider=provider, seen_at=after(turn))
            for number in range(20)
        ]
        catalog.replace(a_reading(*offers, provider=provider), GATES, now=after(turn))
    catalog.snapshot()
    kept = book.keep(book_plan(f"1{{turn}}"), "team", later(turn))
    book.adopt(kept.hash, later(turn))
    book.approve(kept.hash, word(own, turn)) if turn == 0 else None
"""


def counted(place: Place, what: str) -> int:
    with reading(open_database(place)) as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {what}")).scalar_one())  # noqa: S608 - of this file


@pytest.fixture
def workers(place: Place) -> list[str]:
    """Let three processes work at once on a store that none of them has made yet."""
    names = ["one", "two", "three"]
    running = [
        subprocess.Popen(  # noqa: S603 - the code of this file
            [sys.executable, "-c", WORK, name],
            env=environment_of(place),
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for process in running:
        _, told = process.communicate(timeout=120)
        assert process.returncode == 0, told
    return names


def test_processes_that_refresh_and_plan_at_once_lose_and_double_nothing(
    place: Place, workers: list[str]
) -> None:
    state = open_catalog(place).state()
    assert state is not None
    shown = {(one.provider, one.instance_type, str(one.usd_per_hour)) for one in state.offers}
    last = f"2.{ROUNDS - 1}00000"
    assert shown == {
        (provider, f"n{number}", last) for provider in (*workers, "shared") for number in range(20)
    }
    assert len(state.offers) == len(shown)
    assert counted(place, "refresh_run") == len(workers) * ROUNDS * 2
    assert counted(place, "(SELECT DISTINCT finished_at FROM refresh_run) AS instants") == (
        len(workers) * ROUNDS * 2
    )
    book = PlanBook(open_database(place))
    log, problems = book.audit()
    assert problems == ()
    assert {one.hash for one in book.records()} == {
        plan_hash(book_plan(f"1{turn}")) for turn in range(ROUNDS)
    }
    actions = [one.deed.action for one in log]
    assert {one: actions.count(one) for one in sorted(set(actions))} == {
        "adopted": len(workers) * ROUNDS,
        "approved": 1,
        "confirmed": len(workers),
        "kept": ROUNDS,
    }
    assert after(ROUNDS) > state.at
