"""A refresh that could not read a part: the rest is replaced, that part stands with its age."""

from dataclasses import replace

from price_lists import GATES, a_reading, after, an_offer

from broker.catalog.runs import RunOutcome, RunStatus
from broker.catalog.store import Catalog
from broker.domain.errors import ProviderError
from broker.domain.missing import Missing
from broker.domain.offer import UNKNOWN_REGION, Offer, PriceKind

HERE, THERE = Missing("acme", region="here", why="503"), Missing("acme", region="there", why="503")
SPOT = Missing("acme", price_kinds=(PriceKind.SPOT,), why="403")


def refresh(
    catalog: Catalog, *offers: Offer, hours: float, missing: tuple[Missing, ...] = ()
) -> RunOutcome:
    """Refresh so many hours after noon, with offers that are seen then."""
    seen = [
        one.model_copy(
            update={"provenance": one.provenance.model_copy(update={"observed_at": after(hours)})}
        )
        for one in offers
    ]
    reading = replace(a_reading(*seen), missing=missing)
    return catalog.replace(reading, GATES, now=after(hours))


def here(name: str, usd: str = "2.00", kind: PriceKind = PriceKind.ON_DEMAND) -> Offer:
    return an_offer(usd, name=name, kind=kind)


def there(name: str, usd: str = "2.00") -> Offer:
    return an_offer(usd, name=name, region="there")


def ages(catalog: Catalog, hours: float) -> dict[str, float]:
    """Give the age in hours of each offer that stood so many hours after noon, as of then."""
    return {
        one.instance_type: (after(hours) - one.provenance.observed_at).total_seconds() / 3600
        for one in catalog.current_offers(after(hours))
    }


def test_what_could_not_be_read_stands_and_the_rest_is_replaced(catalog: Catalog) -> None:
    refresh(catalog, here("a"), here("b"), there("c"), there("d"), hours=0)
    outcome = refresh(catalog, here("a", "2.10"), here("b"), hours=5, missing=(THERE,))
    assert outcome.status is RunStatus.PARTIAL
    assert (outcome.received, outcome.offers, outcome.kept) == (2, 4, 2)
    assert (outcome.new, outcome.changed, outcome.vanished) == (0, 1, 0)
    assert outcome.error == "there could not be read: 503"
    assert ages(catalog, 5) == {"a": 0, "b": 0, "c": 5, "d": 5}


def test_what_is_kept_grows_older_until_its_part_is_read_again(catalog: Catalog) -> None:
    refresh(catalog, here("a"), there("c"), hours=0)
    for hours in (10, 20, 30):
        refresh(catalog, here("a"), hours=hours, missing=(THERE,))
    assert ages(catalog, 30) == {"a": 0, "c": 30}
    refresh(catalog, here("a"), there("c"), hours=40)
    assert ages(catalog, 40) == {"a": 0, "c": 0}
    assert ages(catalog, 30) == {"a": 0, "c": 30}  # and the past is what it was


def test_each_part_has_the_age_of_its_own_last_reading(catalog: Catalog) -> None:
    refresh(catalog, here("a"), there("c"), hours=0)
    refresh(catalog, here("a"), hours=1, missing=(THERE,))
    refresh(catalog, there("c"), hours=2, missing=(HERE,))
    refresh(catalog, here("a"), hours=3, missing=(THERE,))
    catalog.replace(replace(a_reading(), missing=(HERE, THERE)), GATES, now=after(4))
    assert ages(catalog, 4) == {"a": 1, "c": 2}


def test_a_part_may_be_a_price_kind_of_every_region(catalog: Catalog) -> None:
    refresh(catalog, here("a"), here("a", "1.00", PriceKind.SPOT), there("c"), hours=0)
    outcome = refresh(catalog, here("a"), there("c"), hours=6, missing=(SPOT,))
    assert (outcome.kept, outcome.error) == (1, "all regions (spot) could not be read: 403")
    kinds = {
        (one.instance_type, one.price_kind): one.provenance.observed_at
        for one in catalog.current_offers()
    }
    assert kinds[("a", PriceKind.SPOT)] == after(0)
    assert kinds[("a", PriceKind.ON_DEMAND)] == after(6)


def test_what_came_of_a_part_all_the_same_is_as_fresh_as_it_is(catalog: Catalog) -> None:
    """One page of a region came, the next did not."""
    refresh(catalog, here("a"), there("c"), there("d"), hours=0)
    outcome = refresh(catalog, here("a"), there("c"), hours=7, missing=(THERE,))
    assert (outcome.kept, outcome.new, outcome.changed, outcome.vanished) == (1, 0, 0, 0)
    assert ages(catalog, 7) == {"a": 0, "c": 0, "d": 7}
    refresh(catalog, here("a"), hours=9, missing=(THERE,))
    assert ages(catalog, 9) == {"a": 0, "c": 2, "d": 9}


def test_a_provider_of_which_some_part_always_fails_is_never_fresh_there(catalog: Catalog) -> None:
    outcome = refresh(catalog, here("a"), hours=0, missing=(THERE,))
    assert (outcome.status, outcome.kept) == (RunStatus.PARTIAL, 0)
    refresh(catalog, here("a"), hours=1, missing=(THERE,))
    assert ages(catalog, 1) == {"a": 0}


def test_rows_that_are_kept_are_not_counted_as_lost(catalog: Catalog) -> None:
    machines = [*map(here, "abc"), *map(there, "defghijklm")]
    refresh(catalog, *machines, hours=0)
    outcome = refresh(catalog, *map(here, "abc"), hours=1, missing=(THERE,))
    assert (outcome.status, outcome.offers, outcome.kept) == (RunStatus.PARTIAL, 13, 10)
    # The next whole refresh is held to all that stands, not to the three that were read.
    doubted = refresh(catalog, *map(here, "abc"), hours=2)
    assert doubted.status is RunStatus.TOO_FEW
    assert doubted.error == "3 offers instead of 13"


def test_rows_that_are_kept_hide_no_loss_in_what_was_read(catalog: Catalog) -> None:
    machines = [*map(here, "abcdefghij"), *map(there, "klmnopqrst")]
    refresh(catalog, *machines, hours=0)
    outcome = refresh(catalog, here("a"), hours=1, missing=(THERE,))
    assert (outcome.status, outcome.error) == (RunStatus.TOO_FEW, "1 offers instead of 10")
    assert len(catalog.current_offers()) == 20
    confirmed = refresh(catalog, here("a"), hours=2, missing=(THERE,))
    assert (confirmed.status, confirmed.offers, confirmed.vanished) == (RunStatus.PARTIAL, 11, 9)


def test_types_whose_places_are_missing_are_no_measure_of_the_next_list(catalog: Catalog) -> None:
    """Verda lists far more types than can be started somewhere."""
    placed = [here("a"), here("b"), there("a"), there("b")]
    refresh(catalog, *placed, hours=0)
    types = [an_offer(name=name, region=UNKNOWN_REGION) for name in "abcdefghij"]
    nowhere = Missing("acme", price_kinds=(PriceKind.ON_DEMAND,), why="503")
    outcome = refresh(catalog, *types, hours=1, missing=(nowhere,))
    assert (outcome.received, outcome.kept, outcome.offers) == (0, 4, 14)
    again = refresh(catalog, *placed, hours=2)
    assert (again.status, again.offers) == (RunStatus.REFRESHED, 4)


def test_spot_is_held_against_an_on_demand_price_that_is_kept(catalog: Catalog) -> None:
    firm = Missing("acme", price_kinds=(PriceKind.ON_DEMAND,), why="503")
    refresh(catalog, here("a", "2.00"), hours=0)
    outcome = refresh(catalog, here("a", "2.50", PriceKind.SPOT), hours=1, missing=(firm,))
    assert outcome.quarantined == {"spot_not_below_on_demand": 1}


def test_what_is_held_back_of_a_missing_part_stays_held_back(catalog: Catalog) -> None:
    refresh(catalog, *map(here, "abc"), there("odd", "0.001"), hours=0)
    outcome = refresh(catalog, *map(here, "abc"), hours=1, missing=(THERE,))
    assert (outcome.quarantined, outcome.kept) == ({"price_out_of_band": 1}, 1)
    assert refresh(catalog, *map(here, "abc"), hours=2).quarantined == {}


def test_a_failure_after_a_partial_refresh_changes_no_age(catalog: Catalog) -> None:
    refresh(catalog, here("a"), there("c"), hours=0)
    refresh(catalog, here("a"), hours=2, missing=(THERE,))
    catalog.keep(a_reading(), ProviderError("503", hint=""), now=after(4))
    assert ages(catalog, 4) == {"a": 2, "c": 4}


def test_the_last_run_tells_which_parts_are_missing(catalog: Catalog) -> None:
    refresh(catalog, here("a"), hours=0, missing=(THERE, SPOT))
    (run,) = catalog.last_runs()
    assert [one.part for one in run.missing] == ["all regions (spot)", "there"]
    assert run.error == "there could not be read: 503; all regions (spot) could not be read: 403"
    assert "kept with their age" in run.hint
