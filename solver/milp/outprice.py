"""Exact pruning by standalone prices: what costs more than renting something else, alone, goes.

A *standalone* replica fills its nodes and is rented by the hour from an offer without limits, so
its price is known without knowing the rest of the plan; so is that of a gang on rented nodes. An
option goes where even the cheapest way to pay for its machine costs more than a standalone one
that does the same. Where options share nodes (parts of a node, or committed nodes) they only go
all together, as leaving one behind could leave its nodes behind too; and firm and spot replicas
of one kind go together, as otherwise the service could need one kind more. Owned machines stay.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Self

from broker.domain.case import Case, ServingOption, TrainingOption
from broker.domain.offer import Offer, PriceKind
from solver.milp.build import fewest_slots
from solver.milp.constraints.quota import is_under

_Demand = tuple[str, str]
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
    """One kind of replica: its options by side, and what a replica costs an hour there at least."""

    options: Mapping[bool, ServingOption]
    usd_per_hour: Mapping[bool, Decimal]

    @property
    def any_option(self) -> ServingOption:
        return next(iter(self.options.values()))

    def sides(self) -> list[_Side]:
        return [(one.machine, on_spot) for on_spot, one in self.options.items()]

    def replaces(self, other: "_Kind") -> bool:
        """Say whether copies of this one, at prices that stand, cost no more and do no less."""
        firm = self.usd_per_hour[False]
        prices = {False: firm, True: min(firm, self.usd_per_hour.get(True, firm))}
        if not all(prices.values()):
            return False
        copies = min(int(usd // prices[side]) for side, usd in other.usd_per_hour.items())
        rates = zip(self.any_option.candidate.rates, other.any_option.candidate.rates, strict=True)
        return copies > 0 and all(
            copies * mine.requests_per_s >= theirs.requests_per_s for mine, theirs in rates
        )


def drop_outpriced(case: Case) -> Case:
    """Drop every serving and training option that a standalone one replaces for no more."""
    markets = _markets(case)
    kinds = _kinds(case, markets)
    gone = _replaceable_kinds(kinds, markets)
    gone_runs = _replaceable_training(case, markets, _standalone_runs(case, markets))
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


def _markets(case: Case) -> _Markets:
    owned = {one.machine for one in case.owned}
    by_side: dict[_Side, list[Offer]] = defaultdict(list)
    for offer in case.offers:
        by_side[offer.machine, offer.price_kind is PriceKind.SPOT].append(offer)
    for machine in owned:
        by_side.setdefault((machine, False), [])
    return {
        (machine, on_spot): _Market(
            floor_usd=min((one.effective_usd_per_hour for one in offers), default=Decimal(0)),
            gpus=int(case.machines[machine].hardware.shape.gpu_count),
            is_hourly=all(one.commitment is None for one in offers),
            is_open=bool(offers) and all(_is_open(one, case) for one in offers),
            is_owned=machine in owned and not on_spot,
        )
        for (machine, on_spot), offers in by_side.items()
    }


def _is_open(offer: Offer, case: Case) -> bool:
    is_limited = offer.stock is not None or offer.limits.max_nodes is not None
    return not is_limited and not any(is_under(offer, one) for one in case.workloads.quotas)


def _kinds(case: Case, markets: _Markets) -> list[_Kind]:
    alike: dict[tuple[str, str, str, str], dict[bool, ServingOption]] = defaultdict(dict)
    for one in case.serving:
        alike[one.service, one.user_region, one.machine, one.candidate.id][one.on_spot] = one
    return [
        _Kind(options, {side: _replica_usd(one, markets) for side, one in options.items()})
        for options in alike.values()
    ]


def _replica_usd(option: ServingOption, markets: _Markets) -> Decimal:
    market = markets[option.machine, option.on_spot]
    return market.floor_usd * option.candidate.layout.gpus / market.gpus


def _replaceable_kinds(kinds: Sequence[_Kind], markets: _Markets) -> list[bool]:
    best: dict[_Demand, list[_Kind]] = defaultdict(list)
    for kind in sorted(kinds, key=_order):
        option = kind.any_option
        others = best[option.service, option.user_region]
        fills_node = all(
            one.candidate.layout.gpus == markets[one.machine, on_spot].gpus
            and markets[one.machine, on_spot].is_standalone
            for on_spot, one in kind.options.items()
        )
        if False in kind.options and fills_node and not any(two.replaces(kind) for two in others):
            others.append(kind)
    return [
        all(kind is not two for two in others) and any(two.replaces(kind) for two in others)
        for kind in kinds
        for others in [best[kind.any_option.service, kind.any_option.user_region]]
    ]


def _order(kind: _Kind) -> tuple[Decimal, float, str, str]:
    option = kind.any_option
    rate = sum(rate.requests_per_s for rate in option.candidate.rates)
    return (min(kind.usd_per_hour.values()), -rate, option.machine, option.candidate.id)


def _standalone_runs(case: Case, markets: _Markets) -> dict[str, tuple[Decimal, TrainingOption]]:
    """Give each run's cheapest standalone option with its cost, where there is one."""
    best: dict[str, tuple[Decimal, TrainingOption]] = {}
    windows = _window_slots(case)
    for option in sorted(case.training, key=lambda one: (one.run, one.machine, one.candidate.id)):
        market = markets[option.machine, option.candidate.on_spot]
        usd = _run_usd(case, option, market, windows)
        if usd is None or not market.is_standalone:
            continue
        if option.run not in best or usd < best[option.run][0]:
            best[option.run] = (usd, option)
    return best


def _window_slots(case: Case) -> dict[str, int]:
    """Count the whole slots in each run's window."""
    slots = case.workloads.horizon.slots()
    return {
        run.name: sum(
            run.window.earliest <= slot.start_at and slot.end_at <= run.window.deadline
            for slot in slots
        )
        for run in case.workloads.training
    }


def _run_usd(
    case: Case, option: TrainingOption, market: _Market, windows: Mapping[str, int]
) -> Decimal | None:
    """Price a run's slots at the market's floor, egress included; None where it takes too long."""
    run = next(one for one in case.workloads.training if one.name == option.run)
    slot_h = case.workloads.horizon.slot.total_seconds() / 3600
    needed = fewest_slots(run, option.candidate, slot_h)
    if needed > windows[option.run]:
        return None
    hours = Decimal(str(needed * slot_h))
    return option.candidate.nodes * hours * market.floor_usd + option.egress_usd


def _replaceable_training(
    case: Case,
    markets: _Markets,
    best: Mapping[str, tuple[Decimal, TrainingOption]],
) -> list[bool]:
    gone = []
    windows = _window_slots(case)
    for option in case.training:
        market = markets[option.machine, option.candidate.on_spot]
        usd = _run_usd(case, option, market, windows)
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
        sides = [
            (side, kind.any_option.candidate.layout.gpus) for kind in kinds for side in kind.sides()
        ]
        gangs = {(run.machine, run.candidate.on_spot) for run in runs}
        return cls(
            parts=frozenset(side for side, gpus in sides if gpus < markets[side].gpus),
            anything=frozenset({*(side for side, _ in sides), *gangs}),
        )

    def keeps_kind(self, kind: _Kind, markets: _Markets) -> bool:
        """Say whether a replaceable kind stays for what it shares nodes with, on either side."""
        gpus = kind.any_option.candidate.layout.gpus
        return any(self._keeps(side, markets[side], gpus) for side in kind.sides())

    def keeps_run(self, run: TrainingOption, markets: _Markets) -> bool:
        """Say whether a replaceable run option stays for what it shares nodes with."""
        side = (run.machine, run.candidate.on_spot)
        return self._keeps(side, markets[side], markets[side].gpus)

    def _keeps(self, side: _Side, market: _Market, gpus: int) -> bool:
        if market.is_owned:
            return True
        if not market.is_hourly:
            return side in self.anything
        return gpus < market.gpus and side in self.parts
