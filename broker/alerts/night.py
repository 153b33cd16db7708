"""What a night brought, as far as someone may want to hear of it: domain values alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from broker.domain.offer import Offer
from broker.domain.plan import Plan
from broker.domain.workload import Workloads


@dataclass(frozen=True, slots=True)
class Change:
    """One step from the plan in force to a better one. `usd` is what it saves in the horizon."""

    text: str
    usd: Decimal


@dataclass(frozen=True, slots=True)
class ProviderState:
    """A provider after a refresh. `before` are the offers that it had a day earlier."""

    name: str
    offers: int
    before: int
    newest_observed_at: datetime | None
    failing_since: datetime | None
    error: str


@dataclass(frozen=True, slots=True)
class PriceMove:
    """The price of an offer that the plan in force uses, then and now, in USD per node-hour."""

    offer: str
    usd_per_hour_before: Decimal
    usd_per_hour_now: Decimal
    nodes: float
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class Night:
    """All that the alerts of one night are made from.

    `in_force` is the plan that people act on (None before the first); `made` the one of tonight,
    None where none could be made, and `failure` says why. `adopted` says whether tonight's plan
    is worth acting on; `changes` are then the steps to it, dearest first. `in_force_name` and
    `made_name` are what a command line calls the two plans: a file, or a hash. `machines` has one
    offer of each machine of the inventory, for those that neither plan uses. `needed` says why the
    plan in force cannot go on, and is empty where it can. `days_apart` are the days in which the
    two plans do something else, None where that is not known; `price_floor_usd_per_day` is what a
    dearer price must cost to be told.
    """

    now: datetime
    workloads: str
    in_force: Plan | None
    made: Plan | None
    adopted: bool
    changes: Sequence[Change] = ()
    providers: Sequence[ProviderState] = ()
    price_moves: Sequence[PriceMove] = ()
    failure: str = ""
    in_force_name: str = ""
    made_name: str = ""
    machines: Sequence[Offer] = ()
    needed: str = ""
    days_apart: Decimal | None = None
    price_floor_usd_per_day: Decimal = Decimal(0)

    @property
    def acted_on(self) -> Plan | None:
        """Give the plan by which people act: the one in force, before the first tonight's."""
        return self.in_force or self.made

    @property
    def demand(self) -> Workloads | None:
        """Give the workloads as they are written tonight, else as the plan in force has them."""
        plan = self.made or self.in_force
        return plan.workloads if plan else None
