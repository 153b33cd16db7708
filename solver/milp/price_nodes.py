"""What a GPU of every machine is worth in each period, by the duals of a small relaxed program."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from solver.milp.constraints.min_zones import ZonePrices, zone_prices
from solver.milp.constraints.provider_share import share_prices
from solver.milp.constraints.zone_loss import loss_prices
from solver.milp.places import PlacePrices
from solver.milp.price_fills import FillPrices, fill_prices, node_usd
from solver.milp.program import Program
from solver.milp.relax import Relaxed
from solver.milp.sets import Floats, Sets
from solver.milp.work_prices import WorkPrices, work_prices

_HALVINGS = 30
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Kept:
    """What replicas earn that stay up on a machine for a share of the time.

    Dollars for each GPU, and for each whole node that a block of them would need alone.
    """

    machine: int
    share: float
    gpu_usd: float
    node_usd: float

    def usd(self, gpus: Floats, gpus_a_node: int) -> Floats:
        """Give what blocks earn that have so many GPUs up."""
        return np.asarray(
            self.gpu_usd * gpus + self.node_usd * np.ceil(gpus / gpus_a_node - _SLACK)
        )


@dataclass(frozen=True, slots=True)
class NodePrices:
    """What a GPU costs by machine and period: firm for services, for gangs, and on spot.

    `alone` is the price for gangs where no service is on the machine, so that no commitment may
    outlive the horizon. `rent` is its price by the hour, by machine. `kept` is what keeping
    replicas up for a share of the time earns. `shares` are prices of providers for kinds that must
    be spread over them, `losses` those of zones where one may be lost, `fills` those of whole
    nodes, which gangs pay too, `work` those of replicas and gangs by their own budgets, `zones`
    what replicas earn where they must be in several.
    """

    firm: Floats
    gangs: Floats
    spot: Floats
    spot_gangs: Floats
    rent: Floats
    alone: Floats
    kept: tuple[Kept, ...] = ()
    shares: Mapping[int, PlacePrices] = field(default_factory=dict)
    fills: FillPrices = field(default_factory=FillPrices)
    losses: Mapping[int, PlacePrices] = field(default_factory=dict)
    work: WorkPrices | None = None
    zones: ZonePrices | None = None


def flat_prices(sets: Sets) -> NodePrices:
    """Price each GPU at the cheapest way to have it, all the same; owned ones at nothing."""
    rates: dict[int, list[float]] = defaultdict(list)
    for one in sets.committed:
        rates[one.machine].append(one.usd_per_node / max(one.active_h, 1e-9))
    firm, spot, rent = (np.zeros(len(sets.machines)) for _ in "123")
    for number, machine in enumerate(sets.machines):
        hourly = float(machine.on_demand.usd_per_hour) if machine.on_demand else np.inf
        owned = [0.0] if any(machine.owned) else []
        rent[number] = hourly / machine.gpus
        firm[number] = min([*rates[number], hourly, *owned]) / machine.gpus
        on_spot = float(machine.spot.usd_per_hour) if machine.spot else np.inf
        spot[number] = on_spot / machine.gpus
    by_period = np.outer(firm, sets.hours)
    spot_usd = np.outer(spot, sets.hours)
    return NodePrices(by_period, by_period, spot_usd, spot_usd, rent, _alone(sets, rent))


def _alone(sets: Sets, rent: Floats) -> Floats:
    committed = _committed_usd(sets, outlives=False)
    alone = np.zeros((len(sets.machines), len(sets.periods)))
    for number, machine in enumerate(sets.machines):
        if not any(machine.owned):
            alone[number] = _raised(sets, committed[number], rent[number], alone[number])
    return alone


def node_prices(sets: Sets, program: Program, solved: Relaxed, flat: NodePrices) -> NodePrices:
    """Price GPUs by the duals inside; outside like the same model inside, as far as that holds.

    Prices of a machine hold where no way to have it costs less than it earns. As nobody owns it,
    they may be raised to that: its nodes then are no cheaper a way to anything.
    """
    small = program.sets
    inside = {machine.key: number for number, machine in enumerate(small.machines)}
    duals = _inside(program, solved)
    like = by_model(small, duals.gangs, range(len(small.machines)))
    firm, spot = flat.firm.copy(), flat.spot.copy()
    gangs, spot_gangs = flat.gangs.copy(), flat.spot_gangs.copy()
    committed = _committed_usd(sets)
    for number, machine in enumerate(sets.machines):
        at = inside.get(machine.key)
        if at is not None:
            firm[number], gangs[number] = duals.firm[at], duals.gangs[at]
            spot[number], spot_gangs[number] = duals.spot[at], duals.spot_gangs[at]
            if not duals.is_split and not any(machine.owned):
                raised = _raised(sets, committed[number], flat.rent[number], gangs[number])
                firm[number] += raised - gangs[number]
                gangs[number] = raised
        elif not any(machine.owned):
            shape = np.minimum(
                like.get(model_of(sets, number), flat.firm[number]),
                flat.rent[number] * sets.hours,
            )
            held = _held(committed[number], shape)
            raised = _raised(sets, committed[number], flat.rent[number], held)
            gangs[number] = firm[number] = raised
    kept = _kept(sets, program, solved)
    nodes = NodePrices(firm, gangs, spot, spot_gangs, flat.rent, flat.alone, kept)
    return _with_rules(nodes, sets, program, solved)


def _with_rules(prices: NodePrices, sets: Sets, program: Program, solved: Relaxed) -> NodePrices:
    """Add the prices of rules over replicas and gangs themselves."""
    small = program.sets
    return replace(
        prices,
        fills=fill_prices(sets, small, rows_of_family(program, "whole_nodes", solved)),
        shares=share_prices(sets, small, rows_of_family(program, "provider_share", solved)),
        losses=loss_prices(sets, small, rows_of_family(program, "zone_loss", solved)),
        zones=zone_prices(small, rows_of_family(program, "min_zones", solved)),
        work=work_prices(
            sets,
            rows_of_family(program, "budgets", solved),
            rows_of_family(program, "month_budgets", solved),
        ),
    )


def by_model(sets: Sets, firm: Floats, machines: Iterable[int]) -> dict[str, Floats]:
    """Give the highest price of a GPU of each model on some machines, period by period."""
    like: dict[str, Floats] = {}
    for number in machines:
        model = model_of(sets, number)
        like[model] = np.maximum(like.get(model, 0.0), firm[number])
    return like


@dataclass(frozen=True, slots=True)
class _Inside:
    """Prices of a GPU by machine inside and period."""

    firm: Floats
    gangs: Floats
    spot: Floats
    spot_gangs: Floats
    is_split: bool


def _inside(program: Program, solved: Relaxed) -> _Inside:
    machines, periods = program.sets.machines, len(program.sets.periods)
    shape = (len(machines), periods)
    gpus = np.array([machine.gpus for machine in machines], dtype=float)[:, None]
    firm = -rows_of_family(program, "firm_capacity", solved).reshape(shape) / gpus
    rises = program.columns.spot_nodes.of(solved.reduced_usd)
    spot = (rises - rows_of_family(program, "spot_capacity", solved).reshape(shape)) / gpus
    split = rows_of_family(program, "split_pools", solved)
    if not len(split):
        whole = node_usd(program.sets, rows_of_family(program, "whole_nodes", solved))
        gangs, spot_gangs = firm + whole[False] / gpus, spot + whole[True] / gpus
        return _Inside(firm, gangs, spot, spot_gangs, is_split=False)
    served, trained = split.reshape(4, *shape)[:2] / gpus
    return _Inside(firm - served, firm - trained, spot, spot, is_split=True)


_Committed = list[tuple[float, Floats]]
"""What a GPU of each commitment of a machine costs, and in which periods it is there."""


def _committed_usd(sets: Sets, *, outlives: bool = True) -> list[_Committed]:
    found: list[_Committed] = [[] for _ in sets.machines]
    for one in sets.committed:
        if one.outlives and not outlives:
            continue
        usd = one.usd_per_node / sets.machines[one.machine].gpus
        found[one.machine].append((usd, np.array(one.active, dtype=float)))
    return found


def _held(committed: _Committed, prices: Floats) -> Floats:
    """Lower prices until no commitment of the machine earns more than it costs."""
    for usd, active in committed:
        earned = float(prices @ active)
        if earned > usd:
            prices = prices * (usd / earned)
    return prices


def _raised(sets: Sets, committed: _Committed, rent: float, prices: Floats) -> Floats:
    """Raise prices evenly until renting or a commitment earns what it costs."""
    most = np.maximum(rent * sets.hours, prices)
    low, high = 0.0, float(rent) if np.isfinite(rent) else _most_usd(committed, sets)
    if not committed:
        return most if np.isfinite(rent) else prices
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        tried = np.minimum(prices + middle * sets.hours, most)
        if all(float(tried @ active) <= usd for usd, active in committed):
            low = middle
        else:
            high = middle
    return np.minimum(prices + low * sets.hours, most)


def _most_usd(committed: _Committed, sets: Sets) -> float:
    return max((usd for usd, _ in committed), default=0.0) / float(sets.hours.min())


def _kept(sets: Sets, program: Program, solved: Relaxed) -> tuple[Kept, ...]:
    small = program.sets
    position = {machine.key: number for number, machine in enumerate(sets.machines)}
    return tuple(
        Kept(
            machine=position[small.machines[level.machine].key],
            share=level.breakeven_utilization,
            gpu_usd=-float(by_gpu) / small.machines[level.machine].gpus,
            node_usd=-float(by_node),
        )
        for level, by_gpu, by_node in zip(
            small.levels,
            rows_of_family(program, "steady_level", solved),
            rows_of_family(program, "steady_whole", solved),
            strict=True,
        )
    )


def rows_of_family(program: Program, family: str, solved: Relaxed) -> Floats:
    """Give the duals of one family's rows."""
    start = 0
    for rows in program.families:
        if rows.family == family:
            return solved.row_usd[start : start + len(rows.keys)]
        start += len(rows.keys)
    return np.zeros(0)


def model_of(sets: Sets, machine: int) -> str:
    """Name the GPU of a machine."""
    return sets.case.machines[sets.machines[machine].key].hardware.shape.gpu
