"""The same demand under a narrower strategy, to show where the saving comes from."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from broker.domain.plan import Comparison, Status
from solver.milp.optimize import Optimum
from solver.milp.pool import SolverPool
from solver.milp.solve import Limits

Monotonic = Callable[[], float]
_SHORTEST_SOLVE_S = 1.0


@dataclass(frozen=True, slots=True)
class _Single:
    """A provider, the case with its offers alone, and the least that it can cost."""

    provider: str
    case: Case
    at_least_usd: float


def best_single_provider(
    case: Case, limits: Limits, pool: SolverPool, clock: Monotonic = time.monotonic
) -> Comparison | None:
    """Find the cheapest plan that buys from one provider only; owned nodes stay.

    Providers are solved in the order of their relaxed bounds, until the next one's bound is above
    the best plan found, or the time is up: then the bound tells what was not looked at. None
    means that the time was up before any plan was found, so nothing can be said.
    """
    ends_at = clock() + limits.time_limit_s
    singles = sorted(_singles(case, pool), key=lambda one: (one.at_least_usd, one.provider))
    best: tuple[str, Optimum] | None = None
    bounds: list[float] = []
    for single in singles:
        if best is not None and single.at_least_usd >= float(best[1].total_usd):
            break
        left_s = ends_at - clock()
        if left_s < _SHORTEST_SOLVE_S:
            bounds.append(single.at_least_usd)
            continue
        optimum = pool.optimize(single.case, replace(limits, time_limit_s=left_s)).result()
        if optimum.status is Status.INFEASIBLE:
            if optimum.ran_out_of_time:
                bounds.append(single.at_least_usd)
            continue
        bounds.append(float(optimum.bound_usd))
        if best is None or optimum.total_usd < best[1].total_usd:
            best = (single.provider, optimum)
    return None if best is None and bounds else _comparison(best, bounds)


def no_dearer_than_plan(
    comparison: Comparison | None, optimum: Optimum, case: Case
) -> Comparison | None:
    """Take the plan itself where it buys from one provider and the comparison found none cheaper.

    Each is solved to a gap of its own, so the narrower search may end a little higher.
    """
    offers = {offer.key: offer for offer in case.offers}
    bought = [one.offer for one in optimum.purchases if one.price_kind is not PriceKind.OWNED]
    providers = {offers[key].provider for key in bought}
    if optimum.status is Status.INFEASIBLE or len(providers) > 1:
        return comparison
    if (
        comparison is not None
        and comparison.total_usd is not None
        and comparison.total_usd <= optimum.total_usd
    ):
        return comparison
    known = comparison.bound_usd if comparison is not None else None
    bound = min(max(optimum.bound_usd, known or Decimal(0)), optimum.total_usd)
    gap = float((optimum.total_usd - bound) / optimum.total_usd) if optimum.total_usd else 0.0
    name = f": {min(providers)}" if providers else ""
    return Comparison(
        strategy=f"best single provider{name}",
        status=optimum.status,
        total_usd=optimum.total_usd,
        bound_usd=bound,
        gap_fraction=gap,
    )


def _singles(case: Case, pool: SolverPool) -> Iterator[_Single]:
    providers = sorted({offer.provider for offer in case.offers})
    cases = {provider: single_provider_case(case, provider) for provider in providers}
    bounds = {provider: pool.relaxed_bound_usd(only) for provider, only in cases.items()}
    for provider, bound in bounds.items():
        at_least = bound.result()
        if at_least < math.inf:
            yield _Single(provider, cases[provider], at_least)


def single_provider_case(case: Case, provider: str) -> Case:
    """Keep the offers of one provider, and the machines that are owned already."""
    owned = {one.machine for one in case.owned}
    own = {key for key, offer in case.machines.items() if offer.provider == provider}

    def stays(machine: str, *, on_spot: bool) -> bool:
        return machine in own or (machine in owned and not on_spot)

    return replace(
        case,
        offers=tuple(offer for offer in case.offers if offer.provider == provider),
        serving=tuple(one for one in case.serving if stays(one.machine, on_spot=one.on_spot)),
        training=tuple(
            one for one in case.training if stays(one.machine, on_spot=one.candidate.on_spot)
        ),
    )


def _comparison(best: tuple[str, Optimum] | None, bounds: list[float]) -> Comparison:
    if best is None:
        return Comparison(
            strategy="best single provider",
            status=Status.INFEASIBLE,
            total_usd=None,
            bound_usd=None,
            gap_fraction=None,
        )
    provider, optimum = best
    bound = min(optimum.bound_usd, *(Decimal(str(round(one, 6))) for one in bounds))
    gap = float((optimum.total_usd - bound) / optimum.total_usd) if optimum.total_usd else 0.0
    return Comparison(
        strategy=f"best single provider: {provider}",
        status=optimum.status,
        total_usd=optimum.total_usd,
        bound_usd=bound,
        gap_fraction=gap,
    )
