"""Rows of one reply that describe the same thing: only the cheapest of them can be chosen."""

from collections.abc import Iterable, Iterator

from broker.domain.offer import Offer, Rejection


def cheapest(found: Iterable[Offer | Rejection]) -> Iterator[Offer | Rejection]:
    """Keep the cheapest offer of each key, in the order of first sight; the dearer are rejected."""
    best: dict[str, Offer] = {}
    for one in found:
        if isinstance(one, Rejection):
            yield one
        elif one.key in best:
            cheap, dear = sorted(
                (best[one.key], one), key=lambda offer: offer.effective_usd_per_hour
            )
            best[one.key] = cheap
            yield Rejection(
                provider=dear.provider,
                subject=dear.instance_type,
                reason="duplicate_offer",
                detail=f"{dear.usd_per_hour} an hour, the same for {cheap.usd_per_hour}",
            )
        else:
            best[one.key] = one
    yield from best.values()
