"""The sets of the program as values: periods, demands, machines, groups, run options.

Slots that are equal in every datum are one period and are planned alike; slots in which a run may
work stay single, as the order of those matters.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from broker.domain.case import Case, ServingOption, TrainingOption
from broker.domain.offer import Offer
from broker.domain.workload import TrainingRun
from solver.milp.demands import Demand

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Period:
    """Slots that are planned alike: their positions, the hours of one and of all."""

    slots: tuple[int, ...]
    slot_h: float

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
    """A committed offer: on which machine, active in which periods, charged how in the horizon."""

    offer: Offer
    machine: int
    active: tuple[bool, ...]
    active_h: float
    outlives: bool
    breakeven_utilization: float

    @property
    def usd_per_node(self) -> float:
        """Give the cost of one node inside the horizon, its share of the upfront included."""
        return float(self.offer.effective_usd_per_hour) * self.active_h


@dataclass(frozen=True, slots=True)
class Level:
    """Commitments of one machine and break-even that outlive the horizon, stacked by break-even.

    `members` are those up to and with this break-even, the highest at the bottom. `most_nodes`
    bounds what services can fill in any period.
    """

    machine: int
    members: tuple[int, ...]
    breakeven_utilization: float
    most_nodes: int


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of replica for one demand: a candidate on a machine, on firm and on spot nodes.

    `replicas_alone` carry the whole load of each period, spares and the least number included;
    `firm_alone` of them must be firm, as spot may carry only its share.
    """

    demand: int
    machine: int
    replicas_alone: tuple[int, ...]
    firm_alone: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Replicas of one kind on one market, firm or spot."""

    kind: int
    demand: int
    machine: int
    option: ServingOption
    gpus: int
    rates: tuple[float, ...]

    @property
    def on_spot(self) -> bool:
        """Say whether the replicas may be taken back."""
        return self.option.on_spot


@dataclass(frozen=True, slots=True)
class RunOption:
    """A run on a machine: the periods of its window, the fewest slots that finish the work."""

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
    """All sets of one program, each in a fixed order."""

    case: Case
    periods: tuple[Period, ...]
    demands: tuple[Demand, ...]
    machines: tuple[Machine, ...]
    committed: tuple[Committed, ...]
    levels: tuple[Level, ...]
    stocks: tuple[Stock, ...]
    kinds: tuple[Kind, ...]
    groups: tuple[Group, ...]
    runs: tuple[TrainingRun, ...]
    run_options: tuple[RunOption, ...]
    handovers: tuple[Handover, ...]

    @property
    def has_one_kind(self) -> bool:
        """Say whether each demand is served by one kind of replica, so that counts are known."""
        return self.case.workloads.policy.max_groups == 1

    @property
    def hours(self) -> Floats:
        """Give the hours of each period."""
        return np.array([period.hours for period in self.periods])
