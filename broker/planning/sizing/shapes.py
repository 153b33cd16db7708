"""Offers by what sizing sees of them: each shape once, with the cheapest offers of it."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from broker.domain.errors import ConfigurationError
from broker.domain.offer import Offer, PriceKind, Shape
from broker.domain.policy import AllowDeny, CommitmentPolicy, Policy
from broker.planning.catalog_view import CatalogView
from broker.planning.filters import Freshness, why_not
from broker.planning.gpu_filter import matching_gpus
from broker.planning.known import KnownTables
from broker.planning.sizing.asked import Among

_LONGEST_TERM_MONTHS = 60


@dataclass(frozen=True, slots=True)
class Sold:
    """A shape and the offers that sell it, the cheapest per GPU first."""

    shape: Shape
    offers: tuple[Offer, ...]

    def cheapest(self, *kinds: PriceKind, nodes: int = 1) -> Offer | None:
        """Give the cheapest offer of these kinds that may have so many nodes in a cluster."""
        for offer in self.offers:
            most = offer.hardware.max_cluster_nodes
            if offer.price_kind in kinds and (most is None or nodes <= most):
                return offer
        return None


def usd_per_gpu_hour(offer: Offer) -> Decimal:
    """Give what one GPU of an offer costs an hour, an upfront part spread over the term."""
    count = offer.hardware.shape.gpu_count
    return offer.effective_usd_per_hour * count.denominator / count.numerator


def shapes_sold(
    view: CatalogView, among: Among, freshness: Freshness, *, kinds: Iterable[PriceKind]
) -> tuple[Sold, ...]:
    """Gather the offers that a plan could use and that are asked for, by shape.

    Raises:
        ConfigurationError: a GPU is called by no known name, or no offer is left.
    """
    wanted = {gpu for word in among.gpus for gpu in matching_gpus(word, KnownTables())}
    policy = Policy(
        providers=AllowDeny(allow=among.providers),
        regions=AllowDeny(allow=among.regions),
        commitments=CommitmentPolicy(max_term_months=_LONGEST_TERM_MONTHS),
    )
    kept = frozenset(kinds)
    found: dict[Shape, list[Offer]] = defaultdict(list)
    for offer in view.offers:
        shape = offer.hardware.shape
        is_asked = offer.price_kind in kept and (not wanted or shape.gpu in wanted)
        if is_asked and why_not(offer, policy, freshness) is None:
            found[shape].append(offer)
    if not found:
        raise ConfigurationError(
            "no offer is left to size for",
            hint="leave out a filter, or see what there is: gpubroker offers",
        )
    return tuple(
        Sold(shape, tuple(sorted(offers, key=lambda one: (usd_per_gpu_hour(one), one.key))))
        for shape, offers in found.items()
    )
