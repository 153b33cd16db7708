"""A process that dies in the middle of a refresh leaves the catalog as it was."""

import subprocess
import sys

from price_lists import GATES, NOON, a_reading, after, an_offer
from store_places import environment_of

from broker.catalog.store import open_catalog
from broker.store.place import Place

DIE = """
import os
from sqlalchemy import event
from price_lists import GATES, a_reading, after, an_offer
from store_places import told_place
from broker.catalog.store import open_catalog

catalog = open_catalog(told_place())

def die(*arguments):
    if "refresh_run" in str(arguments[2]) and str(arguments[2]).startswith("INSERT"):
        os.kill(os.getpid(), 9)

event.listen(catalog._engine, "before_cursor_execute", die)
catalog.replace(a_reading(an_offer("2.50"), an_offer(name="new")), GATES, now=after(1))
"""


def test_a_refresh_that_is_killed_before_its_end_never_was(place: Place) -> None:
    catalog = open_catalog(place)
    catalog.replace(a_reading(an_offer("2.00")), GATES, now=NOON)
    before = catalog.state()
    ended = subprocess.run(  # noqa: S603 - the code is that of this file
        [sys.executable, "-c", DIE],
        env=environment_of(place),
        capture_output=True,
        check=False,
    )
    assert ended.returncode == -9, ended.stderr
    again = open_catalog(place)
    assert again.state() == before
    outcome = again.replace(a_reading(an_offer("2.50")), GATES, now=after(2))
    assert (outcome.new, outcome.changed) == (0, 1)
