"""Two rows with one key: which one counts."""

from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal

from broker.domain.offer import Offer


def split_duplicates(
    offers: Iterable[Offer],
) -> tuple[tuple[Offer, ...], tuple[tuple[Offer, Offer], ...]]:
    """Keep one offer of each key, in the order of keys; pair each other one with the kept one.

    The latest day wins, then the dearest price, so that a plan never promises less than is asked.
    A row that asks the same price as the kept one is no clash and is dropped.
    """
    by_key: dict[str, list[Offer]] = defaultdict(list)
    for offer in offers:
        by_key[offer.key].append(offer)
    kept = []
    clashes = []
    for _, rows in sorted(by_key.items()):
        winner = max(rows, key=_rank) if len(rows) > 1 else rows[0]
        price = winner.effective_usd_per_hour
        kept.append(winner)
        clashes += [(row, winner) for row in rows if row.effective_usd_per_hour != price]
    return tuple(kept), tuple(clashes)


def _rank(offer: Offer) -> tuple[str, Decimal, str]:
    day = f"{offer.provenance.observed_at:%Y-%m-%d}"
    return day, offer.effective_usd_per_hour, offer.model_dump_json()
