"""Savings plans as sets: what may be promised an hour, and for which machines it then pays.

A plan is a promise of dollars an hour over all machines of its scope, paid used or not. On-demand
nodes that it covers are charged at the plan's rate, and that comes off the promise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from broker.domain.case import Case, breakeven_utilization, committed_hours
from broker.domain.horizon import Slot
from broker.domain.offer import Offer, PriceKind
from broker.domain.savings import savings_plan_of, upfront_share


@dataclass(frozen=True, slots=True)
class SavingsPlan:
    """A plan that may be promised: active in which periods, and how much is paid at the start.

    `upfront_h` are the hours of the commitment that are due at the start. It `needs_steady` nodes
    where its term ends after the horizon, or where commitments must be used for a part of the time.
    """

    id: str
    active: tuple[bool, ...]
    charged_h: float
    upfront_h: float
    needs_steady: bool


@dataclass(frozen=True, slots=True)
class PlanRate:
    """What a node of a machine costs an hour under a plan, as an offer says.

    `steady_share` is the part of the time that services must keep a node up for a promise of its
    rate: where it breaks even, or what the policy asks of commitments, whichever is more.
    """

    plan: int
    machine: int
    offer: Offer
    steady_share: float

    @property
    def usd_per_hour(self) -> float:
        """Give the rate, which is what an hour of the node takes of the commitment."""
        return float(self.offer.effective_usd_per_hour)


def savings_plans(
    case: Case,
    rented: Mapping[str, tuple[int, Offer]],
    spans: Sequence[tuple[Slot, float]],
) -> tuple[tuple[SavingsPlan, ...], tuple[PlanRate, ...]]:
    """Gather the rates of a case by plan.

    `rented` gives the machines that can be had by the hour, by position and on-demand offer: only
    such nodes are covered. `spans` are the first slot and the hours of each period.
    """
    members: dict[str, list[Offer]] = {}
    for offer in sorted(case.offers, key=lambda offer: offer.key):
        if offer.price_kind is PriceKind.SAVINGS_PLAN and offer.machine in rented:
            members.setdefault(savings_plan_of(offer), []).append(offer)
    plans = tuple(_plan(case, name, members[name][0], spans) for name in sorted(members) if name)
    trend = case.workloads.policy.price_trend_per_year
    least = case.workloads.policy.coverage.min_commitment_utilization
    rates = tuple(
        PlanRate(
            number,
            rented[offer.machine][0],
            offer,
            max(least, breakeven_utilization(offer, rented[offer.machine][1], trend)),
        )
        for number, plan in enumerate(plans)
        for offer in members[plan.id]
    )
    return plans, rates


def _plan(case: Case, name: str, offer: Offer, spans: Sequence[tuple[Slot, float]]) -> SavingsPlan:
    term_h = float(committed_hours(offer))
    ends_at = case.workloads.horizon.start + timedelta(hours=term_h)
    active = tuple(first.end_at <= ends_at for first, _ in spans)
    return SavingsPlan(
        id=name,
        active=active,
        charged_h=min(term_h, case.workloads.horizon.hours),
        upfront_h=float(upfront_share(offer)) * term_h,
        needs_steady=term_h > case.workloads.horizon.hours
        or case.workloads.policy.coverage.min_commitment_utilization > 0,
    )
