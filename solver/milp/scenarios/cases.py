"""The case of each scenario: loads and prices as they would be there."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from broker.domain.case import Case, forecast_alone
from broker.domain.load import LoadCurve, LoadSeries
from broker.domain.offer import Offer, PriceKind
from broker.domain.quantities import quantize_usd
from broker.domain.robust import FORECAST, PriceFactors, Robust, Scenario
from broker.domain.workload import Service


@dataclass(frozen=True, slots=True)
class ScenarioCase:
    """A scenario by name, its probability, and its case, which knows of no other scenario."""

    name: str
    probability: Decimal
    case: Case


def scenario_cases(case: Case, robust: Robust) -> tuple[ScenarioCase, ...]:
    """Give the case of each scenario, the forecast first."""
    return tuple(_cases(forecast_alone(case), robust))


def _cases(case: Case, robust: Robust) -> Iterator[ScenarioCase]:
    probabilities = robust.probabilities
    yield ScenarioCase(FORECAST, probabilities[FORECAST], case)
    for one in robust.scenarios:
        yield ScenarioCase(one.name, one.probability, _in_scenario(case, one))


def _in_scenario(case: Case, scenario: Scenario) -> Case:
    services = tuple(
        _scaled(one, scenario.load_factor(one.name)) for one in case.workloads.services
    )
    return replace(
        case,
        workloads=case.workloads.model_copy(update={"services": services}),
        offers=tuple(_priced(offer, scenario.prices) for offer in case.offers),
    )


def _scaled(service: Service, factor: float) -> Service:
    load = service.traffic.requests_per_s
    scaled: LoadCurve | LoadSeries
    if isinstance(load, LoadSeries):
        rows = tuple(tuple(factor * one for one in row) for row in load.by_size)
        scaled = load.model_copy(update={"by_size": rows})
    else:
        curve = {"mean": factor * load.mean, "peak": factor * load.peak}
        scaled = load.model_copy(update=curve)
    traffic = service.traffic.model_copy(update={"requests_per_s": scaled})
    return service.model_copy(update={"traffic": traffic})


def _priced(offer: Offer, prices: PriceFactors) -> Offer:
    factors = {PriceKind.ON_DEMAND: prices.on_demand, PriceKind.SPOT: prices.spot}
    factor = factors.get(offer.price_kind, Decimal(1))
    if factor == 1:
        return offer
    return offer.model_copy(update={"usd_per_hour": quantize_usd(offer.usd_per_hour * factor)})
