"""From an offer to the row that is shown of it: every field, and what a unit costs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from broker.catalog.bands import usd_per_gpu_hour
from broker.catalog.gates import Quarantined
from broker.catalog.listing import Entry, node_memory_gib
from broker.domain.gpu import GpuModel
from broker.domain.offer import Offer
from broker.domain.quantities import quantize_usd
from broker.planning.freshness import Freshness, is_stale
from broker.planning.query import Compute, pflop_per_s, tb_per_s
from broker.reports.rows import MachineRow, OfferRow, PlaceRow, PriceRow, SeenRow, TermsRow

_S_PER_H = 3600


@dataclass(frozen=True, slots=True)
class Beside:
    """What a row says that the offer does not: data sheets, the format of compute, ages."""

    gpus: Mapping[str, GpuModel]
    compute: Compute
    freshness: Freshness


def offer_rows(entries: Iterable[Entry], beside: Beside) -> tuple[OfferRow, ...]:
    """Make the row of each offer, in their order."""
    return tuple(_row(entry, beside) for entry in entries)


def _row(entry: Entry, beside: Beside) -> OfferRow:
    offer = entry.offer if isinstance(entry, Quarantined) else entry
    gpu = beside.gpus.get(offer.hardware.shape.gpu)
    rate = pflop_per_s(gpu, beside.compute) if gpu else None
    return OfferRow(
        key=offer.key,
        place=_place(offer),
        machine=_machine(offer, gpu, compute=beside.compute, rate=rate),
        price=_price(offer, gpu, rate=rate),
        terms=_terms(offer),
        seen=_seen(offer, entry if isinstance(entry, Quarantined) else None, beside.freshness),
    )


def _place(offer: Offer) -> PlaceRow:
    place = offer.place
    return PlaceRow(
        provider=offer.provider,
        operator=offer.operator,
        instance_type=offer.instance_type,
        tier=offer.tier,
        region=place.region,
        zone=place.zone,
        country=place.country,
        continent=place.continent,
        latitude_deg=place.latitude_deg,
        longitude_deg=place.longitude_deg,
        partition=place.partition,
        certifications=offer.certifications,
    )


def _machine(
    offer: Offer, gpu: GpuModel | None, *, compute: Compute, rate: float | None
) -> MachineRow:
    hardware, shape = offer.hardware, offer.hardware.shape
    return MachineRow(
        gpu=shape.gpu,
        gpu_form=gpu.form if gpu else None,
        gpu_count=shape.gpu_count,
        gpu_memory_gib=hardware.gpu_memory_gib,
        memory_gib=node_memory_gib(offer),
        gpu_memory_gb_per_s=gpu.memory_gb_per_s if gpu else None,
        compute=compute,
        pflop_per_s=rate,
        stack=hardware.stack,
        link=shape.link,
        link_gb_per_s=shape.link_gb_per_s,
        link_domain_gpus=shape.link_domain_gpus,
        fabric=shape.fabric,
        fabric_gbit_per_s=shape.fabric_gbit_per_s,
        max_cluster_nodes=hardware.max_cluster_nodes,
        virtualization=hardware.virtualization,
        vcpus=hardware.vcpus,
        host_memory_gib=hardware.host_memory_gib,
        local_disk_gb=hardware.local_disk_gb,
        cpu_architecture=hardware.cpu_architecture,
    )


def _price(offer: Offer, gpu: GpuModel | None, *, rate: float | None) -> PriceRow:
    price, parts, quote = offer.effective_usd_per_hour, offer.components, offer.quote
    return PriceRow(
        price_kind=offer.price_kind,
        usd_per_hour=offer.usd_per_hour,
        upfront_usd=offer.commitment.upfront_usd if offer.commitment else None,
        effective_usd_per_hour=price,
        usd_per_gpu_hour=quantize_usd(usd_per_gpu_hour(offer)),
        usd_per_gib_hour=quantize_usd(price / Decimal(str(node_memory_gib(offer)))),
        usd_per_tb_per_s_hour=_per(offer, tb_per_s(gpu) if gpu else None),
        usd_per_pflop_per_s_hour=_per(offer, rate),
        gpus_usd_per_hour=parts.gpus_usd if parts else None,
        host_usd_per_hour=parts.host_usd if parts else None,
        disk_usd_per_hour=parts.disk_usd if parts else None,
        quote_amount=quote.amount,
        quote_currency=quote.currency,
        usd_per_quote_unit=quote.usd_per_unit,
        converted_on=quote.converted_on,
    )


def _terms(offer: Offer) -> TermsRow:
    commitment, block, billing, limits = offer.commitment, offer.block, offer.billing, offer.limits
    least, most = (offer.spot and offer.spot.monthly_interruption) or (None, None)
    return TermsRow(
        term_months=commitment.term_months if commitment else None,
        payment=commitment.payment if commitment else None,
        commitment_scope=commitment.scope if commitment else "",
        block_starts_at=block.starts_at if block else None,
        block_lengths_h=block.lengths_h if block else (),
        block_book_ahead_days=block.book_ahead_days if block else None,
        minimum_h=billing.minimum_h,
        billing_step_s=billing.step_s,
        prepaid=billing.prepaid,
        notice_s=offer.spot.notice_s if offer.spot else None,
        min_interruption_share=least,
        max_interruption_share=most,
        min_nodes=limits.min_nodes,
        max_nodes=limits.max_nodes,
        stock_nodes=limits.stock_nodes,
        stock_gpus=limits.stock_gpus,
        stock_level=limits.stock_level,
        stock_pool=limits.stock_pool,
        until=limits.until,
    )


def _seen(offer: Offer, held: Quarantined | None, freshness: Freshness) -> SeenRow:
    seen = offer.provenance
    return SeenRow(
        evidence=seen.evidence,
        observed_at=seen.observed_at,
        age_h=round((freshness.as_of - seen.observed_at).total_seconds() / _S_PER_H, 1),
        effective_at=seen.effective_at,
        valid_until=seen.valid_until,
        stale=is_stale(offer, freshness),
        undated=seen.undated,
        source=seen.source,
        warnings=offer.warnings,
        held=held.reason if held else "",
        held_detail=held.detail if held else "",
    )


def _per(offer: Offer, units_of_a_gpu: float | None) -> Decimal | None:
    """Price a unit by the whole GPU: a slice has as much of the price as of the unit."""
    if not units_of_a_gpu:
        return None
    return quantize_usd(usd_per_gpu_hour(offer) / Decimal(str(units_of_a_gpu)))
