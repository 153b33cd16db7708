"""Exact pruning: what something no dearer replaces in any plan never reaches the solver.

A machine is dominated when another one offers, for every way to pay and every option on it, one
that costs no more and does no less. Any plan on the first then moves to the second as it is: so
its nodes must save what keeping weights there costs more, for all replicas that they can hold.

A commitment that outlives the horizon is bound to what services fill of its own machine, beside
owned nodes, so it never moves to a commitment elsewhere: only renting for no more replaces it, and
machines with one keep all their layouts. Where providers share a service's replicas, these move
only to a machine of the same cloud, and in the same zone where they must be in several.

What a savings plan covers costs nothing more in hours in which its promise is not used up. So a
machine with the rate of a plan is never dominated, and nothing on it is outpriced.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from broker.domain.case import Case, ServingOption, TrainingOption, committed_hours
from broker.domain.offer import Offer, PriceKind
from broker.domain.workload import Quota
from solver.milp.beyond_cost import is_about_more
from solver.milp.churn import staying, weighs_churn, with_offers
from solver.milp.constraints.quota import is_under
from solver.milp.outprice import drop_outpriced
from solver.milp.sets import Configuration
from solver.milp.shares import spread_services
from solver.milp.targets import has_targets
from solver.milp.tenants import prepared
from solver.milp.zones import spread_places

_ROUNDING_USD = Decimal("1e-12")
_Key = tuple[str, ...]
_Sides = dict[tuple[str, bool], ServingOption]
"""The options of one configuration by machine, and whether on spot."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """A case without what cannot be part of a cheapest plan; `dominated` maps machine to better."""

    case: Case
    dominated: dict[str, str]


@dataclass(slots=True)
class _Profile:
    """One machine: its prices by kind, and its options by what they serve."""

    machine: str
    gpus: int
    firm: Offer | None = None
    spot: Offer | None = None
    committed: list[Offer] = field(default_factory=list)
    serving: dict[_Key, list[ServingOption]] = field(default_factory=lambda: defaultdict(list))
    training: dict[_Key, list[TrainingOption]] = field(default_factory=lambda: defaultdict(list))
    outliving: set[str] = field(default_factory=set)
    cloud: str = ""
    has_plan: bool = False
    limited: bool = False
    one_for_one: bool = False
    quotas: frozenset[int] = frozenset()

    @property
    def rank(self) -> tuple[bool, Decimal, str]:
        used = [one for one in self.offers() if one is not self.spot or self.uses_spot]
        prices = [offer.effective_usd_per_hour / self.gpus for offer in used]
        return (self.limited, min(prices, default=Decimal(0)), self.machine)

    @property
    def uses_spot(self) -> bool:
        return any(key[-1] == "True" for key in (*self.serving, *self.training))

    def offers(self) -> list[Offer]:
        return [offer for offer in (self.firm, self.spot, *self.committed) if offer is not None]


def prune(case: Case) -> Pruned:
    """Drop dominated candidates, commitments, options and machines; owned machines always stay.

    Nothing is dropped where a rule asks for more than little money in all: see `is_about_more`.
    """
    case = prepared(case)
    if is_about_more(case) or has_targets(case):
        return Pruned(case, {})
    case = with_offers(case, _undominated_commitments(case))
    case = with_offers(case, _undominated_blocks(case))
    case = drop_outpriced(replace(case, serving=_undominated_candidates(case)))
    kept_anyway = {one.machine for one in case.owned} | staying(case)
    profiles = sorted(_profiles(case).values(), key=lambda one: one.rank)
    unlimited: list[_Profile] = []
    dominated: dict[str, str] = {}
    for profile in profiles:
        better = next((one for one in unlimited if _dominates(one, profile)), None)
        if better is None or profile.machine in kept_anyway:
            if not (profile.limited or profile.quotas):
                unlimited.append(profile)
        else:
            dominated[profile.machine] = better.machine
    if not dominated:
        return Pruned(case, {})
    return Pruned(
        replace(
            case,
            offers=tuple(one for one in case.offers if one.machine not in dominated),
            serving=tuple(one for one in case.serving if one.machine not in dominated),
            training=tuple(one for one in case.training if one.machine not in dominated),
        ),
        dominated,
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
    providers share the replicas, as fewer or more of them are shared in other parts.
    """
    bound = {offer.machine for offer in case.offers if _outlives(offer, case)}
    spread = spread_services(case)
    by_demand: dict[_Key, dict[Configuration, _Sides]] = defaultdict(lambda: defaultdict(dict))
    kept = [one for one in case.serving if one.service in spread]
    for one in (one for one in case.serving if one.service not in spread):
        kinds = by_demand[one.service, one.user_region]
        kinds[Configuration.of(one.candidate)][one.machine, one.on_spot] = one
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


def _profiles(case: Case) -> dict[str, _Profile]:
    keys = {one.machine for one in case.serving} | {one.machine for one in case.training}
    gpus = {key: int(case.machines[key].hardware.shape.gpu_count) for key in sorted(keys)}
    profiles = {key: _Profile(key, gpus[key], one_for_one=weighs_churn(case)) for key in gpus}
    for offer in case.offers:
        if offer.machine in profiles:
            _add_offer(profiles[offer.machine], offer, case.workloads.quotas)
            if _outlives(offer, case):
                profiles[offer.machine].outliving.add(offer.key)
    spread, zones = spread_services(case), spread_places(case)
    for serving in case.serving:
        served = (serving.service, serving.user_region, str(serving.on_spot))
        profiles[serving.machine].serving[served].append(serving)
        if serving.service in spread:
            profiles[serving.machine].cloud = zones[serving.machine]
    for training in case.training:
        done = (training.run, str(training.candidate.on_spot))
        profiles[training.machine].training[done].append(training)
    return profiles


def _outlives(offer: Offer, case: Case) -> bool:
    return float(committed_hours(offer)) > case.workloads.horizon.hours


def _add_offer(profile: _Profile, offer: Offer, quotas: Sequence[Quota]) -> None:
    if offer.price_kind is PriceKind.ON_DEMAND:
        profile.firm = offer
    elif offer.price_kind is PriceKind.SPOT:
        profile.spot = offer
    elif offer.price_kind is PriceKind.SAVINGS_PLAN:
        profile.has_plan = True
    else:
        profile.committed.append(offer)
    if offer.stock is not None or offer.limits.max_nodes is not None:
        profile.limited = True
    under = {number for number, quota in enumerate(quotas) if is_under(offer, quota)}
    profile.quotas = profile.quotas | frozenset(under)


def _dominates(better: _Profile, worse: _Profile) -> bool:
    """Say whether a machine, of which there is any number, stands for another in any plan."""
    copies = _copies(better, worse)
    if worse.has_plan or copies == 0:
        return False
    if worse.cloud and worse.cloud != better.cloud:
        return False
    more_usd = _more_storage_usd(better, worse)
    return (
        _firm_prices(better, worse, copies, more_usd)
        and _spot_prices(better, worse, copies, more_usd)
        and all(
            _covers_serving(better.serving.get(key, []), options)
            for key, options in worse.serving.items()
            if key[-1] == "False"
        )
        and all(
            _covers_training(better.training.get(key, []), options)
            for key, options in worse.training.items()
            if key[-1] == "False"
        )
    )


def _copies(better: _Profile, worse: _Profile) -> int:
    """Count the smaller nodes that stand for one larger node; 0 where they cannot.

    Gangs want whole nodes, so smaller ones stand only for machines that no run can use.
    """
    if better.gpus >= worse.gpus:
        return 1
    is_whole = bool(worse.training) or worse.one_for_one
    return 0 if is_whole or worse.gpus % better.gpus else worse.gpus // better.gpus


def _more_storage_usd(better: _Profile, worse: _Profile) -> Decimal:
    """Bound what keeping weights costs more an hour there, for all that one node here can hold."""
    more = Decimal(0)
    for key, options in worse.serving.items():
        there = [
            one
            for market in ("True", "False")
            for one in better.serving.get((*key[:-1], market), [])
        ]
        for other in options:
            alike = [
                one.storage_usd_per_hour - other.storage_usd_per_hour
                for one in there
                if Configuration.of(one.candidate) == Configuration.of(other.candidate)
            ]
            held = worse.gpus // other.candidate.gpus
            more = max(more, held * max(alike, default=Decimal(0)))
    return more


def _firm_prices(better: _Profile, worse: _Profile, copies: int, more_usd: Decimal) -> bool:
    if worse.firm is not None and not _no_dearer(better.firm, worse.firm, copies, more_usd):
        return False
    return all(
        _no_dearer(better.firm, one, copies, more_usd)
        or (
            one.key not in worse.outliving
            and any(_same_terms_no_dearer(two, one, copies, more_usd) for two in better.committed)
        )
        for one in worse.committed
    )


def _same_terms_no_dearer(better: Offer, worse: Offer, copies: int, more_usd: Decimal) -> bool:
    if better.commitment is None or worse.commitment is None:
        return False
    return (
        better.commitment.term_months == worse.commitment.term_months
        and copies * better.commitment.upfront_usd <= worse.commitment.upfront_usd
        and copies * better.effective_usd_per_hour + more_usd <= worse.effective_usd_per_hour
    )


def _spot_prices(better: _Profile, worse: _Profile, copies: int, more_usd: Decimal) -> bool:
    """Cover spot use by spot that is no dearer, or by firm nodes that are no dearer than it."""
    if worse.spot is None or not worse.uses_spot:
        return True
    for offer, market in ((better.spot, "True"), (better.firm, "False")):
        is_no_dearer = _no_dearer(offer, worse.spot, copies, more_usd)
        if is_no_dearer and _covers_spot_options(better, worse, market):
            return True
    return False


def _covers_spot_options(better: _Profile, worse: _Profile, market: str) -> bool:
    return all(
        _covers_serving(better.serving.get((*key[:-1], market), []), options)
        for key, options in worse.serving.items()
        if key[-1] == "True"
    ) and all(
        _covers_training(better.training.get((*key[:-1], market), []), options)
        for key, options in worse.training.items()
        if key[-1] == "True"
    )


def _no_dearer(better: Offer | None, worse: Offer, copies: int, more_usd: Decimal) -> bool:
    if better is None:
        return False
    return copies * better.usd_per_hour + more_usd <= worse.effective_usd_per_hour


def _covers_serving(better: Sequence[ServingOption], worse: Sequence[ServingOption]) -> bool:
    """Say whether each option has its like: replicas move to the other machine as they are."""
    return all(
        any(
            Configuration.of(one.candidate) == Configuration.of(other.candidate)
            and one.egress_usd <= other.egress_usd
            and all(
                mine.requests_per_s >= theirs.requests_per_s
                for mine, theirs in zip(one.candidate.rates, other.candidate.rates, strict=True)
            )
            for one in better
        )
        for other in worse
    )


def _covers_training(better: Sequence[TrainingOption], worse: Sequence[TrainingOption]) -> bool:
    return all(
        any(
            one.candidate.nodes <= other.candidate.nodes
            and one.candidate.tokens_per_s >= other.candidate.tokens_per_s
            and one.candidate.startup_s <= other.candidate.startup_s
            and one.data_usd <= other.data_usd
            for one in better
        )
        for other in worse
    )
