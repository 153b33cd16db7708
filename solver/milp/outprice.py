"""Exact pruning by standalone prices: what costs more than renting something else, alone, goes.

A *standalone* replica fills its nodes and is rented by the hour from an offer without limits, so
its price is known without knowing the rest of the plan; so is that of a gang on rented nodes. An
option goes where even the cheapest way to pay for its machine costs more than a standalone one
that does the same. Where options share nodes (parts of a node, or committed nodes) they only go
all together, as leaving one behind could leave its nodes behind too. Owned machines always stay.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from broker.domain.case import Case, ServingOption, TrainingOption
from broker.domain.offer import Offer, PriceKind
from solver.milp.constraints.quota import is_under
from solver.milp.sets import fewest_slots

_Demand = tuple[str, str, bool]


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


@dataclass(frozen=True, slots=True)
class _Standalone:
    """A replica at a price that stands for itself."""

    option: ServingOption
    usd_per_hour: Decimal

    def replaces(self, option: ServingOption, usd_per_hour: Decimal) -> bool:
        """Say whether copies of this one cost no more and do no less."""
        if not self.usd_per_hour:
            return False
        copies = int(usd_per_hour // self.usd_per_hour)
        return copies > 0 and all(
            copies * mine.requests_per_s >= other.requests_per_s
            for mine, other in zip(self.option.candidate.rates, option.candidate.rates, strict=True)
        )


def drop_outpriced(case: Case) -> Case:
    """Drop every serving and training option that a standalone one replaces for no more."""
    markets = _markets(case)
    best = _standalone_replicas(case, markets)
    runs = _standalone_runs(case, markets)
    gone = _replaceable_serving(case, markets, best)
    gone_runs = _replaceable_training(case, markets, runs)
    serving, training = _whole_parts(case, markets, gone, gone_runs)
    return replace(case, serving=serving, training=training)


def _markets(case: Case) -> dict[tuple[str, bool], _Market]:
    owned = {one.machine for one in case.owned}
    by_side: dict[tuple[str, bool], list[Offer]] = defaultdict(list)
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
    is_limited = offer.limits.stock_nodes is not None or offer.limits.max_nodes is not None
    return not is_limited and not any(is_under(offer, one) for one in case.workloads.quotas)


def _is_standalone(market: _Market) -> bool:
    return market.is_hourly and market.is_open and not market.is_owned


def _standalone_replicas(
    case: Case, markets: Mapping[tuple[str, bool], _Market]
) -> dict[_Demand, list[_Standalone]]:
    """Give, by demand and market, the standalone replicas that no other one replaces."""
    found: dict[_Demand, list[_Standalone]] = defaultdict(list)
    for option in case.serving:
        market = markets[option.machine, option.on_spot]
        if _is_standalone(market) and option.candidate.layout.gpus == market.gpus:
            demand = (option.service, option.user_region, option.on_spot)
            found[demand].append(_Standalone(option, market.floor_usd))
    return {demand: _best(replicas) for demand, replicas in found.items()}


def _best(replicas: Iterable[_Standalone]) -> list[_Standalone]:
    def order(one: _Standalone) -> tuple[Decimal, float, str, str]:
        rate = sum(rate.requests_per_s for rate in one.option.candidate.rates)
        return (one.usd_per_hour, -rate, one.option.machine, one.option.candidate.id)

    best: list[_Standalone] = []
    for one in sorted(replicas, key=order):
        if not any(other.replaces(one.option, one.usd_per_hour) for other in best):
            best.append(one)
    return best


def _standalone_runs(
    case: Case, markets: Mapping[tuple[str, bool], _Market]
) -> dict[str, tuple[Decimal, TrainingOption]]:
    """Give each run's cheapest standalone option with its cost, where there is one."""
    best: dict[str, tuple[Decimal, TrainingOption]] = {}
    windows = _window_slots(case)
    for option in sorted(case.training, key=lambda one: (one.run, one.machine, one.candidate.id)):
        market = markets[option.machine, option.candidate.on_spot]
        usd = _run_usd(case, option, market, windows)
        if usd is None or not _is_standalone(market):
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


def _replaceable_serving(
    case: Case,
    markets: Mapping[tuple[str, bool], _Market],
    best: Mapping[_Demand, Sequence[_Standalone]],
) -> list[bool]:
    return [
        _is_replaceable(option, markets[option.machine, option.on_spot], best)
        for option in case.serving
    ]


def _is_replaceable(
    option: ServingOption, market: _Market, best: Mapping[_Demand, Sequence[_Standalone]]
) -> bool:
    usd = market.floor_usd * option.candidate.layout.gpus / market.gpus
    firm = best.get((option.service, option.user_region, False), [])
    same = best.get((option.service, option.user_region, option.on_spot), [])
    others = [*firm, *same] if option.on_spot else firm
    if any(one.option == option for one in others):
        return False
    return any(one.replaces(option, usd) for one in others)


def _replaceable_training(
    case: Case,
    markets: Mapping[tuple[str, bool], _Market],
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

    parts: frozenset[tuple[str, bool]]
    anything: frozenset[tuple[str, bool]]

    def stays(self, side: tuple[str, bool], market: _Market, gpus: int) -> bool:
        """Say whether a replaceable option stays for what it shares nodes with."""
        if market.is_owned:
            return True
        if not market.is_hourly:
            return side in self.anything
        return gpus < market.gpus and side in self.parts


def _whole_parts(
    case: Case,
    markets: Mapping[tuple[str, bool], _Market],
    gone: Sequence[bool],
    gone_runs: Sequence[bool],
) -> tuple[tuple[ServingOption, ...], tuple[TrainingOption, ...]]:
    """Keep what is not replaceable, and what shares nodes with something that is not."""
    serving = [(one, (one.machine, one.on_spot), one.candidate.layout.gpus) for one in case.serving]
    training = [(one, (one.machine, one.candidate.on_spot)) for one in case.training]
    left = [one for one, is_gone in zip(serving, gone, strict=True) if not is_gone]
    left_runs = [
        side for (_, side), is_gone in zip(training, gone_runs, strict=True) if not is_gone
    ]
    kept = _Kept(
        parts=frozenset(side for _, side, gpus in left if gpus < markets[side].gpus),
        anything=frozenset({*(side for _, side, _ in left), *left_runs}),
    )
    return (
        tuple(
            one
            for (one, side, gpus), is_gone in zip(serving, gone, strict=True)
            if not is_gone or kept.stays(side, markets[side], gpus)
        ),
        tuple(
            one
            for (one, side), is_gone in zip(training, gone_runs, strict=True)
            if not is_gone or kept.stays(side, markets[side], markets[side].gpus)
        ),
    )
