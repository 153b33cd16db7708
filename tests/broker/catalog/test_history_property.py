from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import cycle

import pytest
from catalog_steps import Failed, Imported, Let, Listed, Step, listed, play, steps
from hypothesis import example, given, settings
from hypothesis import strategies as st
from price_lists import NOON
from sqlalchemy import delete

from broker.catalog.exchange import read_catalog, write_catalog
from broker.catalog.runs import READ, RunOutcome
from broker.catalog.snapshot import snapshot_hash
from broker.catalog.state import CatalogState
from broker.catalog.store import Catalog
from broker.catalog.tables import (
    HeldReading,
    Observation,
    RefreshRun,
    RejectionCount,
    Release,
    Snapshot,
)
from broker.domain.offer import Offer
from broker.store.database import open_database, writing
from broker.store.place import Place

Played = tuple[Step, datetime, tuple[RunOutcome, ...], CatalogState | None]
NewCatalog = Callable[[], Catalog]
_SPOT_TOO_CHEAP = {"a": Decimal("1.00"), "e": Decimal("0.001")}


@pytest.fixture(scope="module")
def new_catalog(new_place: Callable[[], Place]) -> NewCatalog:
    """Give a maker of empty catalogs: two are made once, and emptied for each example in turn."""
    engines = cycle([open_database(new_place()), open_database(new_place())])

    def emptied() -> Catalog:
        engine = next(engines)
        with writing(engine) as connection:
            for table in (RejectionCount, RefreshRun, Observation, HeldReading, Release, Snapshot):
                connection.execute(delete(table))
        return Catalog(engine)

    return emptied


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
def test_what_the_catalog_said_at_a_past_instant_never_changes(
    new_catalog: NewCatalog, some: list[Step]
) -> None:
    catalog = new_catalog()
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
def test_no_offer_stands_that_is_held_and_none_stands_twice(
    new_catalog: NewCatalog, some: list[Step]
) -> None:
    catalog = new_catalog()
    for _, _, _, state in played(catalog, some):
        if state is not None:
            keys = [offer.key for offer in state.offers]
            assert keys == sorted(set(keys))
            assert not {one.offer.key for one in state.quarantined} & set(keys)


@settings(max_examples=40, deadline=None)
@given(some=st.lists(steps(least_minutes=1, providers=1), min_size=4, max_size=8))
@example(  # held, and read again although its part was not read whole; then let through
    some=[
        Listed(1, "acme", _SPOT_TOO_CHEAP),
        Listed(1, "acme", _SPOT_TOO_CHEAP, missing="here"),
        Failed(1, "acme"),
        Let(1),
    ]
)
def test_an_offer_is_as_old_as_the_last_reading_of_it(
    new_catalog: NewCatalog, some: list[Step]
) -> None:
    """A failure, a missing part, a crash, a release make nothing younger, nor older."""
    catalog = new_catalog()
    read_at: dict[str, datetime] = {}
    for step, now, outcomes, state in played(catalog, some):
        if isinstance(step, Listed) and outcomes[0].status in READ:
            read_at |= dict.fromkeys(_keys_of(step), now)
        if isinstance(step, Imported):
            imported = {one.provider for one in outcomes if one.status in READ}
            read_at |= _stamps(state, imported, held=True)
        if state is not None and not isinstance(step, Imported):
            stamps = _stamps(state, {"acme", "zenith"})
            assert stamps == {key: read_at[key] for key in stamps}


@settings(max_examples=20, deadline=None)
@given(some=st.lists(steps(least_minutes=1), min_size=2, max_size=6))
def test_an_export_of_any_catalog_fills_an_empty_one_with_the_same(
    new_catalog: NewCatalog, some: list[Step]
) -> None:
    catalog, empty = new_catalog(), new_catalog()
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
def test_a_release_lets_through_what_is_held_and_nothing_else(
    new_catalog: NewCatalog, some: list[Step]
) -> None:
    catalog = new_catalog()
    before: CatalogState | None = None
    for step, _, _, state in played(catalog, some):
        if isinstance(step, Let) and before is not None and state is not None:
            assert {one.key for one in state.offers} == {one.key for one in before.shown}
            assert state.quarantined == ()
        before = state


def _keys_of(step: Listed) -> list[str]:
    return [offer.key for offer in listed(step, NOON)]


def _stamps(
    state: CatalogState | None, providers: set[str], *, held: bool = False
) -> dict[str, datetime]:
    """Give the age of what stands; of what is held, too, where that is asked for."""
    offers: tuple[Offer, ...] = (state.shown if held else state.offers) if state else ()
    return {one.key: one.provenance.observed_at for one in offers if one.provider in providers}
