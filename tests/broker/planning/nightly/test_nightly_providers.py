"""How providers stand after a refresh, as the alerts are told."""

import pytest
from price_lists import GATES, NOON, a_reading, after, an_offer

from broker.alerts.night import ProviderState
from broker.catalog.store import Catalog
from broker.domain.errors import ProviderError
from broker.planning.nightly.providers import provider_states
from broker.store.database import open_database
from broker.store.place import Place

DOWN = ProviderError("acme: no answer", hint="try again")


@pytest.fixture
def catalog(place: Place) -> Catalog:
    catalog = Catalog(open_database(place))
    offers = [an_offer("2.00", name=f"box{number}") for number in range(10)]
    catalog.replace(a_reading(*offers), GATES, now=NOON)
    return catalog


def state(catalog: Catalog, hours: float) -> ProviderState:
    (one,) = provider_states(catalog._engine, after(hours))
    return one


def test_a_provider_that_fails_does_so_since_the_first_time_after_it_could_be_read(
    catalog: Catalog,
) -> None:
    assert state(catalog, 1).failing_since is None
    for hours in (24, 48):
        catalog.keep(a_reading(), DOWN, now=after(hours))
    found = state(catalog, 48)
    assert (found.failing_since, found.error) == (after(24), "acme: no answer")
    assert (found.offers, found.before, found.newest_observed_at) == (10, 10, NOON)


def test_a_provider_that_was_never_read_is_none_of_ours(catalog: Catalog) -> None:
    catalog.keep(a_reading(provider="bolt"), DOWN, now=after(1))
    assert [one.name for one in provider_states(catalog._engine, after(2))] == ["acme"]


def test_one_that_lists_too_few_has_lost_them_though_the_old_ones_stand(catalog: Catalog) -> None:
    catalog.replace(a_reading(an_offer("2.00", name="box1")), GATES, now=after(24.5))
    found = state(catalog, 24.5)
    assert (found.offers, found.before, found.failing_since) == (1, 10, None)


def test_what_is_held_back_is_listed_all_the_same(catalog: Catalog) -> None:
    offers = [an_offer("2.00", name=f"box{number}", seen_at=after(24.5)) for number in range(9)]
    offers.append(an_offer("0.60", name="box9", seen_at=after(24.5)))
    assert catalog.replace(a_reading(*offers), GATES, now=after(24.5)).quarantined
    found = state(catalog, 24.5)
    assert (found.offers, found.before) == (10, 10)
