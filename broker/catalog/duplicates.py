"""Two rows with one key: which one counts."""

from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal

from broker.catalog.bands import usd_per_gpu_hour
from broker.catalog.snapshot import canonical
from broker.domain.offer import Hardware, Offer, Shape


def split_duplicates(
    offers: Iterable[Offer],
) -> tuple[tuple[Offer, ...], tuple[tuple[Offer, Offer], ...]]:
    """Keep one offer of each key, in the order of keys; pair each other one with the kept one.

    The latest day wins, then the dearest node, then the dearest GPU, so that a plan never promises
    less than is asked nor more than is sold; then the row that tells more useful hardware. A row
    that asks the same price for the same GPUs as the kept one is no clash and is dropped.
    """
    by_key: dict[str, list[Offer]] = defaultdict(list)
    for offer in offers:
        by_key[offer.key].append(offer)
    kept = []
    clashes = []
    for _, rows in sorted(by_key.items()):
        winner = max(rows, key=_rank) if len(rows) > 1 else rows[0]
        kept.append(winner)
        clashes += [(row, winner) for row in rows if _deal(row) != _deal(winner)]
    return tuple(kept), tuple(clashes)


def _deal(offer: Offer) -> tuple[Decimal, Decimal, Shape]:
    """Give what is paid for what: the price of a node, its upfront part, and its GPUs."""
    upfront = offer.commitment.upfront_usd if offer.commitment else Decimal(0)
    return offer.effective_usd_per_hour, upfront, offer.hardware.shape


def _rank(offer: Offer) -> tuple[str, Decimal, Decimal, tuple[float, ...], str]:
    day = f"{offer.provenance.observed_at:%Y-%m-%d}"
    price = offer.effective_usd_per_hour
    return day, price, usd_per_gpu_hour(offer), _usefulness(offer.hardware), canonical(offer)


def _usefulness(hardware: Hardware) -> tuple[float, ...]:
    """Order nodes with as many GPUs by what they give them: memory, links, fabric, host."""
    shape = hardware.shape
    known = (shape.link_gb_per_s, shape.fabric_gbit_per_s, hardware.vcpus, hardware.host_memory_gib)
    return (
        hardware.gpu_memory_gib,
        *(value or 0.0 for value in known),
        hardware.local_disk_gb or 0,
    )
