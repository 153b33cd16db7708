"""What a GPU of every machine is worth in each period, by the duals of a small relaxed program."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from solver.milp.clusters import Clusters
from solver.milp.committed_gpus import CommittedGpus, committed_gpus
from solver.milp.constraints.min_zones import ZonePrices, zone_prices
from solver.milp.constraints.provider_share import share_prices
from solver.milp.constraints.zone_loss import loss_prices
from solver.milp.places import PlacePrices
from solver.milp.price_fills import FillPrices, fill_prices, node_usd
from solver.milp.program import Program
from solver.milp.relax import Relaxed
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Ints
from solver.milp.work_prices import WorkPrices, work_prices

_SLACK = 1e-9
_USED = 1e-6


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
    """What a GPU costs by machine and cluster of periods: firm, for gangs, and on spot.

    The periods of a cluster cost the same; what is given is their sum.
    `alone` is the price for gangs where no service is on the machine, so that no commitment may
    outlive the horizon. `rent` is its price by the hour, by machine; `committed` is what
    commitments cost. `kept` is what keeping replicas up for a share of the time earns. `shares` are
    prices of providers for kinds that must be spread over them, `losses` those of zones where one
    may be lost, `fills` those of whole nodes, which gangs pay too, `work` those of replicas and
    gangs by their own budgets, `zones` what replicas earn where they must be in several; all those
    are by period. On `uneven` machines gangs cost other prices in the periods of a cluster: those,
    firm and on spot. Machines inside that are priced `as_if_outside` have other firm prices than
    those of the duals.
    """

    clusters: Clusters
    firm: Floats
    gangs: Floats
    spot: Floats
    spot_gangs: Floats
    rent: Floats
    alone: Floats
    committed: CommittedGpus
    kept: tuple[Kept, ...] = ()
    shares: Mapping[int, PlacePrices] = field(default_factory=dict)
    fills: FillPrices = field(default_factory=FillPrices)
    losses: Mapping[int, PlacePrices] = field(default_factory=dict)
    work: WorkPrices | None = None
    zones: ZonePrices | None = None
    uneven: Mapping[int, tuple[Floats, Floats]] = field(default_factory=dict)
    as_if_outside: frozenset[int] = frozenset()


def flat_prices(sets: Sets, clusters: Clusters) -> NodePrices:
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
    hours = clusters.summed(sets.hours)
    firm_usd, spot_usd = np.outer(firm, hours), np.outer(spot, hours)
    inside = committed_gpus(sets, clusters, outlives=False)
    alone = inside.raised(np.zeros((len(rent), len(hours))), rent, hours)
    alone[_are_owned(sets)] = 0.0
    return NodePrices(
        clusters,
        firm=firm_usd,
        gangs=firm_usd,
        spot=spot_usd,
        spot_gangs=spot_usd,
        rent=rent,
        alone=alone,
        committed=committed_gpus(sets, clusters),
    )


def node_prices(
    sets: Sets, program: Program, solved: Relaxed, flat: NodePrices, *, only_used: bool = False
) -> NodePrices:
    """Price GPUs by the duals inside; outside like the same model inside, as far as that holds.

    Prices of a machine hold where no way to have it costs less than it earns. As nobody owns it,
    they may be raised to that: its nodes then are no cheaper a way to anything. What the relaxed
    plan does not buy has no price of its own by the duals: `only_used` prices it as if outside.
    """
    position = {machine.key: number for number, machine in enumerate(sets.machines)}
    inside = np.array([position[one.key] for one in program.sets.machines], dtype=np.int64)
    duals = _inside(program, solved, flat.clusters)
    own = np.arange(len(inside))
    if only_used and not duals.is_split:
        own = np.union1d(_used(program, solved), duals.rough)
    like = by_model(program.sets, duals.gangs, own)
    gangs = _gangs_outside(sets, inside[own], flat, like)
    gangs[inside[own]] = duals.gangs[own]
    margin = np.zeros_like(gangs)
    margin[inside[own]] = (duals.firm - duals.gangs)[own]
    gangs = _raised(sets, gangs, flat, fixed=inside if duals.is_split else inside[duals.rough])
    spot, spot_gangs = flat.spot.copy(), flat.spot_gangs.copy()
    spot[inside], spot_gangs[inside] = duals.spot, duals.spot_gangs
    nodes = replace(
        flat,
        firm=gangs + margin,
        gangs=gangs,
        spot=spot,
        spot_gangs=spot_gangs,
        kept=_kept(sets, program, solved, own),
        as_if_outside=frozenset(np.delete(inside, own).tolist()),
        uneven={int(inside[one]): usd for one, usd in duals.uneven.items()},
    )
    return _with_rules(nodes, sets, program, solved)


def _raised(sets: Sets, gangs: Floats, flat: NodePrices, *, fixed: Ints) -> Floats:
    """Raise the prices of what nobody owns until its nodes pay, but for some machines."""
    is_free = ~_are_owned(sets)
    is_free[fixed] = False
    free, raised = np.flatnonzero(is_free), gangs.copy()
    hours = flat.clusters.summed(sets.hours)
    raised[free] = flat.committed.of(free).raised(gangs[free], flat.rent[free], hours)
    return raised


def _gangs_outside(
    sets: Sets, inside: Ints, flat: NodePrices, like: Mapping[str, Floats]
) -> Floats:
    """Price GPUs outside like those of their model, where no commitment earns more then."""
    gangs = flat.gangs.copy()
    outside = np.setdiff1d(np.flatnonzero(~_are_owned(sets)), inside)
    for number in outside.tolist():
        gangs[number] = like.get(model_of(sets, number), gangs[number])
    hours = flat.clusters.summed(sets.hours)
    shape = np.minimum(gangs[outside], flat.rent[outside, None] * hours)
    gangs[outside] = flat.committed.of(outside).held(shape)
    return gangs


def _are_owned(sets: Sets) -> npt.NDArray[np.bool_]:
    return np.array([any(machine.owned) for machine in sets.machines], dtype=bool)


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


def _used(program: Program, solved: Relaxed) -> Ints:
    """List the machines of which a relaxed plan has firm nodes, or whose whole nodes count."""
    sets, columns = program.sets, program.columns
    used = columns.on_demand_nodes.of(solved.values).max(axis=1, initial=0.0)
    for one, nodes in zip(sets.committed, columns.committed_nodes.of(solved.values), strict=True):
        used[one.machine] += nodes
    whole = node_usd(sets, rows_of_family(program, "whole_nodes", solved))[False]
    counts = (used > _USED) | _are_owned(sets) | whole.any(axis=1)
    return np.flatnonzero(counts)


def by_model(sets: Sets, usd: Floats, machines: Ints) -> dict[str, Floats]:
    """Give the highest price of a GPU of each model on some machines, cluster by cluster."""
    like: dict[str, Floats] = {}
    for number in machines.tolist():
        model = model_of(sets, number)
        like[model] = np.maximum(like.get(model, 0.0), usd[number])
    return like


@dataclass(frozen=True, slots=True)
class _Inside:
    """Prices of a GPU by machine inside and cluster.

    `uneven` are machines whose price for gangs is not the same in all periods of a cluster, with
    those prices by period, firm and on spot.
    """

    firm: Floats
    gangs: Floats
    spot: Floats
    spot_gangs: Floats
    is_split: bool
    uneven: Mapping[int, tuple[Floats, Floats]] = field(default_factory=dict)

    @property
    def rough(self) -> Ints:
        """List the uneven machines."""
        return np.array(list(self.uneven), dtype=np.int64)


def _inside(program: Program, solved: Relaxed, clusters: Clusters) -> _Inside:
    machines, count = program.sets.machines, len(clusters.count)
    gpus = np.array([machine.gpus for machine in machines], dtype=float)[:, None]
    firm, spot = (
        -rows_of_family(program, name, solved).reshape(len(machines), count) * clusters.count
        for name in ("firm_capacity", "spot_capacity")
    )
    rises = clusters.least(program.columns.spot_nodes.of(solved.reduced_usd))
    firm, spot = firm / gpus, (spot + rises * clusters.count) / gpus
    split = rows_of_family(program, "split_pools", solved)
    if len(split):
        shape = (4, len(machines), len(program.sets.periods))
        served, trained = clusters.summed(split.reshape(shape))[:2] / gpus
        return _Inside(firm - served, firm - trained, spot, spot, is_split=True)
    whole = node_usd(program.sets, rows_of_family(program, "whole_nodes", solved))
    gangs, spot_gangs = (
        usd + clusters.summed(whole[on_spot]) / gpus
        for on_spot, usd in ((False, firm), (True, spot))
    )
    is_even = clusters.is_even(whole[False]) & clusters.is_even(whole[True])
    uneven = {
        one: tuple(
            (usd[one] / clusters.count)[clusters.of] + whole[on_spot][one] / machines[one].gpus
            for on_spot, usd in ((False, firm), (True, spot))
        )
        for one in np.flatnonzero(~is_even).tolist()
    }
    return _Inside(firm, gangs, spot, spot_gangs, is_split=False, uneven=uneven)


def _kept(sets: Sets, program: Program, solved: Relaxed, machines: Ints) -> tuple[Kept, ...]:
    small, own = program.sets, frozenset(machines.tolist())
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
        if level.machine in own
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
