"""What else could do the work of a line, by dollars per unit of work at full use."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from broker.domain.candidate import ServingCandidate
from broker.domain.case import Case
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Plan, ServingAssignment, TrainingAssignment
from broker.domain.pool import PoolClass, Role
from broker.exports.lines import Line

Work = ServingAssignment | TrainingAssignment


@dataclass(frozen=True, slots=True)
class Rivals:
    """Offers that could do a line's work; `cheaper` of them cost less per unit of it."""

    unit: str
    cheaper: tuple[str, ...]
    rivals: int

    @property
    def rank(self) -> int:
        """Give the place of the line's own offer, 1 for the cheapest."""
        return len(self.cheaper) + 1


def main_work(line: Line) -> Work | None:
    """Give the work that takes most of a line's GPUs over time."""
    taken: list[tuple[float, Work]] = []
    for served in line.serving:
        gpus = served.assignment.candidate.gpus
        seconds = sum(
            one.replicas * (one.to_at - one.from_at).total_seconds() for one in served.steps
        )
        taken.append((gpus * seconds, served.assignment))
    for trained in line.training:
        gpus = int(line.offer.hardware.shape.gpu_count)
        seconds = sum(
            one.nodes * (one.to_at - one.from_at).total_seconds() for one in trained.steps
        )
        taken.append((gpus * seconds, trained.assignment))
    return max(taken, key=lambda one: one[0])[1] if taken else None


def rivals_of(line: Line, work: Work, case: Case) -> Rivals:
    """Rank all offers for a line's main work; each by its best candidate."""
    is_service = isinstance(work, ServingAssignment)
    units = _serving_units(work, case) if is_service else _training_units(work, case)
    best: dict[str, Decimal] = {}
    for key, usd in units:
        best[key] = min(usd, best.get(key, usd))
    own = best.get(line.offer.key)
    cheaper = [key for key, usd in best.items() if own is not None and usd < own]
    return Rivals(
        unit="request" if is_service else "run",
        cheaper=tuple(sorted(cheaper, key=lambda key: (best[key], key))),
        rivals=len(best),
    )


def used_up(plan: Plan, case: Case, keys: tuple[str, ...]) -> Iterator[str]:
    """Name those of some offers of which the plan buys all that there are, with their number."""
    offers = {offer.key: offer for offer in case.offers}
    for purchase in plan.purchases:
        most = _most_nodes(offers[purchase.offer]) if purchase.offer in offers else None
        nodes = max((step.nodes for step in purchase.steps), default=0)
        is_full = most is not None and nodes >= most and purchase.savings is None
        if is_full and purchase.id in keys:
            yield f"stock of {purchase.id}: {most} node{'s' * (most != 1)}"


def _most_nodes(offer: Offer) -> int | None:
    limits = [offer.limits.max_nodes, offer.limits.stock_nodes]
    if offer.stock is not None:
        limits.append(int(offer.stock[1] / offer.hardware.shape.gpu_count))
    return min((one for one in limits if one is not None), default=None)


def _serving_units(work: Work, case: Case) -> Iterator[tuple[str, Decimal]]:
    if not isinstance(work, ServingAssignment):
        return
    service = next(one for one in case.workloads.services if one.name == work.service)
    sides = _sides(case)
    for option in case.serving:
        if (option.service, option.user_region) != (work.service, work.user_region):
            continue
        if _pool_of(option.candidate) != _pool_of(work.candidate):
            continue  # a pool only does its part, and only fits to the other pool of its class
        rates = [rate.requests_per_s for rate in option.candidate.rates]
        if not all(rates):
            continue  # it carries some size classes only, so it has no price per request
        seconds = sum(size.share / rate for size, rate in zip(service.sizes, rates, strict=True))
        for offer in sides.get((option.machine, option.on_spot), ()):
            part = option.candidate.gpus / offer.hardware.shape.gpu_count
            nodes_usd = offer.effective_usd_per_hour * part.numerator / part.denominator
            hourly = nodes_usd + option.storage_usd_per_hour
            yield offer.key, hourly * Decimal(repr(seconds)) / 3600


def _pool_of(candidate: ServingCandidate) -> tuple[Role | None, PoolClass | None]:
    return (None if candidate.pool is None else candidate.pool.role, candidate.pool_class)


def _training_units(work: Work, case: Case) -> Iterator[tuple[str, Decimal]]:
    if not isinstance(work, TrainingAssignment):
        return
    run = next(one for one in case.workloads.runs if one.name == work.run)
    sides = _sides(case)
    for option in case.training:
        candidate = option.candidate
        if option.run != work.run:
            continue
        seconds = run.tokens / candidate.tokens_per_s + candidate.startup_s
        for offer in sides.get((option.machine, candidate.on_spot), ()):
            hourly = offer.effective_usd_per_hour * candidate.nodes
            yield offer.key, hourly * Decimal(repr(seconds)) / 3600 + option.data_usd


def _sides(case: Case) -> dict[tuple[str, bool], list[Offer]]:
    sides: dict[tuple[str, bool], list[Offer]] = {}
    for offer in case.offers:
        on_spot = offer.price_kind is PriceKind.SPOT
        sides.setdefault((offer.machine, on_spot), []).append(offer)
    return sides
