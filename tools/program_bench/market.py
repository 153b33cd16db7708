"""The offers of an instance, as the program takes them.

What the program has no rule for yet, and how it is told instead:

- A spot price is one figure: base × mean of its profile over the horizon × (1 + irate × 0.5 h), as
  an interruption costs half an hour of what is bought.
- The quota of an offer is the stock of its machine, which all its price kinds share.
- Terms of 730, 8760 and 26280 hours are commitments of 1, 12 and 36 months. Those of a week are
  left out, or where it is wished capacity blocks, which begin on any day and are paid in advance.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
from plain_offers import plain_hardware, plain_offer
from program_bench.instance import Instance
from program_bench.tables import SKUS

from broker.domain.offer import (
    Block,
    Commitment,
    Evidence,
    Fabric,
    Hardware,
    Limits,
    Link,
    Offer,
    Payment,
    Place,
    PriceKind,
    Provenance,
)
from broker.domain.quantities import HOURS_PER_MONTH, quantize_usd

START = datetime(2026, 11, 30, tzinfo=UTC)
"""A Monday."""
RESTART_H = 0.5

_CONTINENTS = ("us", "us", "eu", "ap", "sa", "oc")
_PROVENANCE = Provenance(
    source="a generated instance", observed_at=START, evidence=Evidence.COMPOSED
)


def usd(amount: float) -> Decimal:
    """Make money of a figure of an instance."""
    return quantize_usd(Decimal(repr(float(amount))))


def has_term(term_h: int) -> bool:
    """Say whether a term is a commitment; a week would be a capacity block."""
    return term_h >= HOURS_PER_MONTH


class Market:
    """The offers of an instance, the machine of each of its rows, and its hardware."""

    def __init__(self, inst: Instance, *, sells_blocks: bool = False) -> None:
        self._inst = inst
        self._hardware = {
            (sku, gpus): _hardware(sku, gpus)
            for sku, gpus in set(zip(inst.sku.tolist(), inst.gpus.tolist(), strict=True))
        }
        self._places = [
            Place(region=f"r{number}", continent=_CONTINENTS[continent])
            for number, continent in enumerate(inst.region_continent.tolist())
        ]
        firm = [
            self._offer(row, PriceKind.ON_DEMAND, usd(inst.od[row]))
            for row in range(inst.offer_count)
        ]
        self.machines = tuple(offer.machine for offer in firm)
        self.by_machine = dict(zip(self.machines, firm, strict=True))
        every = [*firm, *self._spot(), *self._committed()]
        every += self._blocks() if sells_blocks else ()
        self.offers = tuple(sorted(every, key=lambda one: one.key))

    def hardware(self, row: int) -> Hardware:
        """Give the node of an offer."""
        return self._hardware[int(self._inst.sku[row]), int(self._inst.gpus[row])]

    def _spot(self) -> Iterator[Offer]:
        inst = self._inst
        mean = inst.spot_profile.mean(axis=1)[inst.spot_group]
        price = inst.sp * mean * (1 + inst.irate * RESTART_H)
        for row in np.flatnonzero(np.isfinite(price)).tolist():
            yield self._offer(row, PriceKind.SPOT, usd(price[row]))

    def _committed(self) -> Iterator[Offer]:
        inst = self._inst
        for number, term_h in enumerate(inst.plan_term.tolist()):
            if has_term(term_h):
                hourly = usd(inst.plan_hourly[number])
                upfront = usd(inst.plan_upfront[number])
                commitment = Commitment.model_construct(
                    term_months=term_h // int(HOURS_PER_MONTH),
                    payment=_payment(hourly, upfront),
                    upfront_usd=upfront,
                )
                yield self._offer(
                    int(inst.plan_offer[number]), PriceKind.RESERVED, hourly, commitment
                )

    def _blocks(self) -> Iterator[Offer]:
        inst = self._inst
        for number, term_h in enumerate(inst.plan_term.tolist()):
            if not has_term(term_h):
                yield self._offer(
                    int(inst.plan_offer[number]),
                    PriceKind.CAPACITY_BLOCK,
                    usd(inst.plan_hourly[number]),
                    block=Block.model_construct(starts_at=None, lengths_h=(term_h,)),
                )

    def _offer(
        self,
        row: int,
        kind: PriceKind,
        hourly: Decimal,
        commitment: Commitment | None = None,
        *,
        block: Block | None = None,
    ) -> Offer:
        """Make an offer without its checks, which take most of the time; a test does them."""
        inst = self._inst
        gpus = int(inst.gpus[row])
        return plain_offer(
            hourly,
            self.hardware(row),
            self._places[inst.region[row]],
            _PROVENANCE,
            provider=f"p{inst.provider[row]}",
            instance_type=f"{gpus}x{SKUS[inst.sku[row]].name}-{row}",
            kind=kind,
            quoted_usd=hourly or (commitment.upfront_usd if commitment else hourly),
            is_checked=False,
            commitment=commitment,
            block=block,
            limits=Limits.model_construct(stock_nodes=int(inst.quota[row])),
        )


def _hardware(number: int, gpus: int) -> Hardware:
    sku = SKUS[number]
    return plain_hardware(
        sku.name,
        gpus,
        float(sku.memory_gb),
        link=Link.NVSWITCH if sku.net else Link.PCIE,
        fabric=Fabric.INFINIBAND if sku.net else Fabric.ETHERNET,
    )


def _payment(hourly: Decimal, upfront: Decimal) -> Payment:
    if not upfront:
        return Payment.NO_UPFRONT
    return Payment.PARTIAL_UPFRONT if hourly else Payment.ALL_UPFRONT
