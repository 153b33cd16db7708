"""Machines side by side: whether one does for no more money all that another one does."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from broker.domain.case import Case, ServingOption, TrainingOption, committed_hours
from broker.domain.offer import Offer, PriceKind
from broker.domain.workload import Quota
from solver.milp.churn import staying, weighs_churn
from solver.milp.constraints.quota import is_under
from solver.milp.fleets import rates_of
from solver.milp.min_up import steady_services
from solver.milp.sets import Configuration, Configurations
from solver.milp.shares import spread_services
from solver.milp.zones import spread_places

_NOWHERE: frozenset[str] = frozenset()
_MARKETS = frozenset({"True", "False"})
_Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Storage:
    """What keeping weights for an hour costs at least and at most, for replicas that are alike.

    Each takes so many `gpus`.
    """

    gpus: float
    least_usd: Decimal
    most_usd: Decimal


@dataclass(slots=True)
class _Profile:
    """One machine: its prices by kind, and its options by what they serve.

    `storage` is also by configuration: each is one object, while profiles are read.
    """

    machine: str
    gpus: int
    firm: Offer | None = None
    spot: Offer | None = None
    committed: list[Offer] = field(default_factory=list)
    serving: dict[_Key, list[ServingOption]] = field(default_factory=lambda: defaultdict(list))
    training: dict[_Key, list[TrainingOption]] = field(default_factory=lambda: defaultdict(list))
    storage: dict[_Key, dict[int, _Storage]] = field(default_factory=lambda: defaultdict(dict))
    outliving: set[str] = field(default_factory=set)
    cloud: str = ""
    steady: frozenset[str] = frozenset()
    has_plan: bool = False
    limited: bool = False
    one_for_one: bool = False
    quotas: frozenset[int] = frozenset()

    @property
    def rank(self) -> tuple[bool, Decimal, str]:
        """Order machines: those without limits first, then by their least price of a GPU."""
        used = [one for one in self.offers() if one is not self.spot or self.uses_spot]
        prices = [offer.effective_usd_per_hour / self.gpus for offer in used]
        return (self.limited, min(prices, default=Decimal(0)), self.machine)

    @property
    def uses_spot(self) -> bool:
        """Say whether anything may be on spot there."""
        return any(key[-1] == "True" for key in (*self.serving, *self.training))

    def offers(self) -> list[Offer]:
        """List what it is sold as."""
        return [offer for offer in (self.firm, self.spot, *self.committed) if offer is not None]


def dominated_machines(cases: Sequence[Case]) -> dict[str, str]:
    """Map each machine that another one replaces in all of some cases to that one.

    The cases differ in loads and prices alone; what is on spot moves to one market in all of them.
    """
    kept_anyway = {one.machine for one in cases[0].owned} | staying(cases[0])
    profiles = [_profiles(case) for case in cases]
    unlimited: list[str] = []
    dominated: dict[str, str] = {}
    for profile in sorted(profiles[0].values(), key=lambda one: one.rank):
        name = profile.machine
        better = next((one for one in unlimited if _replaces(one, name, profiles)), None)
        if better is None or name in kept_anyway:
            if not (profile.limited or profile.quotas):
                unlimited.append(name)
        else:
            dominated[name] = better
    return dominated


def _replaces(better: str, worse: str, profiles: Sequence[Mapping[str, _Profile]]) -> bool:
    markets = _MARKETS
    for of in profiles:
        markets &= _replacing_markets(of[better], of[worse])
        if not markets:
            return False
    return True


def _profiles(case: Case) -> dict[str, _Profile]:
    keys = {one.machine for one in case.serving} | {one.machine for one in case.training}
    gpus = {key: int(case.machines[key].hardware.shape.gpu_count) for key in sorted(keys)}
    profiles = {key: _Profile(key, gpus[key], one_for_one=weighs_churn(case)) for key in gpus}
    for offer in case.offers:
        if offer.machine in profiles:
            _add_offer(profiles[offer.machine], offer, case.workloads.quotas)
            if outlives(offer, case):
                profiles[offer.machine].outliving.add(offer.key)
    steady = steady_services(case)
    spread, zones = spread_services(case), spread_places(case)
    configurations = Configurations()
    for serving in case.serving:
        configuration = configurations.of(serving.candidate)
        name = _served_as(serving, configuration)
        profiles[serving.machine].serving[(*name, str(serving.on_spot))].append(serving)
        alike = profiles[serving.machine].storage[name]
        _add_storage(alike, configuration, serving.storage_usd_per_hour)
        if serving.service in spread:
            profiles[serving.machine].cloud = zones[serving.machine]
        profiles[serving.machine].steady = steady
    for training in case.training:
        done = (training.run, str(training.candidate.on_spot))
        profiles[training.machine].training[done].append(training)
    return profiles


def _add_storage(alike: dict[int, _Storage], configuration: Configuration, usd: Decimal) -> None:
    known = alike.get(id(configuration))
    if known is None:
        alike[id(configuration)] = _Storage(configuration.gpus, usd, usd)
    elif not known.least_usd <= usd <= known.most_usd:
        least_usd, most_usd = min(known.least_usd, usd), max(known.most_usd, usd)
        alike[id(configuration)] = _Storage(known.gpus, least_usd, most_usd)


def _served_as(option: ServingOption, own: Configuration) -> _Key:
    """Name what an option serves; one in a pool is like those of the same pool and class alone."""
    name = (option.service, option.user_region)
    return name if own.role is None else (*name, own.role, str(own.pool))


def outlives(offer: Offer, case: Case) -> bool:
    """Say whether a commitment goes on after the horizon."""
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


def _replacing_markets(better: _Profile, worse: _Profile) -> frozenset[str]:
    """Say where another machine takes what is on spot on a dominated one; none if it is not.

    "True" is on spot, "False" on firm nodes; both where nothing is on spot.
    """
    copies = _copies(better, worse)
    if worse.has_plan or copies == 0:
        return _NOWHERE
    if worse.cloud and worse.cloud != better.cloud:
        return _NOWHERE
    more_usd = _more_storage_usd(better, worse)
    is_firm_covered = (
        _firm_prices(better, worse, copies, more_usd)
        and all(
            _covers_serving(better.serving.get(key, []), options, worse.steady)
            for key, options in worse.serving.items()
            if key[-1] == "False"
        )
        and all(
            _covers_training(better.training.get(key, []), options)
            for key, options in worse.training.items()
            if key[-1] == "False"
        )
    )
    return _spot_markets(better, worse, copies, more_usd) if is_firm_covered else _NOWHERE


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
    for key, here in worse.storage.items():
        there = better.storage.get(key, {})
        for alike in here.keys() & there.keys():
            held = int(worse.gpus // here[alike].gpus)
            more = max(more, held * (there[alike].most_usd - here[alike].least_usd))
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


def _spot_markets(
    better: _Profile, worse: _Profile, copies: int, more_usd: Decimal
) -> frozenset[str]:
    """Cover spot use by spot that is no dearer, or by firm nodes that are no dearer than it."""
    spot = worse.spot
    markets = {"True": better.spot, "False": better.firm}
    if spot is None or not worse.uses_spot:
        return _MARKETS
    return frozenset(
        market
        for market, offer in markets.items()
        if _no_dearer(offer, spot, copies, more_usd) and _covers_spot_options(better, worse, market)
    )


def _covers_spot_options(better: _Profile, worse: _Profile, market: str) -> bool:
    return all(
        _covers_serving(better.serving.get((*key[:-1], market), []), options, worse.steady)
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


def _covers_serving(
    better: Sequence[ServingOption], worse: Sequence[ServingOption], steady: frozenset[str]
) -> bool:
    """Say whether each option has its like: replicas move to the other machine as they are.

    Those of `steady` services, which stay up for a time, have the same rates there.
    """
    return all(
        any(
            Configuration.of(one.candidate) == Configuration.of(other.candidate)
            and one.egress_usd <= other.egress_usd
            and all(
                mine.requests_per_s >= theirs.requests_per_s
                for mine, theirs in zip(one.candidate.rates, other.candidate.rates, strict=True)
            )
            and (other.service not in steady or rates_of(one) == rates_of(other))
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
