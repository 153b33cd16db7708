"""Two rows with one key: the rule is the same in whatever order they come."""

from itertools import permutations

from price_lists import after, an_offer, reserved

from broker.catalog.duplicates import split_duplicates
from broker.domain.offer import Offer


def kept(*rows: Offer) -> tuple[Offer, int]:
    """Give the row that is kept, and how many clash with it; the same in every order."""
    results = {
        (offers[0].model_dump_json(), len(clashes))
        for offers, clashes in (split_duplicates(some) for some in permutations(rows))
    }
    ((text, clashes),) = results
    return Offer.model_validate_json(text), clashes


def with_host(offer: Offer, **facts: float) -> Offer:
    return offer.model_copy(update={"hardware": offer.hardware.model_copy(update=facts)})


def test_the_row_of_the_latest_day_wins() -> None:
    old, new = an_offer("3.00"), an_offer("2.00", seen_at=after(48))
    assert kept(old, new) == (new, 1)


def test_the_dearest_node_wins_among_rows_of_one_day() -> None:
    cheap, dear = an_offer("2.00"), an_offer("2.50", seen_at=after(-3))
    assert kept(cheap, dear) == (dear, 1)


def test_the_dearest_gpu_wins_among_nodes_at_one_price() -> None:
    """A plan must not count on eight GPUs where there may be four."""
    four, eight = an_offer("16.00", gpus=4), an_offer("16.00", gpus=8)
    assert kept(four, eight) == (four, 1)


def test_the_more_useful_machine_wins_among_equal_deals_and_that_is_no_clash() -> None:
    bare, known = an_offer(), with_host(an_offer(), vcpus=26.0, host_memory_gib=200.0)
    larger = with_host(an_offer(), vcpus=52.0, host_memory_gib=100.0)
    assert kept(bare, known, larger) == (larger, 0)


def test_an_upfront_part_that_differs_at_one_hourly_cost_is_a_clash() -> None:
    # 8,760 dollars over 12 months of 730 hours are one dollar an hour.
    upfront, hourly = reserved("1.00", upfront="8760"), reserved("2.00", upfront="0")
    assert kept(upfront, hourly)[1] == 1


def test_rows_that_say_the_same_are_one() -> None:
    assert kept(an_offer(), an_offer(), an_offer()) == (an_offer(), 0)
