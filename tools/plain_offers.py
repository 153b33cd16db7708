"""Making offers in dollars with no more than they need, for generated instances and for tests."""

from decimal import Decimal
from fractions import Fraction

from broker.domain.gpu import Stack
from broker.domain.offer import (
    Block,
    Commitment,
    Fabric,
    Hardware,
    Limits,
    Link,
    Offer,
    Place,
    PriceKind,
    Provenance,
    Quote,
    Shape,
)


def plain_hardware(
    gpu: str,
    gpus: Fraction | int,
    memory_gib: float,
    *,
    link: Link = Link.UNKNOWN,
    fabric: Fabric = Fabric.UNKNOWN,
    link_gb_per_s: float | None = None,
    link_domain_gpus: int | None = None,
    fabric_gbit_per_s: float | None = None,
) -> Hardware:
    """Make a node of one GPU model; what is not said of its links is unknown."""
    shape = Shape(
        gpu=gpu,
        gpu_count=Fraction(gpus),
        link=link,
        link_gb_per_s=link_gb_per_s,
        link_domain_gpus=link_domain_gpus,
        fabric=fabric,
        fabric_gbit_per_s=fabric_gbit_per_s,
    )
    return Hardware(shape=shape, stack=Stack.CUDA, gpu_memory_gib=memory_gib)


def plain_offer(  # noqa: PLR0913 - what every offer has
    usd_per_hour: Decimal,
    hardware: Hardware,
    place: Place,
    provenance: Provenance,
    *,
    provider: str,
    instance_type: str,
    kind: PriceKind = PriceKind.ON_DEMAND,
    quoted_usd: Decimal | None = None,
    tier: str = "",
    commitment: Commitment | None = None,
    block: Block | None = None,
    limits: Limits | None = None,
    is_checked: bool = True,
) -> Offer:
    """Make an offer; `quoted_usd` is what its source states, where that is not the hourly price.

    Checks take most of the time; whoever leaves them out for many offers tests that they hold.
    """
    quote = Quote if is_checked else Quote.model_construct
    offer = Offer if is_checked else Offer.model_construct
    return offer(
        provider=provider,
        instance_type=instance_type,
        place=place,
        price_kind=kind,
        hardware=hardware,
        usd_per_hour=usd_per_hour,
        quote=quote(amount=usd_per_hour if quoted_usd is None else quoted_usd, currency="USD"),
        provenance=provenance,
        tier=tier,
        commitment=commitment,
        block=block,
        limits=limits or Limits(),
    )
