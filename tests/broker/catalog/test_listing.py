import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from price_lists import GATES, a_reading, after, an_offer

from broker.catalog.gates import Quarantined, Reason
from broker.catalog.listing import Listing, Name, Number, listing_of
from broker.catalog.listing_file import (
    note_snapshot,
    read_listing,
    store_version,
    write_listing,
)
from broker.catalog.store import open_catalog
from broker.store.place import Place

HELD = Quarantined(an_offer("0.001", name="odd"), Reason.PRICE_OUT_OF_BAND, "far too low")


def written(path: Path, listing: Listing, version: str = "v1") -> Listing:
    write_listing(path, listing.columns, listing.entries(range(len(listing))), version)
    found = read_listing(path, version)
    assert found is not None
    return found


def test_a_listing_says_the_same_from_its_file(tmp_path: Path) -> None:
    offers = [an_offer(f"{number}.50", name=f"n{number}", zone="a") for number in range(1, 1202)]
    listing = listing_of(offers, [HELD])
    found = written(tmp_path / "listing.sqlite3", listing)
    everything = range(len(listing))
    assert len(found) == 1202
    assert found.entries(everything) == listing.entries(everything)
    assert found.entries([7, 3]) == (listing.entries([7])[0], listing.entries([3])[0])
    for column in Name:
        assert found.named(column).names == listing.named(column).names
        assert found.named(column).codes.tolist() == listing.named(column).codes.tolist()
    for number in Number:
        assert str(found.numbers(number).tolist()) == str(listing.numbers(number).tolist())


def test_positions_follow_the_keys_whatever_order_offers_come_in() -> None:
    offers = [an_offer(name="b"), an_offer(name="a"), an_offer(name="c")]
    there, back = listing_of(offers, [HELD]), listing_of(reversed(offers), [HELD])
    assert there.entries(range(4)) == back.entries(range(4))
    assert [there.entries([one])[0] for one in (0, 1, 2)] == [offers[1], offers[0], offers[2]]


def test_money_in_a_column_is_exact_to_the_micro_dollar() -> None:
    offer = an_offer("98765432.123457", gpus=7)
    listing = listing_of([offer])
    assert listing.numbers(Number.NODE_HOUR).tolist() == [98_765_432_123_457]
    # 98765432.123457 / 7 = 14109347.446208142…
    assert listing.numbers(Number.GPU_HOUR).tolist() == [14_109_347_446_208]


def test_a_listing_of_another_state_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "listing.sqlite3"
    written(path, listing_of([an_offer()]))
    assert read_listing(path, "v2") is None


@pytest.mark.parametrize("content", [b"", b"no database at all", b"SQLite format 3\x00cut off"])
def test_a_damaged_file_is_no_listing(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "listing.sqlite3"
    path.write_bytes(content)
    assert read_listing(path, "v1") is None


def test_a_listing_that_is_open_outlives_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "listing.sqlite3"
    first = written(path, listing_of([an_offer(name="old")]))
    written(path, listing_of([an_offer(name="new"), an_offer(name="newer")]), "v2")
    assert first.entries([0]) == (an_offer(name="old"),)
    assert [entry.name for entry in tmp_path.iterdir()] == ["listing.sqlite3"]


def test_a_listing_in_no_folder_is_not_written(tmp_path: Path) -> None:
    listing = listing_of([an_offer()])
    with pytest.raises(OSError, match="unable to open"):
        write_listing(tmp_path / "none" / "listing.sqlite3", listing.columns, (), "v1")


def test_a_hash_is_noted_for_its_own_state_only(tmp_path: Path) -> None:
    path = tmp_path / "listing.sqlite3"
    written(path, listing_of([an_offer()]))
    note_snapshot(path, "v2", "other")
    note_snapshot(path, "v1", "mine")
    found = read_listing(path, "v1")
    assert found is not None
    assert found.snapshot == "mine"


def test_a_store_that_changes_has_another_version(new_bare_place: Callable[[], Place]) -> None:
    place = new_bare_place()
    assert store_version(place) is None
    catalog = open_catalog(place)
    seen = [store_version(place)]
    for hours, usd in ((1, "2.00"), (2, "2.10")):
        catalog.replace(a_reading(an_offer(usd, seen_at=after(hours))), GATES, now=after(hours))
        seen.append(store_version(place))
    assert None not in seen
    assert len(set(seen)) == 3
    catalog.snapshot()  # writes to the database, and changes nothing that stands
    assert store_version(place) == seen[-1]


def test_a_file_that_is_no_store_has_no_version(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (id INTEGER)")
    connection.close()
    assert store_version(path) is None
