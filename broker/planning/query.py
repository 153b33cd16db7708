"""A question to the catalog: which offers, in which order, and what they cost per unit."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from broker.catalog.bands import usd_per_gpu_hour
from broker.catalog.gates import Quarantined
from broker.domain.gpu import GpuModel
from broker.domain.offer import Offer
from broker.domain.quantities import quantize_usd
from broker.reports.rows import MachineRow, OfferRow, PriceRow

_GB_PER_TB = 1000
_TFLOPS_PER_PFLOPS = 1000
_S_PER_H = 3600
_LAST = Decimal("Infinity")


class Sort(StrEnum):
    """What offers are ordered by, cheapest first; one without the figure comes last."""

    PRICE = "price"
    PER_GPU = "price-per-gpu"
    PER_GB = "price-per-gb"
    PER_TB_S = "price-per-tb-s"
    PER_PFLOP_S = "price-per-pflop-s"


_FIGURES: Mapping[Sort, Callable[[OfferRow], Decimal | None]] = {
    Sort.PRICE: lambda row: row.price.effective_usd_per_hour,
    Sort.PER_GPU: lambda row: row.price.usd_per_gpu_hour,
    Sort.PER_GB: lambda row: row.price.usd_per_gib_hour,
    Sort.PER_TB_S: lambda row: row.price.usd_per_tb_per_s_hour,
    Sort.PER_PFLOP_S: lambda row: row.price.usd_per_pflop_per_s_hour,
}


@dataclass(frozen=True, slots=True)
class OfferQuery:
    """Which offers to list; an empty field allows all. Texts are compared without case.

    `gpus` are canonical names. `regions` match a region or a zone. `min_memory_gib` is of one
    GPU; `max_usd_per_gpu_hour` spreads upfront parts over the term.
    """

    gpus: frozenset[str] = frozenset()
    providers: frozenset[str] = frozenset()
    regions: frozenset[str] = frozenset()
    countries: frozenset[str] = frozenset()
    continents: frozenset[str] = frozenset()
    price_kinds: frozenset[str] = frozenset()
    min_gpus: float = 0
    min_memory_gib: float = 0
    max_usd_per_gpu_hour: Decimal | None = None

    def matches(self, offer: Offer) -> bool:
        """Tell whether an offer is asked for."""
        hardware = offer.hardware
        return all(
            (
                _allows(self.gpus, hardware.shape.gpu),
                _allows(self.providers, offer.provider),
                _allows(self.regions, offer.place.region, offer.place.zone),
                _allows(self.countries, offer.place.country),
                _allows(self.continents, offer.place.continent),
                _allows(self.price_kinds, offer.price_kind),
                hardware.shape.gpu_count >= self.min_gpus,
                hardware.gpu_memory_gib >= self.min_memory_gib,
                self._affordable(offer),
            )
        )

    def _affordable(self, offer: Offer) -> bool:
        limit = self.max_usd_per_gpu_hour
        return limit is None or usd_per_gpu_hour(offer) <= limit


def offer_rows(
    offers: Iterable[Offer | Quarantined],
    query: OfferQuery,
    *,
    gpus: Mapping[str, GpuModel],
    now: datetime,
    sort: Sort = Sort.PER_GPU,
) -> tuple[OfferRow, ...]:
    """List what a query asks for, cheapest first; equals by node price, then by key."""
    rows = []
    for entry in offers:
        held = entry if isinstance(entry, Quarantined) else None
        offer = entry.offer if isinstance(entry, Quarantined) else entry
        if query.matches(offer):
            rows.append(_row(offer, gpus.get(offer.hardware.shape.gpu), now=now, held=held))
    figure = _FIGURES[sort]
    return tuple(
        sorted(
            rows,
            key=lambda row: (
                _LAST if (value := figure(row)) is None else value,
                row.price.effective_usd_per_hour,
                row.key,
            ),
        )
    )


def _allows(wanted: frozenset[str], *values: str | None) -> bool:
    if not wanted:
        return True
    lowered = {one.lower() for one in wanted}
    return any(value is not None and value.lower() in lowered for value in values)


def _row(
    offer: Offer, gpu: GpuModel | None, *, now: datetime, held: Quarantined | None
) -> OfferRow:
    machine = _machine(offer)
    seen = offer.provenance
    return OfferRow(
        key=offer.key,
        machine=machine,
        price=_price(offer, gpu, memory_gib=machine.memory_gib),
        evidence=seen.evidence,
        observed_at=seen.observed_at,
        age_h=round((now - seen.observed_at).total_seconds() / _S_PER_H, 1),
        valid_until=seen.valid_until,
        source=seen.source,
        held=held.reason if held else "",
        held_detail=held.detail if held else "",
    )


def _machine(offer: Offer) -> MachineRow:
    place, hardware, shape = offer.place, offer.hardware, offer.hardware.shape
    return MachineRow(
        provider=offer.provider,
        instance_type=offer.instance_type,
        region=place.region,
        zone=place.zone,
        country=place.country,
        continent=place.continent,
        tier=offer.tier,
        gpu=shape.gpu,
        gpu_count=shape.gpu_count,
        gpu_memory_gib=hardware.gpu_memory_gib,
        # The memory of a slice is that of the slice already.
        memory_gib=hardware.gpu_memory_gib * max(1.0, float(shape.gpu_count)),
        vcpus=hardware.vcpus,
        host_memory_gib=hardware.host_memory_gib,
        local_disk_gb=hardware.local_disk_gb,
        virtualization=hardware.virtualization,
        link=shape.link,
        fabric=shape.fabric,
        fabric_gbit_per_s=shape.fabric_gbit_per_s,
        stock_nodes=offer.limits.stock_nodes,
    )


def _price(offer: Offer, gpu: GpuModel | None, *, memory_gib: float) -> PriceRow:
    price, commitment = offer.effective_usd_per_hour, offer.commitment
    pflop_per_s = gpu.bf16_tflops / _TFLOPS_PER_PFLOPS if gpu and gpu.bf16_tflops else None
    return PriceRow(
        price_kind=offer.price_kind,
        term_months=commitment.term_months if commitment else None,
        payment=commitment.payment if commitment else None,
        notice_s=offer.spot.notice_s if offer.spot else None,
        usd_per_hour=offer.usd_per_hour,
        upfront_usd=commitment.upfront_usd if commitment else None,
        effective_usd_per_hour=price,
        usd_per_gpu_hour=quantize_usd(usd_per_gpu_hour(offer)),
        usd_per_gib_hour=quantize_usd(price / Decimal(str(memory_gib))),
        usd_per_tb_per_s_hour=_per(offer, gpu.memory_gb_per_s / _GB_PER_TB if gpu else None),
        usd_per_pflop_per_s_hour=_per(offer, pflop_per_s),
    )


def _per(offer: Offer, units_of_a_gpu: float | None) -> Decimal | None:
    """Price a unit by the whole GPU: a slice has as much of the price as of the unit."""
    if not units_of_a_gpu:
        return None
    return quantize_usd(usd_per_gpu_hour(offer) / Decimal(str(units_of_a_gpu)))
