import time

from price_lists import GATES, a_reading, after, an_offer

from broker.catalog.store import open_catalog
from broker.domain.offer import Offer
from broker.store.place import Place

COUNT = 5_000


def many(usd: str, hours: float) -> tuple[Offer, ...]:
    return tuple(
        an_offer(usd, name=f"box{number}", gpus=8, seen_at=after(hours)) for number in range(COUNT)
    )


def test_five_thousand_offers_are_refreshed_in_three_seconds_and_read_in_half_of_that(
    place: Place,
) -> None:
    catalog = open_catalog(place)
    for hours, usd in ((1, "16.00"), (2, "17.00"), (3, "17.00")):
        reading = a_reading(*many(usd, hours))
        started_s = time.process_time()
        outcome = catalog.replace(reading, GATES, now=after(hours))
        assert time.process_time() - started_s < 3
        assert outcome.offers == COUNT
    started_s = time.process_time()
    offers = catalog.current_offers()
    assert time.process_time() - started_s < 1.5
    assert len(offers) == COUNT
