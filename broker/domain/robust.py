"""Courses that demand and prices may take, and what of a plan's cost over them counts."""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from broker.domain.parts import Name
from broker.domain.quantities import Frozen

FORECAST = "forecast"
"""The course that the workloads file and the catalog give as they are."""
EVERY_SERVICE = "all"
"""As a key of `load`: every service that has no factor of its own."""
_MOST_FACTOR = 1000

Part = Annotated[Decimal, Field(gt=0, le=1)]


class Measure(StrEnum):
    """What is minimized over the scenarios: the mean cost, or that of the worst of them."""

    MEAN = "mean"
    CVAR = "cvar"


class PriceFactors(Frozen):
    """What prices are multiplied by; those of commitments are fixed when they are bought."""

    on_demand: Annotated[Decimal, Field(gt=0, le=_MOST_FACTOR)] = Decimal(1)
    spot: Annotated[Decimal, Field(gt=0, le=_MOST_FACTOR)] = Decimal(1)


class Scenario(Frozen):
    """One course: factors on the load of services, by name or for `all`, and on prices."""

    name: Name
    probability: Part
    load: dict[str, Annotated[float, Field(gt=0, le=_MOST_FACTOR)]] = {}
    prices: PriceFactors = PriceFactors()

    def load_factor(self, service: str) -> float:
        """Give what the load of a service is multiplied by."""
        return self.load.get(service, self.load.get(EVERY_SERVICE, 1.0))


class Robust(Frozen):
    """Scenarios that a plan must hold in, and the measure of its cost over them.

    `forecast` has the probability that the others leave. `cvar` is the mean cost of the worst
    courses that have a probability of 1 − `alpha` together; of the objective it is `weight`, and
    the mean is the rest.
    """

    measure: Measure = Measure.MEAN
    alpha: Annotated[Decimal, Field(ge=0, lt=1)] = Decimal("0.9")
    weight: Part = Decimal(1)
    scenarios: Annotated[tuple[Scenario, ...], Field(min_length=1)]

    @property
    def probabilities(self) -> dict[str, Decimal]:
        """Give the probability of each course, the forecast first."""
        named = {one.name: one.probability for one in self.scenarios}
        return {FORECAST: 1 - sum(named.values(), Decimal(0))} | named

    @model_validator(mode="after")
    def _are_courses(self) -> Self:
        names = [FORECAST, *(one.name for one in self.scenarios)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(
                f"the scenario name {twice[0]!r} is used twice; {FORECAST!r} is that of the file "
                "as it is, and each scenario needs its own"
            )
        total = sum((one.probability for one in self.scenarios), Decimal(0))
        if total > 1:
            raise ValueError(
                f"the probabilities of the scenarios add up to {total}; they may be 1 at most, "
                f"and {FORECAST!r} has the rest"
            )
        return self


def check_loads(robust: Robust | None, services: set[str]) -> None:
    """Hold the factors on loads to the services there are.

    Raises:
        ValueError: a scenario names another one.
    """
    for one in robust.scenarios if robust else ():
        unknown = sorted(set(one.load) - services - {EVERY_SERVICE})
        if unknown:
            raise ValueError(
                f"the scenario {one.name!r} has a load for {unknown[0]!r}, which is no service; "
                f"name one of services, or {EVERY_SERVICE!r}"
            )
