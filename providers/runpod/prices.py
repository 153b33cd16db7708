"""Which of the prices of a GPU type are really asked, and why the others are not."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from broker.domain.offer import PriceKind, Rejection
from providers.runpod.wire import GpuType

NAME = "runpod"


class Tier(StrEnum):
    """RunPod's two clouds: its partners' data centres, and single hosts."""

    SECURE = "secure"
    COMMUNITY = "community"


@dataclass(frozen=True, slots=True)
class Price:
    """A price of one GPU in one cloud; `months` where it is a savings plan."""

    kind: PriceKind
    usd_per_gpu_hour: Decimal
    months: int | None = None


@dataclass(frozen=True, slots=True)
class Sold:
    """A GPU type in one cloud: the canonical model, its prices, the most GPUs in one pod."""

    id: str
    tier: Tier
    gpu: str
    prices: tuple[Price, ...]
    max_count: int | None


def sold(row: GpuType, tier: Tier, gpu: str) -> tuple[Sold, tuple[Rejection, ...]]:
    """Tell what one cloud sells of a GPU type, and what it does not."""
    found = tuple(_prices(row, tier))
    secure = tier is Tier.SECURE
    return (
        Sold(
            id=row.id,
            tier=tier,
            gpu=gpu,
            prices=tuple(one for one in found if isinstance(one, Price)),
            max_count=(
                row.max_gpu_count_secure_cloud if secure else row.max_gpu_count_community_cloud
            ),
        ),
        tuple(one for one in found if isinstance(one, Rejection)),
    )


def rejection(subject: str, reason: str, detail: str) -> Rejection:
    """Name a row of RunPod's that is no offer."""
    return Rejection(provider=NAME, subject=subject, reason=reason, detail=detail)


def _prices(row: GpuType, tier: Tier) -> Iterator[Price | Rejection]:
    secure = tier is Tier.SECURE
    on_demand = row.secure_price if secure else row.community_price
    subject = f"{row.id} {tier}"
    if not (row.secure_cloud if secure else row.community_cloud):
        if on_demand:
            detail = f"{on_demand} stands there, but the {tier} cloud does not sell it"
            yield rejection(subject, "not_sold", detail)
        return
    if not on_demand or on_demand < 0:
        yield rejection(f"{subject} on_demand", "no_price", f"the price is {on_demand}")
    else:
        yield Price(PriceKind.ON_DEMAND, on_demand)
    spot = row.secure_spot_price if secure else row.community_spot_price
    if spot is not None:
        yield _spot(f"{subject} spot", spot, on_demand)
    if secure:
        yield from _plans(row, subject)


def _spot(subject: str, spot: Decimal, on_demand: Decimal | None) -> Price | Rejection:
    if spot <= 0:
        return rejection(subject, "no_price", f"the price is {spot}")
    if on_demand and spot >= on_demand:
        detail = f"{spot} a GPU is not below {on_demand} on demand"
        return rejection(subject, "spot_not_below_on_demand", detail)
    return Price(PriceKind.SPOT, spot)


def _plans(row: GpuType, subject: str) -> Iterator[Price | Rejection]:
    terms = ((1, row.one_month_price), (3, row.three_month_price), (6, row.six_month_price))
    for months, price in terms:
        if price is None:
            continue
        if price <= 0:
            yield rejection(f"{subject} {months} months", "no_price", f"the price is {price}")
        else:
            yield Price(PriceKind.RESERVED, price, months)
