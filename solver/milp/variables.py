"""The columns of the program: blocks of variables, addressed by set positions."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from broker.domain.budget import Budget
from broker.domain.policy import Sharing
from solver.milp.churn import churn_lines
from solver.milp.months import rows_of_budget
from solver.milp.sets import Floats, Sets
from solver.milp.zones import zone_pairs

Ints = npt.NDArray[np.int64]
Index = Ints | int


@dataclass(frozen=True, slots=True)
class Block:
    """Columns of one kind: a dense array over sets, from `start` on, with bounds."""

    name: str
    start: int
    lower: Floats
    upper: Floats
    integer: bool

    @property
    def size(self) -> int:
        """Count the columns."""
        return int(self.upper.size)

    def of(self, values: Floats) -> Floats:
        """Give the block's part of values of all columns, over its sets."""
        return values[self.start : self.start + self.size].reshape(self.upper.shape)

    def at(self, *index: Index) -> Ints:
        """Give the column numbers at positions of the block's sets, broadcast like arrays."""
        flat = np.ravel_multi_index(np.broadcast_arrays(*index), self.upper.shape)
        return np.asarray(flat + self.start, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Columns:
    """All blocks.

    Index letters: g group, c kind, k size class, m machine, p commitment, l level, a run option, t.
    replicas[g,b] are those of a group in period b; kind_used[c] says whether a kind serves for the
    whole horizon, burst_used[c,w] whether it does in window w beside those: it is in force in t
    where used[c,t] = kind_used[c] + burst_used[c,window[t]] is 1. Where one kind serves each
    demand, replicas[g,b] says instead whether block b of the kind's replicas is on the group:
    replicas[g,t] = Σ_b up[c,b,t] · replicas[g,b]. routed_requests_per_s[f,k,t] go to the firm and
    the spot replicas of kinds whose demand has several classes or may use spot, unless one kind
    serves each demand: f of `routed_sides`. Nodes: on_demand_nodes[m,t],
    spot_nodes[m,t], committed_nodes[p]; level_used[l] says whether a level of commitments that
    outlive the horizon is bought beside owned nodes; kept_replicas[g,l] stay up for its break-even
    share of the time, unless one kind serves each demand; serving_nodes[m,t] and
    run_nodes[m] keep services and runs apart where the policy does. gang_up[a,t],
    gang_start[a,t], option_used[a] place the runs. handover_requests_per_s[s,k] are carried by the
    replicas of one group that stay in place through one handover, s of `stayers`.
    zone_used[i] says whether a zone has a replica at all times, i of `zone_pairs`: demand and zone.
    over_usd[n,t] are dollars over a soft budget, n of `soft_budgets`: those of a period where it is
    for each hour, those of month t where it is for each month, else all in the first column.
    Savings plans: plan_steps[s] are the tenths of a cent an hour that plan s promises;
    covered_nodes[r,t] of the on-demand nodes of a machine are paid for by a plan, r of
    `plan_rates`; steady_nodes[r] are those that justify a promise beyond the horizon.
    idle_nodes[i,t] are committed nodes that no work fills, i of `watched_machines`.
    run_begun[j,t] says of a run with a longest duration whether it has begun.
    peak_replicas[g] are the most of a group at one time, where bringing weights costs something and
    several kinds may serve a demand. moved_nodes[i] are those that the plan in force does not have,
    i of `churn_lines`.
    """

    replicas: Block
    kind_used: Block
    burst_used: Block
    routed_requests_per_s: Block
    on_demand_nodes: Block
    spot_nodes: Block
    committed_nodes: Block
    level_used: Block
    kept_replicas: Block
    serving_nodes: Block
    run_nodes: Block
    gang_up: Block
    gang_start: Block
    option_used: Block
    handover_requests_per_s: Block
    over_usd: Block
    zone_used: Block
    plan_steps: Block
    covered_nodes: Block
    steady_nodes: Block
    idle_nodes: Block
    run_begun: Block
    peak_replicas: Block
    moved_nodes: Block

    def blocks(self) -> tuple[Block, ...]:
        """List the blocks in column order."""
        return (
            self.replicas,
            self.kind_used,
            self.burst_used,
            self.routed_requests_per_s,
            self.on_demand_nodes,
            self.spot_nodes,
            self.committed_nodes,
            self.level_used,
            self.kept_replicas,
            self.serving_nodes,
            self.run_nodes,
            self.gang_up,
            self.gang_start,
            self.option_used,
            self.handover_requests_per_s,
            self.over_usd,
            self.zone_used,
            self.plan_steps,
            self.covered_nodes,
            self.steady_nodes,
            self.idle_nodes,
            self.run_begun,
            self.peak_replicas,
            self.moved_nodes,
        )

    @property
    def size(self) -> int:
        """Count all columns."""
        return sum(block.size for block in self.blocks())


def most_classes(sets: Sets) -> int:
    """Give the largest number of size classes of any service, at least 1."""
    return max((len(demand.load_requests_per_s) for demand in sets.demands), default=1)


def routed_sides(sets: Sets) -> tuple[tuple[int, bool], ...]:
    """List the kinds' sides whose requests must be told apart: by size class, or as spot or firm.

    A side is a kind and whether it is on spot.
    """
    if sets.has_one_kind:
        return ()
    return tuple(
        sorted(
            {
                (group.kind, group.on_spot)
                for group in sets.groups
                if len(group.rates) > 1 or sets.demands[group.demand].service.spot.max_share > 0
            }
        )
    )


def replicas_at(
    sets: Sets, columns: Columns, group: int, periods: Ints
) -> tuple[Ints, Ints, Floats]:
    """Give what a group's replicas in some periods are the sum of.

    Three arrays: positions in `periods`, columns, and the replicas that one of the column is.
    """
    up = sets.kinds[sets.groups[group].kind].up_in(periods)
    block, position = np.nonzero(up)
    return position, columns.replicas.at(group, block), up[block, position]


def in_force(sets: Sets, columns: Columns, kind: int, periods: Ints) -> tuple[Ints, Ints]:
    """Give the columns of which one is 1 where a kind may have replicas, for some periods.

    Two arrays: positions in `periods`, and columns.
    """
    position = np.arange(len(periods))
    used = columns.kind_used.at(np.full_like(periods, kind))
    if not sets.burst_windows:
        return position, used
    burst = columns.burst_used.at(kind, sets.window_of[periods])
    return np.tile(position, 2), np.concatenate([used, burst])


def stayers(sets: Sets) -> tuple[tuple[int, int], ...]:
    """Pair each handover with each group of its demand, by their positions: group, handover."""
    return tuple(
        (group, handover)
        for handover, one in enumerate(sets.handovers)
        for group, other in enumerate(sets.groups)
        if other.demand == one.demand
    )


def soft_budgets(sets: Sets) -> tuple[tuple[int, Budget], ...]:
    """List the budgets that may be exceeded at a price, with their numbers in the file."""
    budgets = enumerate(sets.case.workloads.policy.budgets)
    return tuple((number, one) for number, one in budgets if one.over_usd_per_usd is not None)


def watched_machines(sets: Sets) -> tuple[int, ...]:
    """List the machines whose committed nodes must be used for a part of their time."""
    if not sets.case.workloads.policy.coverage.min_commitment_utilization:
        return ()
    return tuple(sorted({one.machine for one in sets.committed}))


def build_columns(sets: Sets) -> Columns:
    """Lay out all columns with their bounds."""
    size = _Sizes(sets)
    is_split = sets.case.workloads.policy.sharing is Sharing.SPLIT
    uppers = {
        "replicas": (size.most_replicas(), True),
        "kind_used": (np.ones(len(sets.kinds)), True),
        "burst_used": (np.ones((len(sets.kinds), sets.burst_windows)), True),
        "routed_requests_per_s": (size.routed(), False),
        "on_demand_nodes": (size.nodes(on_spot=False), True),
        "spot_nodes": (size.nodes(on_spot=True), True),
        "committed_nodes": (size.committed(), True),
        "level_used": (np.ones(len(sets.levels)), True),
        "kept_replicas": (size.kept(), True),
        "serving_nodes": (size.where(range(size.machines) if is_split else ()), True),
        "run_nodes": (size.where(range(size.machines) if is_split else ())[:, 0], True),
        "gang_up": (size.window(), True),
        "gang_start": (size.window(), True),
        "option_used": (np.ones(size.options), True),
        "handover_requests_per_s": (size.handed_over(), False),
        "over_usd": (size.over_budgets(), False),
        "zone_used": (np.ones(len(zone_pairs(sets))), False),
        "plan_steps": (np.full(len(sets.plans), np.inf), True),
        "covered_nodes": (size.covered(), False),
        "steady_nodes": (size.steady(), True),
        "idle_nodes": (np.full((len(watched_machines(sets)), size.periods), np.inf), False),
        "run_begun": (size.begun(), False),
        "peak_replicas": (size.peaks(), False),
        "moved_nodes": (np.full(len(churn_lines(sets)), np.inf), False),
    }
    blocks: dict[str, Block] = {}
    start = 0
    for name, (upper, integer) in uppers.items():
        block = Block(name, start, np.zeros_like(upper), upper, integer)
        blocks[name] = block
        start += block.size
    return Columns(**blocks)


class _Sizes:
    """Upper bounds by block; an infinite one is tightened by the rows."""

    def __init__(self, sets: Sets) -> None:
        self.sets = sets
        self.groups = len(sets.groups)
        self.periods = len(sets.periods)
        self.machines = len(sets.machines)
        self.options = len(sets.run_options)

    def most_replicas(self) -> Floats:
        kinds = self.sets.kinds
        upper = np.zeros((self.groups, max((kind.blocks for kind in kinds), default=0)))
        for number, group in enumerate(self.sets.groups):
            kind = kinds[group.kind]
            upper[number, : kind.blocks] = kind.most_of_block()
        return upper

    def routed(self) -> Floats:
        sides = routed_sides(self.sets)
        upper = np.zeros((len(sides), most_classes(self.sets), self.periods))
        for number, (at, _) in enumerate(sides):
            kind = self.sets.kinds[at]
            can = np.array([rate > 0 for rate in kind.rates], dtype=float)
            load = self.sets.demands[kind.demand].load_requests_per_s
            upper[number, : len(can), :] = can[:, None] * load
        return upper

    def handed_over(self) -> Floats:
        pairs = np.array(stayers(self.sets), dtype=np.int64).reshape(-1, 2)
        able = np.zeros((self.groups, most_classes(self.sets)))
        for number, group in enumerate(self.sets.groups):
            able[number, : len(group.rates)] = np.array(group.rates) > 0
        load = np.zeros((len(self.sets.handovers), most_classes(self.sets)))
        for number, one in enumerate(self.sets.handovers):
            load[number, : len(one.load_requests_per_s)] = one.load_requests_per_s
        return np.asarray(able[pairs[:, 0]] * load[pairs[:, 1]])

    def nodes(self, *, on_spot: bool) -> Floats:
        upper = np.zeros((self.machines, self.periods))
        for number, machine in enumerate(self.sets.machines):
            offer = machine.spot if on_spot else machine.on_demand
            if offer is not None:
                limits = (offer.limits.stock_nodes, offer.limits.max_nodes)
                upper[number, :] = min((one for one in limits if one is not None), default=np.inf)
        return upper

    def where(self, machines: Iterable[int]) -> Floats:
        upper = np.zeros((self.machines, self.periods))
        upper[list(machines), :] = np.inf
        return upper

    def committed(self) -> Floats:
        limits = [
            (one.offer.limits.stock_nodes, one.offer.limits.max_nodes)
            for one in self.sets.committed
        ]
        return np.array(
            [min((one for one in pair if one is not None), default=np.inf) for pair in limits],
            dtype=float,
        )

    def kept(self) -> Floats:
        levels = () if self.sets.has_one_kind else self.sets.levels
        upper = np.zeros((self.groups, len(levels)))
        for number, group in enumerate(self.sets.groups):
            for at, level in enumerate(levels):
                if level.machine == group.machine and not group.on_spot:
                    upper[number, at] = max(self.sets.kinds[group.kind].replicas_alone)
        return upper

    def over_budgets(self) -> Floats:
        budgets = soft_budgets(self.sets)
        upper = np.zeros((len(budgets), self.periods))
        for number, (_, budget) in enumerate(budgets):
            upper[number, : rows_of_budget(self.sets, budget)] = np.inf
        return upper

    def covered(self) -> Floats:
        active = [self.sets.plans[one.plan].active for one in self.sets.plan_rates]
        shape = (len(active), self.periods)
        return np.where(np.array(active, dtype=bool).reshape(shape), np.inf, 0.0)

    def steady(self) -> Floats:
        plans = self.sets.plans
        steady = [plans[one.plan].needs_steady for one in self.sets.plan_rates]
        return np.where(np.array(steady, dtype=bool), np.inf, 0.0)

    def begun(self) -> Floats:
        limited = [run.max_duration is not None for run in self.sets.runs]
        upper = np.zeros((len(limited) if any(limited) else 0, self.periods))
        for option in self.sets.run_options:
            if limited[option.run]:
                upper[option.run, list(option.window)] = 1.0
        return upper

    def peaks(self) -> Floats:
        costs = [float(group.option.egress_usd) for group in self.sets.groups]
        if self.sets.has_one_kind or not any(costs):
            return np.zeros(0)
        return np.where(np.array(costs) > 0, np.inf, 0.0)

    def window(self) -> Floats:
        upper = np.zeros((self.options, self.periods))
        for number, option in enumerate(self.sets.run_options):
            upper[number, list(option.window)] = 1.0
        return upper
