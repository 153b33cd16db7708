"""A case: everything that decides a plan, gathered for the program and for the independent check.

A *machine* is a provider's node type in one place (`Offer.machine`); its offers are the ways to
pay for it. Firm nodes are all but spot.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

from broker.domain.candidate import GangCandidate, ServingCandidate
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import LineInForce
from broker.domain.quantities import HOURS_PER_MONTH
from broker.domain.surcharge import paid
from broker.domain.workload import Workloads

MONTHS_PER_YEAR = 12


@dataclass(frozen=True, slots=True)
class ServingOption:
    """A way to serve a service's users of one region: a candidate on a machine, firm or spot.

    A replica keeps its part of a copy of the weights on a volume of its node as long as it is up,
    for `storage_usd_per_hour`; that copy was brought once, for `egress_usd`.
    """

    service: str
    user_region: str
    machine: str
    on_spot: bool
    candidate: ServingCandidate
    storage_usd_per_hour: Decimal = Decimal(0)
    egress_usd: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class TrainingOption:
    """A way to do a run: a candidate on a machine, and what its data costs there.

    `egress_usd` brings the data set there, `result_egress_usd` brings what was trained back to it,
    and `storage_usd` keeps data and checkpoints for as long as the run needs them. A run is a
    training run, a batch job, or one day of a daily batch job.
    """

    run: str
    machine: str
    candidate: GangCandidate
    egress_usd: Decimal
    result_egress_usd: Decimal = Decimal(0)
    storage_usd: Decimal = Decimal(0)

    @property
    def data_usd(self) -> Decimal:
        """Add up what is paid beside the nodes."""
        return self.egress_usd + self.result_egress_usd + self.storage_usd


@dataclass(frozen=True, slots=True)
class OwnedNodes:
    """Nodes of a machine that are already paid for, until an instant or beyond the horizon.

    `isolated_for` names the isolated workload that they are for; the others share those of None.
    """

    machine: str
    nodes: int
    until: datetime | None
    isolated_for: str | None = None


@dataclass(frozen=True, slots=True)
class Tenant:
    """Whose nodes a machine's are alone: the workload, and the machine as it is sold."""

    workload: str
    machine: str


@dataclass(frozen=True, slots=True)
class Case:
    """The demand, the offers that may be bought, and all options that fit and meet objectives.

    `offers` are plannable: allowed by the policy, fresh, placed, with whole GPUs, one key each.
    `machines` gives the hardware and place of every machine through one of its offers.
    `listed` is empty until `with_surcharges`: then it has the offers as they are sold, by key, and
    those in `offers` are at what is paid for them. `tenants` is empty until the program sets nodes
    of isolated workloads apart: then it says of which machines the nodes are one workload's.
    `in_force` are the nodes of the plan in force, where churn is weighed against one.
    """

    workloads: Workloads
    offers: tuple[Offer, ...]
    machines: Mapping[str, Offer]
    serving: tuple[ServingOption, ...]
    training: tuple[TrainingOption, ...]
    owned: tuple[OwnedNodes, ...]
    listed: Mapping[str, Offer] = field(default_factory=dict)
    tenants: Mapping[str, Tenant] = field(default_factory=dict)
    in_force: tuple[LineInForce, ...] | None = None


def with_surcharges(case: Case) -> Case:
    """Price all offers at what is paid for them, with the policy's surcharges; once.

        paid usd_per_hour[o] = usd_per_hour[o] · (1 + Σ rate[n], n ∈ surcharges on o)

    So is the upfront part. Whatever compares or adds up prices then does so as they are paid.
    """
    surcharges = case.workloads.policy.surcharges
    if not surcharges or case.listed:
        return case
    return replace(
        case,
        offers=tuple(paid(offer, surcharges) for offer in case.offers),
        listed={offer.key: offer for offer in case.offers},
    )


def forecast_alone(case: Case) -> Case:
    """Give a case that knows of no scenario but the forecast."""
    workloads = case.workloads
    if workloads.policy.robust is None:
        return case
    policy = workloads.policy.model_copy(update={"robust": None})
    return replace(case, workloads=workloads.model_copy(update={"policy": policy}))


def breakeven_utilization(offer: Offer, on_demand: Offer | None, trend_per_year: float) -> float:
    """Give the share of its hours that a commitment must be used to beat renting on demand.

        min(1, committed $/h ÷ (on-demand $/h × mean of (1+r)^τ over the term))

    `on_demand` is the same machine's offer; without one the commitment must always be used (1.0).
    A capacity block is too short for a trend: it is held to today's on-demand price.
    """
    if on_demand is not None and offer.block is not None:
        return min(1.0, float(offer.usd_per_hour / on_demand.usd_per_hour))
    if on_demand is None or offer.commitment is None:
        return 1.0
    years = offer.commitment.term_months / MONTHS_PER_YEAR
    expected = float(on_demand.usd_per_hour) * mean_trend(years, trend_per_year)
    return min(1.0, float(offer.effective_usd_per_hour) / expected)


def mean_trend(years: float, trend_per_year: float) -> float:
    """Give the mean of (1+r)^τ over a term: what prices are expected to be, relative to today's."""
    growth = math.log1p(trend_per_year)
    return math.expm1(growth * years) / (growth * years) if growth else 1.0


def committed_hours(offer: Offer) -> Decimal:
    """Give the hours of the commitment's term; a month has 730."""
    months = offer.commitment.term_months if offer.commitment else 0
    return months * HOURS_PER_MONTH


def standing(case: Case) -> Case:
    """Drop the options that stand on nothing that the case has.

    A spot option stands on a spot offer of its machine, any other on a firm offer or an owned node.
    """
    spot = {one.machine for one in case.offers if one.price_kind is PriceKind.SPOT}
    firm = {one.machine for one in case.offers if one.price_kind is not PriceKind.SPOT}
    firm |= {one.machine for one in case.owned}
    on = {True: spot, False: firm}
    return replace(
        case,
        serving=tuple(one for one in case.serving if one.machine in on[one.on_spot]),
        training=tuple(one for one in case.training if one.machine in on[one.candidate.on_spot]),
    )
