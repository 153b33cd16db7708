"""Savings plans of a tiny case: what may be promised, and what that pays of a slot."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from oracle_fleets import Tiny

from broker.domain.offer import Offer, PriceKind

_TENTH_OF_A_CENT = 0.001
_SLACK = 1e-9


@dataclass(frozen=True)
class Promise:
    """Dollars an hour of the one plan, and the nodes that must be kept up for it by rate."""

    usd_per_hour: float = 0.0
    steady: tuple[tuple[Offer, int], ...] = ()

    @property
    def upfront_usd(self) -> float:
        if not self.usd_per_hour:
            return 0.0
        offer = self.steady[0][0]
        assert offer.commitment is not None
        hours = offer.commitment.term_months * 730
        whole = float(offer.usd_per_hour) * hours + float(offer.commitment.upfront_usd)
        return self.usd_per_hour * hours * float(offer.commitment.upfront_usd) / whole

    def outliving(self) -> list[tuple[Offer, int]]:
        return [(offer, nodes) for offer, nodes in self.steady if nodes]


def promises(tiny: Tiny) -> Iterator[Promise]:
    """List what may be promised: sums of whole nodes at their rates, as the cost bends only there.

    All rates of the case are of one plan, and each machine has at most one.
    """
    rates = [one for one in tiny.case.offers if one.price_kind is PriceKind.SAVINGS_PLAN]
    yield Promise()
    counts = list(itertools.product(range(tiny.most_committed + 1), repeat=len(rates)))
    sums = {
        round(sum(_rate(one) * n for one, n in zip(rates, nodes, strict=True)), 6)
        for nodes in counts
    } | _most_that_cash_allows(tiny, rates)
    sums -= {0.0}
    for usd, nodes in itertools.product(sorted(sums), counts):
        kept = sum(_rate(one) * n for one, n in zip(rates, nodes, strict=True))
        if kept > usd - _TENTH_OF_A_CENT + _SLACK and kept < usd + max(map(_rate, rates)):
            yield Promise(usd, tuple(zip(rates, nodes, strict=True)))


def _most_that_cash_allows(tiny: Tiny, rates: list[Offer]) -> set[float]:
    """Give the promise that takes all the cash that may be paid at the start, if it is limited."""
    limit = tiny.case.workloads.policy.commitments.max_upfront_usd
    due = Promise(1.0, tuple((one, 0) for one in rates)).upfront_usd if rates else 0.0
    return {int(float(limit) / due * 1000 + _SLACK) / 1000} if limit is not None and due else set()


def rebate_usd_per_hour(tiny: Tiny, promise: Promise, rented: dict[str, int]) -> float:
    """Give what a promise takes off the on-demand price, the largest discounts first."""
    left, saved = promise.usd_per_hour, 0.0
    rates = {offer.machine: _rate(offer) for offer, _ in promise.steady}
    prices = {machine: tiny.price(machine, PriceKind.ON_DEMAND) or 0.0 for machine in rates}
    for machine in sorted(rates, key=lambda one: rates[one] / prices[one]):
        nodes = min(rented.get(machine, 0), left / rates[machine])
        left -= nodes * rates[machine]
        saved += nodes * prices[machine]
    return saved


def _rate(offer: Offer) -> float:
    return float(offer.effective_usd_per_hour)
