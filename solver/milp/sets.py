"""The sets of the program as values: periods, demands, machines, groups, run options.

Slots that are equal in every datum are one period and are planned alike; slots in which a run may
work stay single, as the order of those matters.
"""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from fractions import Fraction
from typing import Self

import numpy as np
import numpy.typing as npt

from broker.domain.candidate import Layout, ServingCandidate
from broker.domain.case import Case, ServingOption, TrainingOption
from broker.domain.gpu import Precision
from broker.domain.horizon import Horizon
from broker.domain.offer import Offer
from broker.domain.pool import PoolClass, Role
from broker.domain.workload import Run
from solver.milp.blocks import BlockWindow
from solver.milp.clusters import Clusters
from solver.milp.demands import Demand
from solver.milp.fills import Fill
from solver.milp.savings import PlanRate, SavingsPlan

Floats = npt.NDArray[np.float64]
_ROUNDING = 1e-9


def most_slots(run: Run, horizon: Horizon) -> int:
    """Count the slots that a run may take from its first start to its end; all without a limit."""
    if run.max_duration is None:
        return horizon.days * (timedelta(days=1) // horizon.slot)
    return run.max_duration // horizon.slot


@dataclass(frozen=True, slots=True)
class Period:
    """Slots that are planned alike: their positions, the hours of one and of all.

    `window` is that of the kinds that serve for a time alone; windows that are alike are one.
    """

    slots: tuple[int, ...]
    slot_h: float
    window: int = 0

    @property
    def hours(self) -> float:
        """Sum the hours."""
        return self.slot_h * len(self.slots)


@dataclass(frozen=True, slots=True)
class Machine:
    """A node type in one place, its hourly offers, and the nodes owned in each period."""

    key: str
    gpus: int
    on_demand: Offer | None
    spot: Offer | None
    owned: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Committed:
    """A committed offer: on which machine, active in which periods, charged how in the horizon.

    A capacity block is one too: active in its `block` window, and charged for all of that. Of a
    term that ends inside a slot, the hours in that slot are charged, and no work is on them; but
    they are `held` in all periods of which they are had for some part.
    """

    offer: Offer
    machine: int
    active: tuple[bool, ...]
    held: tuple[bool, ...]
    active_h: float
    charged_h: float
    outlives: bool
    breakeven_utilization: float
    block: BlockWindow | None = None

    @property
    def id(self) -> str:
        """Name what is bought: the offer, and of a block its window."""
        if self.block is None:
            return self.offer.key
        window = f"{self.block.starts_at:%Y%m%dT%H%MZ}-{self.block.length_h}h"
        return f"{self.offer.machine}@{self.offer.price_kind.value}-{window}"

    @property
    def usd_per_node(self) -> float:
        """Give the cost of one node inside the horizon, its share of the upfront included."""
        return float(self.offer.effective_usd_per_hour) * self.charged_h

    @property
    def upfront_usd_per_node(self) -> float:
        """Give the cash that is due in advance."""
        if self.block is not None:
            return self.usd_per_node
        return float(self.offer.commitment.upfront_usd) if self.offer.commitment else 0.0


@dataclass(frozen=True, slots=True)
class Level:
    """Commitments of one machine and break-even that outlive the horizon, stacked by break-even.

    `members` are those up to and with this break-even, the highest at the bottom; so are
    `plan_rates` of savings plans. Services fill no more than `most_nodes` of the machine at their
    peak.
    """

    machine: int
    members: tuple[int, ...]
    breakeven_utilization: float
    most_nodes: int
    plan_rates: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Configuration:
    """What makes replicas alike: the GPU model, the number format, the layout, and the network.

    On a slice, the model is that of the slice, and `part` is what it takes of a GPU. Replicas of
    pools are alike in one `pool` alone, and `role` is what they do there.
    """

    gpu: str
    precision: Precision
    layout: Layout
    part: Fraction = field(default=Fraction(1), repr=False)
    role: Role | None = field(default=None, repr=False)
    pool: PoolClass | None = field(default=None, repr=False)
    network: str = field(default="", repr=False)

    @classmethod
    def of(cls, candidate: ServingCandidate) -> Self:
        """Read it off a candidate."""
        part = candidate.gpu_slice.gpu_share if candidate.gpu_slice else Fraction(1)
        role = None if candidate.pool is None else candidate.pool.role
        model, layout, pool = candidate.gpu, candidate.layout, candidate.pool_class
        return cls(model, candidate.precision, layout, part, role, pool, candidate.model)

    @property
    def gpus(self) -> float:
        """Count the GPUs of a replica; quarters and halves of one are floats without error."""
        return self.layout.gpus if self.part == 1 else float(self.layout.gpus * self.part)


class Configurations:
    """The configurations of candidates, each read once: those that are equal are one object."""

    def __init__(self) -> None:
        """Know none yet."""
        self._of: dict[int, Configuration] = {}
        self._equal: dict[Configuration, Configuration] = {}

    def of(self, candidate: ServingCandidate) -> Configuration:
        """Give that of a candidate, which must be there as long as this is."""
        found = self._of.get(id(candidate))
        if found is None:
            read = Configuration.of(candidate)
            found = self._of[id(candidate)] = self._equal.setdefault(read, read)
        return found


def served_as(option: ServingOption) -> tuple[str, str, Role | None, PoolClass | None]:
    """Name what an option may stand in for: a demand, and of pools the same pool and class."""
    one = Configuration.of(option.candidate)
    return (option.service, option.user_region, one.role, one.pool)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of replica for one demand: a configuration, on any machine that gives its rates.

    `rates` are what a replica carries of each size class alone. `replicas_alone` carry the whole
    load of each period, spares, the least number and those that stay up for `min_up_time` included;
    `firm_alone` of them must be firm, as spot may carry only its share. Where one kind serves a
    demand, its replicas come in blocks of `block_sizes`, the first ones up first; elsewhere there
    are none, and each period counts its own replicas. `carrying` are those without which the load
    is not carried, spares left out.
    """

    demand: int
    configuration: Configuration
    rates: tuple[float, ...]
    replicas_alone: tuple[int, ...]
    firm_alone: tuple[int, ...]
    block_sizes: tuple[int, ...]
    carrying: tuple[int, ...] = ()
    _size_of: npt.NDArray[np.int64] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Rank the fleets by size, once."""
        sizes = np.array([self.replicas_alone, self.firm_alone])
        _, size_of = np.unique(sizes, axis=1, return_inverse=True)
        object.__setattr__(self, "_size_of", size_of.ravel())

    @property
    def gpus(self) -> float:
        """Count the GPUs of a replica: a part of one on a slice."""
        return self.configuration.gpus

    @property
    def blocks(self) -> int:
        """Count the blocks; where replicas are counted by period, there is one a period."""
        return len(self.block_sizes) or len(self.replicas_alone)

    def up(self) -> Floats:
        """Give the replicas of each block that are up in each period, block by period."""
        return self.up_in(np.arange(len(self.replicas_alone)))

    def up_in(self, periods: npt.NDArray[np.int64]) -> Floats:
        """Give the replicas of each block that are up in some periods, block by period."""
        if not self.block_sizes:
            return np.eye(len(self.replicas_alone))[:, periods]
        sizes = np.array(self.block_sizes, dtype=float)[:, None]
        before = np.cumsum(sizes, axis=0) - sizes
        replicas = np.array(self.replicas_alone)[None, periods]
        return np.asarray(np.clip(replicas - before, 0.0, sizes))

    def most_of_block(self) -> Floats:
        """Bound the blocks of a group: one of each, or the replicas of each period."""
        if self.block_sizes:
            return np.ones(self.blocks)
        return np.array(self.replicas_alone, dtype=float)

    def busy_periods(self, hours: Floats, share: float) -> npt.NDArray[np.int64]:
        """Give the periods of the largest fleets that make up a share of the hours, smallest first.

        Periods of one size are in together.
        """
        at_least = np.bincount(self._size_of, hours)[::-1].cumsum()[::-1]
        base = np.flatnonzero(at_least >= share * hours.sum() * (1 - _ROUNDING))[-1]
        busy = np.flatnonzero(self._size_of >= base)
        return busy[np.argsort(self._size_of[busy], kind="stable")]


@dataclass(frozen=True, slots=True)
class Group:
    """Replicas of one kind on one machine, firm or spot. `rates` are those of the kind."""

    kind: int
    demand: int
    machine: int
    option: ServingOption
    gpus: float
    rates: tuple[float, ...]

    @property
    def on_spot(self) -> bool:
        """Say whether the replicas may be taken back."""
        return self.option.on_spot


@dataclass(frozen=True, slots=True)
class RunOption:
    """A run on a machine: the periods of its window, the fewest slots that finish the work.

    A run is a training run, a batch job, or one day of a daily batch job.
    """

    run: int
    machine: int
    option: TrainingOption
    window: tuple[int, ...]
    slots_needed: int

    @property
    def nodes(self) -> int:
        """Count the nodes of the gang."""
        return self.option.candidate.nodes


@dataclass(frozen=True, slots=True)
class Stock:
    """GPUs that several offers draw on, and how many of those there are."""

    pool: str
    gpus: int


@dataclass(frozen=True, slots=True)
class Handover:
    """Periods that follow on each other and end in one whose new replicas are not ready at once.

    Replicas in place in all of `periods` carry `load_requests_per_s`, by size class: what each of
    these periods asks for at least.
    """

    demand: int
    periods: tuple[int, ...]
    load_requests_per_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Sets:
    """All sets of one program, each in a fixed order; `fills` are those to round to whole nodes.

    Given `clusters`, the rows of nodes are added up over the periods of each: see `coarse`.
    """

    case: Case
    periods: tuple[Period, ...]
    demands: tuple[Demand, ...]
    machines: tuple[Machine, ...]
    committed: tuple[Committed, ...]
    levels: tuple[Level, ...]
    stocks: tuple[Stock, ...]
    kinds: tuple[Kind, ...]
    groups: tuple[Group, ...]
    runs: tuple[Run, ...]
    run_options: tuple[RunOption, ...]
    handovers: tuple[Handover, ...]
    fills: tuple[Fill, ...] = ()
    plans: tuple[SavingsPlan, ...] = ()
    plan_rates: tuple[PlanRate, ...] = ()
    clusters: Clusters | None = field(default=None, compare=False, repr=False)
    hours: Floats = field(init=False, compare=False, repr=False)
    window_of: npt.NDArray[np.int64] = field(init=False, compare=False, repr=False)
    has_slices: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Add up the hours of each period, list their windows, and look for slices, once."""
        object.__setattr__(self, "hours", np.array([period.hours for period in self.periods]))
        windows = np.array([period.window for period in self.periods], dtype=np.int64)
        object.__setattr__(self, "window_of", windows)
        has_slices = any(one.configuration.part != 1 for one in self.kinds)
        object.__setattr__(self, "has_slices", has_slices)

    def most_slots(self, run: int) -> int:
        """Count the slots that a run may take from its first start to its end."""
        return most_slots(self.runs[run], self.case.workloads.horizon)

    def least_gpus(self, machine: int) -> float:
        """Give the least that a firm replica may take of a machine: a GPU, or a slice of one."""
        if not self.has_slices:
            return 1.0
        own = (one.gpus for one in self.groups if one.machine == machine and not one.on_spot)
        return min(1.0, min(own, default=1.0))

    @property
    def has_one_kind(self) -> bool:
        """Say whether each demand is served by one kind of replica, so that counts are known."""
        return self.case.workloads.policy.has_one_kind

    @property
    def burst_windows(self) -> int:
        """Count the windows for which further kinds are chosen, those alike once; else 0."""
        has_burst = self.case.workloads.policy.burst is not None
        return int(self.window_of.max(initial=-1)) + 1 if has_burst else 0


def has_hopeless_workload(sets: Sets) -> bool:
    """Say whether a demand has no group, or a run no option that finishes in its window.

    Prompts need none of their own.
    """
    served = {group.demand for group in sets.groups}
    asked = {number for number, one in enumerate(sets.demands) if not one.is_prompts}
    done = {option.run for option in sets.run_options}
    return not asked <= served or len(done) < len(sets.runs)


def with_one_kind(case: Case) -> Case:
    """Give a case in which one kind of replica serves each demand at all times."""
    policy = case.workloads.policy.model_copy(update={"max_groups": 1, "burst": None})
    return replace(case, workloads=case.workloads.model_copy(update={"policy": policy}))
