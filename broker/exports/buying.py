"""How each purchase of a plan is bought, in the words and groups that reports for people use."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from broker.domain.offer import Offer, Payment, PriceKind
from broker.domain.pauses import fewest, told_pauses, up_h
from broker.domain.plan import Plan, Purchase
from broker.domain.savings import covered_scope, covers_everywhere

_MONTHS_PER_YEAR = 12


class Kind(StrEnum):
    """What is told apart at a glance: nodes by how they are paid, and costs that are no nodes."""

    OWNED = "owned"
    RESERVED = "reserved"
    ON_DEMAND = "on-demand"
    SPOT = "spot"
    OTHER = "other costs"


_KINDS: Mapping[PriceKind, Kind] = MappingProxyType(
    {
        PriceKind.OWNED: Kind.OWNED,
        PriceKind.ON_DEMAND: Kind.ON_DEMAND,
        PriceKind.SPOT: Kind.SPOT,
    }
)
_ACTIONS: Mapping[PriceKind, str] = MappingProxyType(
    {
        PriceKind.ON_DEMAND: "rent",
        PriceKind.SPOT: "bid",
        PriceKind.RESERVED: "reserve",
        PriceKind.SAVINGS_PLAN: "commit",
        PriceKind.CAPACITY_BLOCK: "book",
        PriceKind.CONTRACT: "sign",
        PriceKind.OWNED: "keep",
    }
)
_PAYMENTS: Mapping[Payment, str] = MappingProxyType(
    {
        Payment.NO_UPFRONT: "nothing upfront",
        Payment.PARTIAL_UPFRONT: "part upfront",
        Payment.ALL_UPFRONT: "all upfront",
        Payment.MONTHLY: "monthly",
    }
)


@dataclass(frozen=True, slots=True)
class Bought:
    """One purchase with its offer, and the names of the workloads that its nodes may carry."""

    purchase: Purchase
    offer: Offer
    workloads: tuple[str, ...]

    @property
    def kind(self) -> Kind:
        """Give the group that the purchase is shown in."""
        return kind_of(self.purchase.price_kind)

    @property
    def action(self) -> str:
        """Say what the buyer has to do."""
        return _ACTIONS[self.purchase.price_kind]

    @property
    def name(self) -> str:
        """Name the machine as its provider does, with the tier that it is sold in.

        Of a savings plan, say what it covers.
        """
        if self.purchase.savings is not None:
            return covered_scope(self.offer)
        tier = f":{self.offer.tier}" if self.offer.tier else ""
        return f"{self.offer.instance_type}{tier}"

    @property
    def gpus(self) -> str:
        """Name the GPUs of one node: 8×H100-SXM. Of a savings plan, say what is promised."""
        if self.purchase.savings is not None:
            return f"{self.purchase.savings.usd_per_hour:.3f} USD/h"
        shape = self.offer.hardware.shape
        return f"{shape.gpu_count}×{shape.gpu}"

    @property
    def where(self) -> str:
        """Name the provider and the region or zone, which a plan for all machines has none of."""
        if self.purchase.savings is not None and covers_everywhere(self.offer):
            return self.offer.provider
        return f"{self.offer.provider} {self.offer.place.zone or self.offer.place.region}"

    @property
    def terms(self) -> str:
        """Say how it is paid: on-demand; reserved 1 year, all upfront; a block of 48 h."""
        commitment = self.offer.commitment
        kind = self.purchase.price_kind.value.replace("_", " ").replace("on demand", "on-demand")
        window = self.purchase.block
        if window is not None:
            return f"{kind} of {window.length_h} h from {window.starts_at:%Y-%m-%d %H:%M}, prepaid"
        if commitment is None or self.kind is Kind.OWNED:
            return kind
        paid = f"{kind} {term(commitment.term_months)}, {_PAYMENTS[commitment.payment]}"
        savings, due = self.purchase.savings, self.purchase.breakeven_utilization or 0.0
        return f"{paid}; {savings.utilization:.0%} used, {due:.0%} is even" if savings else paid

    @property
    def fewest_nodes(self) -> int:
        """Count the nodes of the emptiest step; 0 where there is a time without any."""
        steps = self.purchase.steps
        return fewest(steps, (step.nodes for step in steps))

    @property
    def most_nodes(self) -> int:
        """Count the nodes of the fullest step."""
        return max((step.nodes for step in self.purchase.steps), default=0)

    @property
    def span(self) -> tuple[datetime, datetime] | None:
        """Give the instants of the first node and after the last one."""
        steps = self.purchase.steps
        return (steps[0].from_at, steps[-1].to_at) if steps else None

    @property
    def pauses(self) -> str:
        """Say for how much of that time there are nodes, where not for all of it."""
        return told_pauses(up_h(self.purchase.steps), *self.span) if self.span else ""


def bought(plan: Plan) -> tuple[Bought, ...]:
    """Join purchases with their offers: by what to do, the dearest first."""
    offers = {offer.key: offer for offer in plan.offers}
    joined = [
        Bought(one, offers[one.offer], _workloads_on(plan, offers[one.offer].machine, one))
        for one in plan.purchases
    ]
    order = list(Kind)
    return tuple(
        sorted(joined, key=lambda one: (order.index(one.kind), -one.purchase.usd, one.purchase.id))
    )


def kind_of(price_kind: PriceKind) -> Kind:
    """Group a price kind: whatever is promised for a time is reserved."""
    return _KINDS.get(price_kind, Kind.RESERVED)


def term(months: int) -> str:
    """Write the term of a commitment: 6 months, 1 year."""
    years, rest = divmod(months, _MONTHS_PER_YEAR)
    count, unit = (years, "year") if years and not rest else (months, "month")
    return f"{count} {unit}{'s' * (count != 1)}"


def _workloads_on(plan: Plan, machine: str, purchase: Purchase) -> tuple[str, ...]:
    here = (machine, purchase.price_kind is PriceKind.SPOT)
    covers = purchase.savings.covers if purchase.savings else ()
    places = {(one.line.partition("@")[0], False) for one in covers} or {here}
    names = {one.service for one in plan.serving if (one.machine, one.on_spot) in places}
    names |= {one.workload for one in plan.training if (one.machine, one.on_spot) in places}
    carries = purchase.may_carry(plan.workloads.policy.isolated)
    return tuple(sorted(filter(carries, names)))
