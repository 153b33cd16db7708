"""Clusters that train a model, cheapest first: days and total cost, on demand and on spot."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal

from broker.domain.candidate import Refusal, TrainingCandidate
from broker.domain.gpu import GpuModel
from broker.domain.llm import LlmModel
from broker.domain.offer import Offer, PriceKind, SpotTerms
from broker.domain.quantities import quantize_usd
from broker.planning.sized import Sizer
from broker.planning.sizing.asked import TrainAsked
from broker.planning.sizing.shapes import Sold
from broker.planning.sizing.ties import ranks
from broker.planning.sizing.unfit import Refused
from broker.reports.size_view import HoursRow, TrainRow, TrustRow

_S_PER_H = 3600
_S_PER_DAY = 86400
_FIRM = tuple(kind for kind in PriceKind if kind is not PriceKind.SPOT)


@dataclass(frozen=True, slots=True)
class Way:
    """A run on nodes of one offer: seconds from the first start to the end, and dollars."""

    candidate: TrainingCandidate
    offer: Offer
    seconds: float
    cost_usd: Decimal

    @property
    def days(self) -> float:
        """Give the days that it takes."""
        return self.seconds / _S_PER_DAY


@dataclass(frozen=True, slots=True)
class Trained:
    """One number of GPUs of one model that does the run: on demand, on spot, or both."""

    gpu: GpuModel
    firm: Way | None
    spot: Way | None

    @property
    def best(self) -> Way:
        """Give the cheaper way.

        Raises:
            ValueError: there is none.
        """
        return min((one for one in (self.firm, self.spot) if one), key=lambda way: way.cost_usd)

    @property
    def usd(self) -> Decimal:
        """Give the cost of the cheaper way."""
        return self.best.cost_usd

    @property
    def kind(self) -> tuple[str, bool]:
        """Give the vendor; a tie across vendors is wider."""
        return self.gpu.vendor, False


def trained(
    asked: TrainAsked, sold: Iterable[Sold], sizer: Sizer, model: LlmModel
) -> tuple[list[Trained], list[Refused]]:
    """Size the run on every shape and number of GPUs, at the offers that are cheapest for it.

    What takes longer than the deadline is refused, with its days. Of each GPU model and number of
    GPUs the cheapest way stays, and of these the cheapest number unless every one is asked for.
    """
    best: dict[tuple[str, int], Trained] = {}
    refused: list[Refused] = []
    for one in sold:
        firm, bad = _ways(asked, one, sizer, model, spot=None)
        refused += bad
        spot, bad = _spot_ways(asked, one, sizer, model)
        refused += bad
        gpu = sizer.specs.gpu(one.shape.gpu)
        for gpus in sorted({*firm, *spot}):
            found = Trained(gpu, firm.get(gpus), spot.get(gpus))
            key = (gpu.name, gpus)
            best[key] = _cheaper(best.get(key), found)
    in_order = sorted(best.values(), key=lambda each: (each.usd, each.gpu.name))
    return (in_order if asked.every_size else _first_of_each(in_order)), refused


def _first_of_each(in_order: Iterable[Trained]) -> list[Trained]:
    first: dict[str, Trained] = {}
    for one in in_order:
        first.setdefault(one.gpu.name, one)
    return list(first.values())


def train_rows(found: Iterable[Trained], asked: TrainAsked) -> tuple[TrainRow, ...]:
    """Make the rows of clusters that are in order, ranked."""
    in_order = list(found)
    return tuple(
        replace(_row(one, asked), rank=rank, tied=tied)
        for one, (rank, tied) in zip(in_order, ranks(in_order), strict=True)
    )


def _cheaper(known: Trained | None, found: Trained) -> Trained:
    """Join the cheapest ways of one number of GPUs over shapes that differ in link or fabric."""
    if known is None:
        return found
    return Trained(
        found.gpu, _cheaper_way(known.firm, found.firm), _cheaper_way(known.spot, found.spot)
    )


def _cheaper_way(one: Way | None, other: Way | None) -> Way | None:
    return min((way for way in (one, other) if way), key=lambda way: way.cost_usd, default=None)


def _spot_ways(
    asked: TrainAsked, sold: Sold, sizer: Sizer, model: LlmModel
) -> tuple[dict[int, Way], list[Refused]]:
    offer = sold.cheapest(PriceKind.SPOT)
    if offer is None:
        return {}, []
    return _ways(asked, sold, sizer, model, spot=offer.spot or SpotTerms())


def _ways(
    asked: TrainAsked, sold: Sold, sizer: Sizer, model: LlmModel, *, spot: SpotTerms | None
) -> tuple[dict[int, Way], list[Refused]]:
    kinds = _FIRM if spot is None else (PriceKind.SPOT,)
    if sold.cheapest(*kinds) is None:
        return {}, []
    candidates, refusals = sizer.training_of(asked.run, sold.shape, model, spot=spot)
    ways: dict[int, Way] = {}
    refused = [Refused(sold.shape, one) for one in refusals]
    for candidate in candidates:
        offer = sold.cheapest(*kinds, nodes=candidate.nodes)
        gpus = candidate.nodes * int(sold.shape.gpu_count)
        if offer is None:
            continue
        way = _way(asked, candidate, offer)
        if asked.deadline is not None and way.seconds > asked.deadline.total_seconds():
            refused.append(Refused(sold.shape, _late(way, asked.deadline, sold, gpus)))
        else:
            ways[gpus] = way
    return ways, refused


def _way(asked: TrainAsked, candidate: TrainingCandidate, offer: Offer) -> Way:
    seconds = candidate.startup_s + asked.tokens / candidate.tokens_per_s
    hours = Decimal(str(seconds)) / _S_PER_H
    usd = quantize_usd(offer.effective_usd_per_hour * candidate.nodes * hours)
    return Way(candidate, offer, seconds, usd)


def _late(way: Way, deadline: timedelta, sold: Sold, gpus: int) -> Refusal:
    shape = sold.shape
    kind = " on spot" if way.candidate.on_spot else ""
    limit = deadline.total_seconds() / _S_PER_DAY
    return Refusal(
        workload=way.candidate.run,
        subject=f"{shape.gpu}x{shape.gpu_count}/{shape.fabric}/{gpus} GPUs",
        reason="deadline_missed",
        detail=f"{gpus} GPUs take {way.days:.1f} d{kind} > {limit:g} d",
    )


def _row(one: Trained, asked: TrainAsked) -> TrainRow:
    best = one.firm or one.best
    candidate = best.candidate
    return TrainRow(
        rank=0,
        tied=False,
        model=asked.model,
        gpu=one.gpu.name,
        gpus=candidate.nodes * int(candidate.shape.gpu_count),
        nodes=candidate.nodes,
        precision=asked.precision.value,
        layout=str(candidate.layout),
        used_gib=round(candidate.memory.used_gib, 1),
        memory_gib=round(candidate.memory.available_gib, 1),
        tokens_per_s=candidate.tokens_per_s,
        mfu=candidate.mfu,
        days=best.days,
        usd_total=one.firm.cost_usd if one.firm else None,
        offer=one.firm.offer.key if one.firm else "",
        spot_days=one.spot.days if one.spot else None,
        spot_usd_total=one.spot.cost_usd if one.spot else None,
        spot_offer=one.spot.offer.key if one.spot else "",
        hours=_hours(candidate, one.spot),
        trust=TrustRow(
            candidate.label.value,
            round(candidate.band.low_factor, 3),
            round(candidate.band.high_factor, 3),
            candidate.assumptions,
        ),
    )


def _hours(candidate: TrainingCandidate, spot: Way | None) -> HoursRow:
    hours = candidate.hours
    makespan = spot.candidate.hours.makespan_h if spot and spot.candidate.hours else None
    return HoursRow(
        steps_h=hours.steps_h if hours else None,
        evaluation_h=hours.evaluation_h if hours else None,
        checkpoints_h=hours.checkpoints_h if hours else None,
        losses_h=hours.losses_h if hours else None,
        initialisation_h=hours.initialisation_h if hours else None,
        spot_makespan_low_h=makespan[0] if makespan else None,
        spot_makespan_high_h=makespan[1] if makespan else None,
    )
