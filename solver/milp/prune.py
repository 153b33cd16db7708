"""Exact pruning: what something no dearer replaces in any plan never reaches the solver.

A machine is dominated when another one offers, for every way to pay and every option on it, one
that costs no more and does no less. Any plan on the first then moves to the second as it is: so
its nodes must save what keeping weights there costs more, for all replicas that they can hold.

A commitment that outlives the horizon is bound to what services fill of its own machine, beside
owned nodes, so it never moves to a commitment elsewhere: only renting for no more replaces it, and
machines with one keep all their layouts. Where providers share a service's replicas, these move
only to a machine of the same cloud, and in the same zone where they must be in several. Where they
stay up for a time, they move only to a machine of the same rates.

What a savings plan covers costs nothing more in hours in which its promise is not used up. So a
machine with the rate of a plan is never dominated, and nothing on it is outpriced.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from broker.domain.case import Case, ServingOption
from broker.domain.offer import Offer, PriceKind
from solver.milp.beyond_cost import is_about_more
from solver.milp.churn import with_offers
from solver.milp.constraints.quota import is_under
from solver.milp.min_up import steady_services
from solver.milp.outprice import drop_outpriced
from solver.milp.profiles import dominated_machines, outlives
from solver.milp.sets import Configuration, Configurations
from solver.milp.shares import spread_services
from solver.milp.targets import has_targets
from solver.milp.tenants import prepared

_ROUNDING_USD = Decimal("1e-12")
_Key = tuple[str, ...]
_Sides = dict[tuple[str, bool], ServingOption]
"""The options of one configuration by machine, and whether on spot."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """A case without what cannot be part of a cheapest plan; `dominated` maps machine to better."""

    case: Case
    dominated: dict[str, str]


def prune(case: Case) -> Pruned:
    """Drop dominated candidates, commitments, options and machines; owned machines always stay.

    Nothing is dropped where a rule asks for more than little money in all: see `is_about_more`.
    """
    (pruned,) = prune_alike([case])
    return pruned


def prune_alike(cases: Sequence[Case]) -> tuple[Pruned, ...]:
    """Drop the same from cases that differ in loads and prices: what is dominated in all of them.

    What is outpriced costs more at its least price in any case than another at its most.
    """
    cases = [prepared(case) for case in cases]
    if any(is_about_more(case) or has_targets(case) for case in cases):
        return tuple(Pruned(case, {}) for case in cases)
    cases = [with_offers(case, _undominated_commitments(case)) for case in cases]
    blocks = {one.key for case in cases for one in _undominated_blocks(case)}
    cases = [
        replace(
            with_offers(case, tuple(one for one in case.offers if one.key in blocks)),
            serving=_undominated_candidates(case),
        )
        for case in cases
    ]
    left = drop_outpriced(_priced(cases, min), _priced(cases, max))
    cases = [replace(case, serving=left.serving, training=left.training) for case in cases]
    dominated = dominated_machines(cases)
    return tuple(Pruned(_without(case, dominated), dominated) for case in cases)


def _priced(cases: Sequence[Case], choose: Callable[[Iterable[Decimal]], Decimal]) -> Case:
    """Give a case in which each offer has the least, or the most, of its prices in all cases."""
    alike = zip(*(case.offers for case in cases), strict=True)
    offers = tuple(
        same[0].model_copy(update={"usd_per_hour": choose(one.usd_per_hour for one in same)})
        for same in alike
    )
    return replace(cases[0], offers=offers)


def _without(case: Case, machines: Mapping[str, str]) -> Case:
    if not machines:
        return case
    return replace(
        case,
        offers=tuple(one for one in case.offers if one.machine not in machines),
        serving=tuple(one for one in case.serving if one.machine not in machines),
        training=tuple(one for one in case.training if one.machine not in machines),
    )


def _undominated_commitments(case: Case) -> tuple[Offer, ...]:
    """Drop of each machine the commitments that another of the same term makes needless."""
    alike: dict[_Key, list[Offer]] = defaultdict(list)
    kept: list[Offer] = []
    for offer in sorted(case.offers, key=lambda one: (one.effective_usd_per_hour, one.key)):
        if offer.price_kind is PriceKind.SAVINGS_PLAN:
            kept.append(offer)
            continue
        term = str(offer.commitment.term_months) if offer.commitment else ""
        cheaper = alike[offer.machine, term]
        if term and any(_stands_for(one, offer, case) for one in cheaper):
            continue
        cheaper.append(offer)
        kept.append(offer)
    return tuple(sorted(kept, key=lambda one: one.key))


def _undominated_blocks(case: Case) -> tuple[Offer, ...]:
    """Drop the capacity blocks that renting the same machine without a limit costs no more than."""
    rented = {
        offer.machine: offer
        for offer in case.offers
        if offer.price_kind is PriceKind.ON_DEMAND
        and offer.stock is None
        and offer.limits.max_nodes is None
    }
    return tuple(
        offer
        for offer in case.offers
        if offer.block is None
        or offer.machine not in rented
        or rented[offer.machine].usd_per_hour > offer.usd_per_hour
        or any(
            is_under(rented[offer.machine], one) and not is_under(offer, one)
            for one in case.workloads.quotas
        )
    )


def _stands_for(cheaper: Offer, offer: Offer, case: Case) -> bool:
    """Say whether no limit, quota or cap on cash keeps a cheaper commitment from standing in."""
    if cheaper.commitment is None or offer.commitment is None:
        return False
    is_limited = cheaper.stock is not None or cheaper.limits.max_nodes is not None
    is_capped = case.workloads.policy.commitments.max_upfront_usd is not None
    return (
        not is_limited
        and (not is_capped or cheaper.commitment.upfront_usd <= offer.commitment.upfront_usd)
        and all(is_under(offer, one) for one in case.workloads.quotas if is_under(cheaper, one))
    )


def _undominated_candidates(case: Case) -> tuple[ServingOption, ...]:
    """Drop a configuration where another one does no less on every machine that it is had on.

    Not where it is had on spot: the other one may need more of its replicas to be firm; nor where
    providers share the replicas, as fewer or more of them are shared in other parts; nor where each
    of them stays up for a time, as fewer may have to be up when more would not. What is in a pool
    stands in for the same pool and class alone.
    """
    bound = {offer.machine for offer in case.offers if outlives(offer, case)}
    spread = spread_services(case) | steady_services(case)
    configurations = Configurations()
    by_demand: dict[tuple[object, ...], dict[int, _Sides]] = defaultdict(lambda: defaultdict(dict))
    kept = [one for one in case.serving if one.service in spread]
    for one in (one for one in case.serving if one.service not in spread):
        own = configurations.of(one.candidate)
        kinds = by_demand[one.service, one.user_region, own.role, own.pool]
        kinds[id(own)][one.machine, one.on_spot] = one
    for kinds in by_demand.values():
        fewest = sorted(kinds.values(), key=_gpus_and_name)
        chosen: list[_Sides] = []
        for sides in fewest:
            if not any(_stands_in(better, sides, bound) for better in chosen):
                chosen = [old for old in chosen if not _stands_in(sides, old, bound)]
                chosen.append(sides)
        kept.extend(one for sides in chosen for one in sides.values())
    return tuple(kept)


def _gpus_and_name(sides: _Sides) -> tuple[float, str]:
    one = next(iter(sides.values())).candidate
    return (float(one.gpus), str(Configuration.of(one)))


def _stands_in(better: _Sides, worse: _Sides, bound: set[str]) -> bool:
    return all(
        not on_spot
        and machine not in bound
        and (machine, on_spot) in better
        and _replaces(better[machine, on_spot], one)
        for (machine, on_spot), one in worse.items()
    )


def _replaces(better: ServingOption, worse: ServingOption) -> bool:
    """Say whether copies of one replica do in the same GPUs all that another does, for no more.

    Holds with spares too: q·x replicas less one are more than q·(x − 1), and so are they less all
    on the slices of one GPU, as those are q at most.
    """
    copies = worse.candidate.gpus // better.candidate.gpus
    return (
        copies > 0
        and copies * better.storage_usd_per_hour <= worse.storage_usd_per_hour + _ROUNDING_USD
        and copies * better.egress_usd <= worse.egress_usd + _ROUNDING_USD
        and all(
            copies * one.requests_per_s >= other.requests_per_s
            for one, other in zip(better.candidate.rates, worse.candidate.rates, strict=True)
        )
    )
