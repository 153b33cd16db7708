"""Replicas that serve a model, cheapest first: each with one real offer to buy it as."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from broker.domain.candidate import ServingCandidate
from broker.domain.gpu import GpuModel
from broker.domain.llm import LlmModel
from broker.domain.offer import Link, Offer, Shape
from broker.domain.quantities import quantize_usd
from broker.planning.sized import Sizer
from broker.planning.sizing.asked import ServeAsked
from broker.planning.sizing.shapes import Sold, usd_per_gpu_hour
from broker.planning.sizing.ties import ranks
from broker.planning.sizing.unfit import Refused
from broker.reports.size_view import ServeRow, TrustRow, WhereRow

_RTT_STEPS_PER_S = 100
_S_PER_H = 3600
_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Served:
    """A replica that works: the candidate, the offer, and what a million output tokens cost."""

    candidate: ServingCandidate
    offer: Offer
    gpu: GpuModel
    usd: Decimal

    @property
    def kind(self) -> tuple[str, bool]:
        """Give the vendor, and whether it is a group over PCIe."""
        on_pcie = self.offer.hardware.shape.link is Link.PCIE and self.candidate.layout.gpus > 1
        return self.gpu.vendor, on_pcie


def served(
    asked: ServeAsked, sold: Iterable[Sold], sizer: Sizer, model: LlmModel
) -> tuple[list[Served], list[Refused]]:
    """Size a replica on every shape, at the offer that is cheapest for it.

    A slice is at the cheapest whose GPUs can be cut. With users, the round trip to each offer's
    place counts, rounded up to 10 ms.

    Raises:
        ConfigurationError: the region of the users is not known.
    """
    found: list[Served] = []
    refused: list[Refused] = []
    for one in sold:
        for rtt_s, offers in _reaches(asked, one, sizer):
            gpu = sizer.specs.gpu(one.shape.gpu)
            for service in asked.services:
                candidates, refusals = sizer.serving_of(service, one.shape, model, rtt_s=rtt_s)
                found += [
                    Served(each, offer, gpu, usd_per_million(each, offer, asked.output_tokens))
                    for each in candidates
                    if (offer := _cheapest_for(each, offers)) is not None
                ]
                refused += [Refused(one.shape, each) for each in refusals]
    return _cheapest(found, every_layout=asked.every_layout), refused


def usd_per_million(candidate: ServingCandidate, offer: Offer, output_tokens: int) -> Decimal:
    """Give the dollars per million output tokens of a node filled with such replicas."""
    return price_of_rate(
        usd_per_gpu_hour(offer) * candidate.gpus.numerator / candidate.gpus.denominator,
        candidate.rates[0].requests_per_s * output_tokens,
    )


def price_of_rate(usd_per_hour: Decimal, tokens_per_s: float) -> Decimal:
    """Give the dollars per million tokens of what costs so much an hour and makes so many."""
    return quantize_usd(usd_per_hour / (Decimal(str(tokens_per_s)) * _S_PER_H) * _MILLION)


def serve_rows(found: Iterable[Served], asked: ServeAsked) -> tuple[ServeRow, ...]:
    """Make the rows of replicas that are in order, ranked."""
    in_order = list(found)
    return tuple(
        replace(_row(one, asked), rank=rank, tied=tied)
        for one, (rank, tied) in zip(in_order, ranks(in_order), strict=True)
    )


def _reaches(
    asked: ServeAsked, sold: Sold, sizer: Sizer
) -> Iterator[tuple[float, Sequence[Offer]]]:
    """Give the offers at each distance from the users, cheapest first; without users all."""
    if asked.users is None:
        yield 0.0, sold.offers
        return
    found: dict[float, list[Offer]] = {}
    for offer in sold.offers:
        rtt_s = sizer.specs.rtt_s(asked.users, offer.place)
        if rtt_s is not None:
            reach = math.ceil(rtt_s * _RTT_STEPS_PER_S) / _RTT_STEPS_PER_S
            found.setdefault(reach, []).append(offer)
    yield from found.items()


def _cheapest_for(candidate: ServingCandidate, offers: Sequence[Offer]) -> Offer | None:
    """Give the cheapest offer for a replica: for a slice, of those that can be cut."""
    able = (one for one in offers if candidate.gpu_slice is None or one.hardware.can_be_cut)
    return next(able, None)


def _cheapest(found: Iterable[Served], *, every_layout: bool) -> list[Served]:
    """Keep the cheapest of each GPU and format, or of each layout of them, in order of price."""
    best: dict[tuple[object, ...], Served] = {}
    for one in sorted(found, key=lambda one: (one.usd, one.offer.key)):
        candidate = one.candidate
        layout = (str(candidate.layout), one.offer.hardware.shape.link) if every_layout else ()
        best.setdefault((candidate.gpu, candidate.precision, *layout), one)
    return list(best.values())


def _row(one: Served, asked: ServeAsked) -> ServeRow:
    candidate, offer = one.candidate, one.offer
    rate = candidate.rates[0]
    tokens = asked.input_tokens + asked.output_tokens
    shape: Shape = offer.hardware.shape
    return ServeRow(
        rank=0,
        tied=False,
        model=candidate.model or asked.model,
        gpu=candidate.gpu,
        gpus=candidate.layout.gpus,
        precision=candidate.precision.value,
        layout=str(candidate.layout),
        used_gib=round(candidate.memory.used_gib, 1),
        memory_gib=round(candidate.memory.available_gib, 1),
        concurrency=round(rate.concurrency, 1),
        requests_per_s=rate.requests_per_s,
        tokens_per_s=rate.requests_per_s * asked.output_tokens,
        ttft_s=rate.ttft_s,
        tpot_s=rate.tpot_s,
        usd_per_million_output_tokens=one.usd,
        usd_per_million_tokens=quantize_usd(one.usd * asked.output_tokens / tokens),
        trust=TrustRow(
            candidate.label.value,
            round(candidate.band.low_factor, 3),
            round(candidate.band.high_factor, 3),
            candidate.assumptions,
        ),
        where=WhereRow(
            offer.key,
            offer.price_kind.value,
            offer.effective_usd_per_hour,
            int(shape.gpu_count),
        ),
    )
