import functools
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from catalog_steps import Imported, Let, Listed, Step, listed, play, steps
from hypothesis import given, settings
from hypothesis import strategies as st
from price_lists import NOON

from broker.catalog.exchange import read_catalog, write_catalog
from broker.catalog.runs import READ, RunOutcome
from broker.catalog.snapshot import snapshot_hash
from broker.catalog.state import CatalogState
from broker.catalog.store import Catalog, open_catalog
from broker.domain.offer import Offer

Played = tuple[Step, datetime, tuple[RunOutcome, ...], CatalogState | None]


@functools.cache
def empty_database() -> bytes:
    """Make the tables once; a catalog for each example is a copy."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "catalog.sqlite3"
        open_catalog(path)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        return path.read_bytes()


@contextmanager
def a_catalog() -> Iterator[Catalog]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "catalog.sqlite3"
        path.write_bytes(empty_database())
        yield open_catalog(path)


def played(catalog: Catalog, some: Sequence[Step]) -> Iterator[Played]:
    """Play steps one after the other, each told with what the catalog says after it."""
    now = NOON
    said: list[CatalogState] = []
    for step in some:
        now += timedelta(minutes=step.minutes)
        outcomes = play(catalog, step, now, said)
        state = catalog.state()
        if state is not None:
            said.append(state)
        yield step, now, outcomes, state


@settings(max_examples=30, deadline=None)
@given(some=st.lists(steps(least_minutes=-30), min_size=3, max_size=8))
def test_what_the_catalog_said_at_a_past_instant_never_changes(some: list[Step]) -> None:
    with a_catalog() as catalog:
        past: list[CatalogState] = []
        for _, _, _, state in played(catalog, some):
            if state is not None:
                past.append(state)
                catalog.remember(snapshot_hash(state.offers), state.at)
            for one in past:
                assert catalog.state(one.at) == one
                found = catalog.instant_of(snapshot_hash(one.offers))
                assert found is not None
                assert catalog.current_offers(found) == list(one.offers)
        instants = [state.at for state in past]
        assert instants == sorted(instants)


@settings(max_examples=20, deadline=None)
@given(some=st.lists(steps(least_minutes=-30), min_size=2, max_size=8))
def test_no_offer_stands_that_is_held_and_none_stands_twice(some: list[Step]) -> None:
    with a_catalog() as catalog:
        for _, _, _, state in played(catalog, some):
            if state is not None:
                keys = [offer.key for offer in state.offers]
                assert keys == sorted(set(keys))
                assert not {one.offer.key for one in state.quarantined} & set(keys)


@settings(max_examples=40, deadline=None)
@given(some=st.lists(steps(least_minutes=1, providers=1), min_size=4, max_size=8))
def test_an_offer_is_as_old_as_the_last_reading_of_it(some: list[Step]) -> None:
    """A failure, a missing part, a crash, a release make nothing younger, nor older."""
    with a_catalog() as catalog:
        read_at: dict[str, datetime] = {}
        for step, now, outcomes, state in played(catalog, some):
            if isinstance(step, Listed) and outcomes[0].status in READ:
                read_at |= dict.fromkeys(_keys_of(step), now)
            if isinstance(step, Imported):
                imported = {one.provider for one in outcomes if one.status in READ}
                read_at |= _stamps(state, imported)
            if state is not None and not isinstance(step, Imported):
                stamps = _stamps(state, {"acme", "zenith"})
                assert stamps == {key: read_at[key] for key in stamps}


@settings(max_examples=20, deadline=None)
@given(some=st.lists(steps(least_minutes=1), min_size=2, max_size=6))
def test_an_export_of_any_catalog_fills_an_empty_one_with_the_same(some: list[Step]) -> None:
    with a_catalog() as catalog, a_catalog() as empty:
        *_, (_, now, _, state) = played(catalog, some)
        if state is None or not state.shown:
            return
        content = write_catalog(state)
        outcomes = empty.bring_in(read_catalog(content, "file"), now=now)
        assert {one.provider for one in outcomes} == {one.provider for one in state.shown}
        brought = empty.state()
        assert brought is not None
        assert (brought.offers, brought.quarantined) == (state.offers, state.quarantined)
        assert empty.snapshot() == snapshot_hash(state.offers)


@settings(max_examples=20, deadline=None)
@given(some=st.lists(steps(least_minutes=1, providers=1), min_size=3, max_size=6))
def test_a_release_lets_through_what_is_held_and_nothing_else(some: list[Step]) -> None:
    with a_catalog() as catalog:
        before: CatalogState | None = None
        for step, _, _, state in played(catalog, some):
            if isinstance(step, Let) and before is not None and state is not None:
                assert {one.key for one in state.offers} == {one.key for one in before.shown}
                assert state.quarantined == ()
            before = state


def _keys_of(step: Listed) -> list[str]:
    return [offer.key for offer in listed(step, NOON)]


def _stamps(state: CatalogState | None, providers: set[str]) -> dict[str, datetime]:
    offers: tuple[Offer, ...] = state.offers if state else ()
    return {one.key: one.provenance.observed_at for one in offers if one.provider in providers}
