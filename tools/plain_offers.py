"""Making offers in dollars with no more than they need, for generated instances and for tests."""

from decimal import Decimal
from fractions import Fraction

from broker.domain.gpu import Stack
from broker.domain.offer import (
    Fabric,
    Hardware,
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
    **speeds: float,
) -> Hardware:
    """Make a node of one GPU model; what is not said of its links is unknown."""
    unknown = {"link_gb_per_s": None, "link_domain_gpus": None, "fabric_gbit_per_s": None}
    shape = Shape(
        gpu=gpu, gpu_count=Fraction(gpus), link=link, fabric=fabric, **{**unknown, **speeds}
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
    is_checked: bool = True,
    **more: object,
) -> Offer:
    """Make an offer; `quoted_usd` is what its source states, where that is not the hourly price.

    `more` are other fields. Checks take most of the time; whoever leaves them out for many
    offers tests that they hold.
    """
    quote = {"amount": usd_per_hour if quoted_usd is None else quoted_usd, "currency": "USD"}
    fields: dict[str, object] = {
        "provider": provider,
        "instance_type": instance_type,
        "place": place,
        "price_kind": kind,
        "hardware": hardware,
        "usd_per_hour": usd_per_hour,
        "provenance": provenance,
        **more,
    }
    if is_checked:
        return Offer(quote=Quote(**quote), **fields)
    return Offer.model_construct(quote=Quote.model_construct(**quote), **fields)
