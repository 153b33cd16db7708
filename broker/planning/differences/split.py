"""The change in cost, split by cause so that the parts add up to it exactly.

The parts are differences between the ends of a chain, each end a cost in whole micro-dollars:

    old total
      → the old purchases at the new prices of the same offers          price
      → the best plan for the old load and rules over the new catalog   catalog
      → the best plan for the new load and old rules over it            load
      → new total                                                       rules

An offer that is gone has no new price and counts under catalog. A cause that did not change has no
step in the chain; where one alone changed, its step ends at the new plan and nothing is solved.
What cannot be told apart is one part of two names.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from broker.domain.plan import Plan, Status
from broker.domain.workload import Workloads
from broker.planning.differences.demand import (
    load_changes,
    new_load_old_rules,
    rule_changes,
)
from broker.planning.differences.market import MarketChange
from broker.reports.diff_view import PartRow

_SHOWN = 4

Replan = Callable[[Workloads], Plan | None]
"""Makes the plan of some workloads over the new catalog; None where there is none."""


class Cause(StrEnum):
    """Why a plan costs more or less than another.

    `search` is left where nothing changed but how long or to what gap a plan was searched for.
    """

    PRICE = "price"
    LOAD = "load"
    CATALOG = "catalog"
    RULES = "rules"
    SEARCH = "search"


_NAMED = (Cause.PRICE, Cause.LOAD, Cause.CATALOG, Cause.RULES)


@dataclass(frozen=True, slots=True)
class _End:
    """One end of a step: what a plan costs, and how far its proof leaves the best one open."""

    usd: Decimal
    gap_usd: Decimal

    @classmethod
    def of(cls, plan: Plan) -> "_End":
        return cls(plan.total_usd, plan.objective_usd - plan.bound_usd)


@dataclass(frozen=True, slots=True)
class NewPrices:
    """What the new prices add to the old purchases, `unknown` of which have none."""

    usd: Decimal
    unknown: int = 0


def split_change(
    old: Plan, new: Plan, prices: NewPrices, *, market: MarketChange, replan: Replan | None
) -> tuple[PartRow, ...]:
    """Split the change from one total to another; `replan` is None where nothing may be solved."""
    whys = {
        Cause.PRICE: "",
        Cause.CATALOG: market.why,
        Cause.LOAD: _listed(load_changes(old.workloads, new.workloads)),
        Cause.RULES: _listed(
            [
                *rule_changes(old.workloads, new.workloads),
                *(["the plan in force"] if old.in_force != new.in_force else []),
            ]
        ),
        Cause.SEARCH: "nothing changed but the search",
    }
    causes = [
        *([Cause.CATALOG] if market.may_differ else []),
        *([Cause.PRICE] if market.only_prices_moved else []),
        *([Cause.LOAD] if whys[Cause.LOAD] else []),
        *([Cause.RULES] if whys[Cause.RULES] else []),
    ]
    start = _End(old.total_usd + prices.usd, old.objective_usd - old.bound_usd)
    parts = list(_chain(old, new, start, causes or [Cause.SEARCH], replan=replan))
    return tuple(_rows(prices, parts, whys))


@dataclass(frozen=True, slots=True)
class _Part:
    causes: tuple[Cause, ...]
    usd: Decimal
    uncertainty_usd: Decimal


def _chain(
    old: Plan,
    new: Plan,
    start: _End,
    causes: Sequence[Cause],
    *,
    replan: Replan | None,
) -> Iterator[_Part]:
    """Take the causes one after the other; one whose end is not known goes with the next."""
    states = {
        Cause.PRICE: old.workloads,
        Cause.CATALOG: old.workloads,
        Cause.LOAD: new_load_old_rules(old.workloads, new.workloads),
    }
    before = start
    together: tuple[Cause, ...] = ()
    for cause in causes:
        together = (*together, cause)
        if cause is causes[-1]:
            end: _End | None = _End.of(new)
        else:
            end = _solved(replan, states[cause])
        if end is not None:
            yield _Part(together, end.usd - before.usd, before.gap_usd + end.gap_usd)
            before, together = end, ()


def _solved(replan: Replan | None, workloads: Workloads) -> _End | None:
    plan = replan(workloads) if replan else None
    return None if plan is None or plan.status is Status.INFEASIBLE else _End.of(plan)


def _rows(prices: NewPrices, parts: Sequence[_Part], whys: dict[Cause, str]) -> Iterator[PartRow]:
    """Write a row for each of the four causes, and for what is of two; the old prices come first.

    Buying elsewhere at new prices is part of the price.
    """
    alone = {part.causes[0]: part for part in parts if len(part.causes) == 1}
    mixed = [part for part in parts if len(part.causes) > 1]
    merged = {cause for part in mixed for cause in part.causes}
    for cause in _NAMED:
        part = alone.get(cause, _Part((cause,), Decimal(0), Decimal(0)))
        if cause is Cause.PRICE:
            why = _price_why(prices, part.usd)
            yield PartRow(cause, prices.usd + part.usd, _open(part), why)
        elif cause not in merged:
            yield PartRow(cause, part.usd, _open(part), whys[cause] or "no change")
    for part in mixed:
        names = " and ".join(cause.value for cause in part.causes)
        why = "; ".join(whys[cause] for cause in part.causes if whys[cause])
        yield PartRow(f"{names} together", part.usd, _open(part), why)
    if Cause.SEARCH in alone and alone[Cause.SEARCH].usd:
        part = alone[Cause.SEARCH]
        yield PartRow(Cause.SEARCH, part.usd, _open(part), whys[Cause.SEARCH])


def _open(part: _Part) -> Decimal:
    """Leave a part open as far as the proofs do; one of nothing is not in doubt."""
    return part.uncertainty_usd if part.usd else Decimal(0)


def _price_why(prices: NewPrices, elsewhere_usd: Decimal) -> str:
    if not prices.usd and not elsewhere_usd:
        which = f" (of {prices.unknown} no new price is known)" if prices.unknown else ""
        return f"no known price moved of what was bought{which}"
    same = f"{prices.usd:+,.2f} for the old purchases at their new prices"
    if not elsewhere_usd:
        return same
    return f"{same}, {elsewhere_usd:+,.2f} for buying otherwise at them"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
