"""Exact pruning by standalone prices: what costs more than renting something else, alone, goes.

A *standalone* replica fills its nodes and is rented by the hour from an offer without limits, so
its price is known without knowing the rest of the plan; so is that of a gang on rented nodes. An
option goes where even the cheapest way to pay for its machine costs more than a standalone one
that does the same. Where options share nodes (parts of a node, or committed nodes) they only go
all together, as leaving one behind could leave its nodes behind too; and firm and spot replicas
of one kind go together, as otherwise the service could need one kind more. Owned machines stay. A
machine with the rate of a savings plan may cost nothing more, where the promise is not used up.
Where churn is weighed nothing goes: what a moved node counts as is in no price of an hour.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Self

from broker.domain.case import Case, ServingOption, TrainingOption
from broker.domain.offer import Offer, PriceKind
from broker.domain.workload import Run
from solver.milp.build import fewest_slots
from solver.milp.churn import weighs_churn
from solver.milp.constraints.quota import is_under
from solver.milp.min_up import steady_services
from solver.milp.sets import Configurations, most_slots, served_as
from solver.milp.shares import spread_services

_Side = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class _Market:
    """One side of a machine, firm or spot: what a node costs an hour at least, and how it is sold.

    `is_hourly` nodes come and go by the hour; others are committed or owned. `is_open` offers have
    neither stock nor quota.
    """

    floor_usd: Decimal
    gpus: int
    is_hourly: bool
    is_open: bool
    is_owned: bool

    @property
    def is_standalone(self) -> bool:
        """Say whether what fills a node here has a price that stands for itself."""
        return self.is_hourly and self.is_open and not self.is_owned


_Markets = Mapping[_Side, _Market]


@dataclass(frozen=True, slots=True)
class _Kind:
    """One kind of replica: its options by side, and what a replica costs an hour there at least.

    Options of one configuration are one kind here, whatever their rates.
    """

    options: Mapping[_Side, ServingOption]
    usd_per_hour: Mapping[_Side, Decimal]

    @property
    def any_option(self) -> ServingOption:
        return next(iter(self.options.values()))

    @property
    def best_rates(self) -> list[float]:
        """Give the highest rate of each size class on any machine."""
        rates = [
            [rate.requests_per_s for rate in one.candidate.rates] for one in self.options.values()
        ]
        return [max(of_class) for of_class in zip(*rates, strict=True)]


@dataclass(frozen=True, slots=True)
class _Standalone:
    """A firm replica that fills its nodes, and what it costs an hour, on spot too where it may."""

    kind: int
    option: ServingOption
    firm_usd: Decimal
    spot_usd: Decimal

    def replaces(self, kind: _Kind) -> bool:
        """Say whether copies of this one, at prices that stand, cost no more and do no less."""
        prices = {False: self.firm_usd, True: min(self.firm_usd, self.spot_usd)}
        if not all(prices.values()):
            return False
        copies = min(int(usd // prices[on_spot]) for (_, on_spot), usd in kind.usd_per_hour.items())
        return copies > 0 and all(
            copies * mine.requests_per_s >= theirs
            for mine, theirs in zip(self.option.candidate.rates, kind.best_rates, strict=True)
        )


def drop_outpriced(case: Case, dearest: Case | None = None) -> Case:
    """Drop every serving and training option that a standalone one replaces for no more.

    Where prices are known within bounds alone, those of the case are the least and those of
    `dearest` the most: an option goes where it costs more at the least than the other at the most.
    """
    if weighs_churn(case):
        return case
    markets = _markets(case)
    dear = markets if dearest is None else _markets(dearest)
    kinds, rivals = _kinds(case, markets), _kinds(case, dear)
    fixed = spread_services(case) | fetching_services(case) | steady_services(case)
    gone = _replaceable_kinds(kinds, list(_standalone(rivals, dear)), fixed)
    gone_runs = _replaceable_training(case, markets, _standalone_runs(case, dear))
    kept = _Kept.of(
        markets,
        [kind for kind, is_gone in zip(kinds, gone, strict=True) if not is_gone],
        [run for run, is_gone in zip(case.training, gone_runs, strict=True) if not is_gone],
    )
    return replace(
        case,
        serving=tuple(
            option
            for kind, is_gone in zip(kinds, gone, strict=True)
            for option in kind.options.values()
            if not is_gone or kept.keeps_kind(kind, markets)
        ),
        training=tuple(
            run
            for run, is_gone in zip(case.training, gone_runs, strict=True)
            if not is_gone or kept.keeps_run(run, markets)
        ),
    )


def fetching_services(case: Case) -> frozenset[str]:
    """Name the services that pay somewhere for bringing their weights."""
    return frozenset(one.service for one in case.serving if one.egress_usd)


def _markets(case: Case) -> _Markets:
    owned = {one.machine for one in case.owned}
    by_side: dict[_Side, list[Offer]] = defaultdict(list)
    for offer in case.offers:
        by_side[offer.machine, offer.price_kind is PriceKind.SPOT].append(offer)
    for machine in owned:
        by_side.setdefault((machine, False), [])
    return {
        (machine, on_spot): _Market(
            floor_usd=min((_floor_usd(one) for one in offers), default=Decimal(0)),
            gpus=int(case.machines[machine].hardware.shape.gpu_count),
            is_hourly=all(one.commitment is None and one.block is None for one in offers),
            is_open=bool(offers) and all(_is_open(one, case) for one in offers),
            is_owned=machine in owned and not on_spot,
        )
        for (machine, on_spot), offers in by_side.items()
    }


def _floor_usd(offer: Offer) -> Decimal:
    is_promised = offer.price_kind is PriceKind.SAVINGS_PLAN
    return Decimal(0) if is_promised else offer.effective_usd_per_hour


def _is_open(offer: Offer, case: Case) -> bool:
    is_limited = offer.stock is not None or offer.limits.max_nodes is not None
    return not is_limited and not any(is_under(offer, one) for one in case.workloads.quotas)


def _kinds(case: Case, markets: _Markets) -> list[_Kind]:
    configurations = Configurations()
    alike: dict[tuple[str, str, int], dict[_Side, ServingOption]] = defaultdict(dict)
    for one in case.serving:
        name = (one.service, one.user_region, id(configurations.of(one.candidate)))
        alike[name][one.machine, one.on_spot] = one
    return [_Kind(options, _replica_usd(options, markets)) for options in alike.values()]


def _replica_usd(options: Mapping[_Side, ServingOption], markets: _Markets) -> dict[_Side, Decimal]:
    """Give what a replica costs an hour by side; all take as many GPUs."""
    found: dict[_Side, Decimal] = {}
    gpus = next(iter(options.values())).candidate.gpus
    for side, option in options.items():
        market = markets[side]
        nodes_usd = market.floor_usd * gpus.numerator / (gpus.denominator * market.gpus)
        found[side] = nodes_usd + option.storage_usd_per_hour
    return found


def _replaceable_kinds(
    kinds: Sequence[_Kind], standalone: Sequence[_Standalone], kept: frozenset[str]
) -> list[bool]:
    """Say of each kind whether a standalone replica replaces it; of two that do, one stays.

    None of a service that must be spread over providers, as a standalone one has one provider, nor
    of one that pays once for bringing its weights, or whose replicas stay up for a time.
    """
    best: dict[tuple[object, ...], list[_Standalone]] = defaultdict(list)
    for one in sorted(standalone, key=_order):
        best[served_as(one.option)].append(one)
    gone = [False] * len(kinds)
    stays: set[int] = set()
    for number, kind in enumerate(kinds):
        if number in stays or kind.any_option.service in kept:
            continue
        for one in best[served_as(kind.any_option)]:
            if one.kind != number and not gone[one.kind] and one.replaces(kind):
                gone[number] = True
                stays.add(one.kind)
                break
    return gone


def _standalone(kinds: Sequence[_Kind], markets: _Markets) -> Iterator[_Standalone]:
    for number, kind in enumerate(kinds):
        for (machine, on_spot), option in kind.options.items():
            market = markets[machine, on_spot]
            fills_node = option.candidate.gpus == market.gpus
            if on_spot or not fills_node or not market.is_standalone:
                continue
            firm_usd = kind.usd_per_hour[machine, False]
            spot = markets.get((machine, True))
            has_spot = (machine, True) in kind.options and spot is not None and spot.is_standalone
            spot_usd = kind.usd_per_hour[machine, True] if has_spot else firm_usd
            yield _Standalone(number, option, firm_usd, spot_usd)


def _order(one: _Standalone) -> tuple[Decimal, float, str, str]:
    rate = sum(rate.requests_per_s for rate in one.option.candidate.rates)
    return (one.firm_usd, -rate, one.option.machine, one.option.candidate.id)


def _standalone_runs(case: Case, markets: _Markets) -> dict[str, tuple[Decimal, TrainingOption]]:
    """Give each run's cheapest standalone option with its cost, where there is one."""
    best: dict[str, tuple[Decimal, TrainingOption]] = {}
    asked = _asked(case)
    for option in sorted(case.training, key=lambda one: (one.run, one.machine, one.candidate.id)):
        market = markets[option.machine, option.candidate.on_spot]
        usd = _run_usd(option, market, asked[option.run])
        if usd is None or not market.is_standalone:
            continue
        if option.run not in best or usd < best[option.run][0]:
            best[option.run] = (usd, option)
    return best


@dataclass(frozen=True, slots=True)
class _Asked:
    """A run, the whole slots that it may take, and how long one is."""

    run: Run
    slots: int
    slot_h: float


def _asked(case: Case) -> dict[str, _Asked]:
    """Count the whole slots in each run's window, or in its longest duration if that is less."""
    horizon = case.workloads.horizon
    slots = horizon.slots()
    return {
        run.name: _Asked(
            run,
            min(
                most_slots(run, horizon),
                sum(
                    run.window.earliest <= slot.start_at and slot.end_at <= run.window.deadline
                    for slot in slots
                ),
            ),
            slots[0].hours,
        )
        for run in case.workloads.runs
    }


def _run_usd(option: TrainingOption, market: _Market, asked: _Asked) -> Decimal | None:
    """Price a run's slots at the market's floor, with its data; None where it takes too long."""
    needed = fewest_slots(asked.run, option.candidate, asked.slot_h)
    if needed > asked.slots:
        return None
    hours = Decimal(str(needed * asked.slot_h))
    return option.candidate.nodes * hours * market.floor_usd + option.data_usd


def _replaceable_training(
    case: Case,
    markets: _Markets,
    best: Mapping[str, tuple[Decimal, TrainingOption]],
) -> list[bool]:
    gone = []
    asked = _asked(case)
    for option in case.training:
        market = markets[option.machine, option.candidate.on_spot]
        usd = _run_usd(option, market, asked[option.run])
        rival = best.get(option.run)
        gone.append(usd is None or (rival is not None and rival[1] != option and rival[0] <= usd))
    return gone


@dataclass(frozen=True, slots=True)
class _Kept:
    """Sides of machines on which something is not replaceable: parts of nodes, or anything."""

    parts: frozenset[_Side]
    anything: frozenset[_Side]

    @classmethod
    def of(cls, markets: _Markets, kinds: Sequence[_Kind], runs: Sequence[TrainingOption]) -> Self:
        sides = [(side, kind.any_option.candidate.gpus) for kind in kinds for side in kind.options]
        gangs = {(run.machine, run.candidate.on_spot) for run in runs}
        return cls(
            parts=frozenset(side for side, gpus in sides if gpus < markets[side].gpus),
            anything=frozenset({*(side for side, _ in sides), *gangs}),
        )

    def keeps_kind(self, kind: _Kind, markets: _Markets) -> bool:
        """Say whether a replaceable kind stays for what it shares nodes with, on either side."""
        gpus = kind.any_option.candidate.gpus
        return any(self._keeps(side, markets[side], gpus) for side in kind.options)

    def keeps_run(self, run: TrainingOption, markets: _Markets) -> bool:
        """Say whether a replaceable run option stays for what it shares nodes with."""
        side = (run.machine, run.candidate.on_spot)
        return self._keeps(side, markets[side], markets[side].gpus)

    def _keeps(self, side: _Side, market: _Market, gpus: int | Fraction) -> bool:
        if market.is_owned:
            return True
        if not market.is_hourly:
            return side in self.anything
        return gpus < market.gpus and side in self.parts
