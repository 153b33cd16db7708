"""The price at which an offer enters a plan: the figure that a buyer negotiates with.

With the offer used at a price p of a node-hour, the cheapest plan costs F(p): the least of lines
A + q·p, one a plan, so concave and rising. The offer enters where F(p) is no more than C, the cost
of the best plan that does without it. From the plan that F(p) is attained by follows the next
price, (C − A) / q, at which that plan costs C; it is solved again there, until no plan is better.
This is Newton's method on a concave function: from the first step on the prices only rise, and it
ends at the highest price of all.

Where a solve leaves a gap, C and F(p) are known between two figures, and so is the price.

Over scenarios q are the hours in each of them, weighed as its cost is. By the mean, plans are lines
as ever. By the worst courses, whose order may change with the price, a plan is a convex curve that
the line with its weights touches; F still rises, so the price is found to the cent that it is in.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from broker.domain.case import Case
from broker.domain.explanation import EntryPrice
from broker.domain.offer import PriceKind
from broker.domain.plan import Purchase, Status
from broker.domain.quantities import MICRO_USD
from broker.domain.robust import FORECAST, Robust
from broker.planning.explaining.compared import proven_usd
from broker.planning.explaining.weights import least_weight, price_factor, weights_of
from solver.milp.optimum import Optimum

CENT = Decimal("0.01")
_MOST_STEPS = 24
_ROUNDING = 10 * MICRO_USD
"""Cost lines are rounded to the micro-dollar, each; so are prices in a scenario."""

ForcedAt = Callable[[Decimal], Optimum]
"""Plans with the offer used at a price of its node-hour."""


@dataclass(frozen=True, slots=True)
class Rest:
    """What the best plan costs that does without an offer: at least, and at most."""

    least_usd: Decimal
    most_usd: Decimal


RestAt = Callable[[Decimal], Rest]
"""Gives that at a price of the offer, which may decide whether commitments beside it pay."""


@dataclass(frozen=True, slots=True)
class Question:
    """An offer, its price of a node-hour now, and the fewest hours that a plan can use it.

    Hours over scenarios are weighed: 0 where those of one scenario may count for nothing.
    `decides_others` tells that its price decides when commitments beside it pay: then F need not
    rise with it, and what holds above a price has to be looked at.
    """

    offer: str
    now_usd_per_hour: Decimal
    fewest_node_hours: Decimal
    decides_others: bool = False
    robust: Robust | None = None
    kind: PriceKind = PriceKind.ON_DEMAND


@dataclass(frozen=True, slots=True)
class _Tried:
    """A plan with the offer used at a price: `other_usd` is what all else in it costs.

    `slack_usd` is what rounding may add.
    """

    usd_per_hour: Decimal
    optimum: Optimum
    other_usd: Decimal
    node_hours: Decimal
    rest: Rest
    slack_usd: Decimal

    @property
    def enters(self) -> bool:
        """Say whether this plan is no dearer than any without the offer."""
        return self.optimum.objective_usd <= self.rest.least_usd + self.slack_usd

    @property
    def following(self) -> Decimal:
        """Give the price, in whole micro-dollars, at which this plan costs what the others do.

        Where no dollar of it counts, that is any price, or none.
        """
        if not self.node_hours:
            return self.usd_per_hour if self.enters else MICRO_USD
        price = (self.rest.least_usd - self.other_usd) / self.node_hours
        return max(MICRO_USD, price.quantize(MICRO_USD, rounding=ROUND_FLOOR))


@dataclass(slots=True)
class _Search:
    """The highest price that enters so far, and the lowest above it that does not."""

    enters: _Tried | None = None
    stays_out: Decimal | None = None

    def following(self, tried: _Tried) -> Decimal | None:
        """Take in a try, and give the next price; None where there is nothing more to find."""
        price, following = tried.usd_per_hour, tried.following
        if tried.enters:
            self.enters = tried
            if following <= price:
                return None
        else:
            self.stays_out = price
        if self.enters is None:
            return following if following < price else None
        low, high = self.enters.usd_per_hour, self.stays_out
        if low < following and (high is None or following < high):
            return following
        return None if high is None else _cent_between(low, high)


def entry_price(question: Question, forced: ForcedAt, rest: RestAt) -> EntryPrice:
    """Find the price at which the offer enters, exactly where the solves are exact."""
    search = _Search()
    price: Decimal | None = question.now_usd_per_hour
    last: _Tried | None = None
    for _ in range(_MOST_STEPS):
        if price is None:
            break
        last = _try(question, forced, rest, price)
        if last is None:
            break
        price = search.following(last)
    best = search.enters
    ended = best if best is not None else last
    is_done = price is None and last is not None and ended is not None
    return EntryPrice(
        now_usd_per_hour=question.now_usd_per_hour,
        least_usd_per_hour=best.usd_per_hour if best is not None else None,
        most_usd_per_hour=_most(question, ended, forced, rest) if is_done and ended else None,
    )


def _cent_between(low: Decimal, high: Decimal) -> Decimal | None:
    """Give the middle one of the whole cents between two prices; None where there is none.

    So the price, cut to cents, and a cent more are on both sides of where the offer enters.
    """
    first = low.quantize(CENT, rounding=ROUND_FLOOR) + CENT
    last = high.quantize(CENT, rounding=ROUND_CEILING) - CENT
    if first > last:
        return None
    return ((first + last) / 2).quantize(CENT, rounding=ROUND_FLOOR)


def fewest_hours(case: Case, kind: PriceKind = PriceKind.ON_DEMAND) -> Decimal:
    """Give the hours of a slot, the fewest that a node can be bought for, weighed over scenarios.

    What is committed is so in all of them; what is rented may be so in that which counts least.
    """
    hours = Decimal(str(case.workloads.horizon.slot.total_seconds())) / 3600
    robust = case.workloads.policy.robust
    return hours * least_weight(robust, kind) if robust is not None else hours


def _try(question: Question, forced: ForcedAt, rest: RestAt, price: Decimal) -> _Tried | None:
    optimum = forced(price)
    own = [] if optimum.status is Status.INFEASIBLE else list(_parts(question, optimum))
    if not any(one.node_hours for one in own):
        return None
    usd = sum((one.weight * one.usd for one in own), Decimal(0))
    hours = sum((one.weight * one.price_factor * one.node_hours for one in own), Decimal(0))
    rounded = sum((one.weight * one.node_hours for one in own if one.price_factor != 1), Decimal(0))
    return _Tried(
        price,
        optimum,
        optimum.objective_usd - usd,
        hours,
        rest(price),
        slack_usd=_ROUNDING + rounded * MICRO_USD,
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """What a plan spends on the offer, in one scenario where there are several."""

    weight: Decimal
    price_factor: Decimal
    usd: Decimal
    node_hours: Decimal


def _parts(question: Question, optimum: Optimum) -> Iterator[_Part]:
    robust, one = question.robust, Decimal(1)
    told = optimum.scenarios.scenarios if optimum.scenarios else ()
    if robust is None or not told:
        yield _Part(one, one, *_spent(optimum.purchases, question.offer))
        return
    weights = weights_of(robust, [course.total_usd for course in told])
    for course, weight in zip(told, weights, strict=True):
        bought = optimum.purchases if course.name == FORECAST else course.purchases
        factor = price_factor(robust, course.name, question.kind)
        yield _Part(weight, factor, *_spent(bought, question.offer))


def _spent(purchases: Sequence[Purchase], offer: str) -> tuple[Decimal, Decimal]:
    """Add up the dollars and node-hours of an offer."""
    own = [one for one in purchases if one.id == offer]
    usd = sum((one.usd for one in own), Decimal(0))
    return usd, sum((one.node_hours for one in own), Decimal(0))


def _most(question: Question, tried: _Tried, forced: ForcedAt, rest: RestAt) -> Decimal | None:
    """Find a price above which no cheapest plan uses the offer.

    F rises by at least the fewest node-hours with each dollar; so from what is proven of it at one
    price follows where it has passed C. Where that is far off, a cent above is looked at itself.
    """
    price, hours = tried.usd_per_hour, question.fewest_node_hours
    short = max(Decimal(0), tried.rest.most_usd - proven_usd(tried.optimum))
    most = price + (short / hours).quantize(MICRO_USD, rounding=ROUND_CEILING) if hours else None
    if most is not None and most - price <= CENT and not question.decides_others:
        return most
    above = forced(price + CENT)
    if above.status is Status.INFEASIBLE:
        return None if above.ran_out_of_time else price + CENT
    if proven_usd(above) > rest(price + CENT).most_usd:
        return price + CENT
    return None if question.decides_others else most
