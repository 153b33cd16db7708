"""The plan: purchases, assignments, cost lines, proof and reasons. The one truth of all reports.

Counts over time are steps: they hold from `from_at` until `to_at`, and there is none in between.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from broker.domain.candidate import GangCandidate, ServingCandidate
from broker.domain.offer import Offer, PriceKind
from broker.domain.quantities import Frozen, Instant, Usd
from broker.domain.surcharge import paid_by_key
from broker.domain.workload import Workloads

SCHEMA = "gpubroker.plan/1"
SMALLEST_GAP = 1e-6
"""A gap below this is the solver's own tolerance: the plan counts as optimal."""

LONGEST_BLOCK_H = 366 * 24
"""No capacity block is booked for longer than a year."""


class Status(StrEnum):
    """How good the plan is proven to be."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"


class NodeStep(Frozen):
    """So many nodes from one instant to another."""

    from_at: Instant
    to_at: Instant
    nodes: Annotated[int, Field(ge=1)]


class BookedBlock(Frozen):
    """The window of a capacity block as it is booked; it may end after the horizon."""

    starts_at: Instant
    length_h: Annotated[int, Field(ge=1, le=LONGEST_BLOCK_H)]


class CoveredStep(Frozen):
    """So many nodes, and parts of a node, from one instant to another."""

    from_at: Instant
    to_at: Instant
    nodes: Annotated[Decimal, Field(gt=0)]


class Coverage(Frozen):
    """What a savings plan pays of one on-demand line, at the rate of `offer`.

    `usd` is the part of the commitment that this takes.
    """

    line: str
    offer: str
    steps: tuple[CoveredStep, ...]
    node_hours: Decimal
    usd: Usd


class SteadyNodes(Frozen):
    """Nodes that services keep up for the break-even share of the time, at the rate of `offer`."""

    offer: str
    nodes: Annotated[int, Field(ge=1)]


class SavingsPlan(Frozen):
    """Dollars that are promised for every hour of a term, and what they are used for.

    `utilization` is the share of what is promised in the horizon that covered nodes use. `steady`
    are the nodes that justify a promise beyond the horizon, as forecast. Only a plan over scenarios
    may promise what covers nothing in one of them.
    """

    usd_per_hour: Usd
    utilization: float
    covers: tuple[Coverage, ...]
    steady: tuple[SteadyNodes, ...] = ()


class LineInForce(Frozen):
    """The most nodes at one time that the plan in force has of a line, inside the horizon."""

    line: str
    nodes: Annotated[int, Field(ge=1)]


class Purchase(Frozen):
    """Nodes of one offer: what to reserve, book, rent, bid for, or take from what is owned.

    `usd` is the cost inside the horizon, surcharges of the policy included. A commitment is charged
    for its hours inside the horizon with its share of the upfront; the cost of the rest of its term
    is `later_usd`, paid by the hour or with the `upfront_usd`, which is the cash due at the start.
    A capacity block is paid whole at once, hours after the horizon included: `usd` and
    `upfront_usd` are both that price.

    A savings plan is a purchase without nodes: `savings` says what is promised, and `offer` is one
    of its rates. Of the on-demand nodes that it covers, `covered_node_hours` are not charged again.
    Nodes of a purchase that is `isolated_for` a workload carry nothing else.
    """

    id: str
    offer: str
    price_kind: PriceKind
    steps: tuple[NodeStep, ...]
    node_hours: Decimal
    usd: Usd
    upfront_usd: Usd = Decimal(0)
    later_usd: Usd = Decimal(0)
    breakeven_utilization: float | None = None
    block: BookedBlock | None = None
    savings: SavingsPlan | None = None
    covered_node_hours: Decimal = Decimal(0)
    isolated_for: str | None = None

    def may_carry(self, isolated: Sequence[str]) -> Callable[[str], bool]:
        """Say of a workload, by its name, whether it may be on these nodes."""
        if self.isolated_for is not None:
            return lambda workload: workload == self.isolated_for
        return lambda workload: workload not in isolated


class ServingStep(Frozen):
    """Replicas from one instant to another, and the requests/s of each size class sent to them."""

    from_at: Instant
    to_at: Instant
    replicas: Annotated[int, Field(ge=1)]
    requests_per_s: tuple[float, ...]


class ServingAssignment(Frozen):
    """A group of replicas of one service for the users of one region, on one machine."""

    service: str
    user_region: str
    machine: str
    on_spot: bool
    candidate: ServingCandidate
    steps: tuple[ServingStep, ...]


class RunStep(Frozen):
    """The run's gang is up from one instant to another."""

    from_at: Instant
    to_at: Instant


class TrainingAssignment(Frozen):
    """A run on whole nodes of one machine. `tokens` is the work that the steps finish.

    A run is a training run, a batch job, or one day of a daily batch job (`job@2026-12-01`).
    """

    run: str
    machine: str
    on_spot: bool
    candidate: GangCandidate
    steps: tuple[RunStep, ...]
    tokens: float

    @property
    def workload(self) -> str:
        """Name the workload that the run belongs to: a daily batch job has a run for each day."""
        return self.run.partition("@")[0]


class Term(StrEnum):
    """The named terms of the objective; a cost line is one of them.

    `surcharge` is what the policy's surcharges add to the price of a purchase, whose other lines
    are at the offer's price. Nobody bills `over_budget`, which is what exceeding a soft budget
    counts as, nor `churn`: what nodes count as that the plan in force does not have.
    """

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    COMMITMENT_HOURS = "commitment_hours"
    UPFRONT = "upfront"
    SAVINGS_PLAN = "savings_plan"
    CAPACITY_BLOCK = "capacity_block"
    OWNED = "owned"
    EGRESS = "egress"
    STORAGE = "storage"
    SURCHARGE = "surcharge"
    OVER_BUDGET = "over_budget"
    CHURN = "churn"


NOT_BILLED = frozenset({Term.OVER_BUDGET, Term.CHURN})
"""Terms that weigh in the choice of a plan, but are no money that anybody is paid."""


class CostLine(Frozen):
    """One part of the total: a term, what it is for, and its dollars.

    `subject` is a purchase's id; or a workload, whose data or weights are brought from where they
    are; or `workload@provider/region`, where something is kept, or leaves for the data's place; or
    a budget (`policy.budgets[0]`). A day of a batch job is a workload here, `job@2026-12-01`.
    """

    term: Term
    subject: str
    usd: Usd

    @property
    def workload(self) -> str:
        """Name the workload whose data it is for, the day of a batch job included."""
        return self.subject.rpartition("@")[0] if self.place else self.subject

    @property
    def place(self) -> str:
        """Name where data is kept or leaves; empty where it comes from its workload's place."""
        tail = self.subject.rpartition("@")[2]
        return tail if "/" in tail and tail != self.subject else ""


class Comparison(Frozen):
    """The cost of the same demand under a narrower strategy; None where it has no plan.

    Over scenarios it is that of all of them, as the plan's `objective_usd`.
    """

    strategy: str
    status: Status
    total_usd: Usd | None
    bound_usd: Usd | None
    gap_fraction: float | None


class RejectedCount(Frozen):
    """How many offers one reason removed, with one of them as an example."""

    reason: str
    offers: int
    example: str


class CatalogRef(Frozen):
    """The catalog that the plan was made from."""

    snapshot: str
    offers: int
    as_of: Instant
    oldest_price_at: Instant | None


class SolveSettings(Frozen):
    """What decides the answer besides the inputs."""

    gap_fraction: float
    time_limit_s: float
    seed: int


class ScenarioPlan(Frozen):
    """What is rented and served if a scenario comes; commitments and runs are those of the plan.

    `rented_node_hours` and `most_rented_nodes` are on demand and on spot. Of the forecast
    purchases, serving and cost lines are the plan's own and stand there alone.
    """

    name: str
    probability: Annotated[Decimal, Field(ge=0, le=1)]
    total_usd: Usd
    rented_node_hours: Decimal
    most_rented_nodes: Annotated[int, Field(ge=0)]
    purchases: tuple[Purchase, ...] = ()
    serving: tuple[ServingAssignment, ...] = ()
    cost_lines: tuple[CostLine, ...] = ()


class ScenarioCosts(Frozen):
    """What a plan costs over all scenarios, the forecast first.

    `objective_usd` is what the plan's bound is under: the mean, or with `cvar_usd` weighed in.
    """

    objective_usd: Usd
    mean_usd: Usd
    cvar_usd: Usd | None = None
    scenarios: tuple[ScenarioPlan, ...]

    @property
    def measures(self) -> tuple[tuple[str, Decimal], ...]:
        """Name what the costs come to, each figure once."""
        found = [("mean of scenarios", self.mean_usd)]
        if self.cvar_usd is not None:
            found.append(("mean of the worst", self.cvar_usd))
        if self.objective_usd not in (self.mean_usd, self.cvar_usd):
            found.append(("both, weighed", self.objective_usd))
        return tuple(found)


class Plan(Frozen):
    """A purchase plan. `total_usd` is the sum of the cost lines, and what the bound is under.

    No plan under the same rules and catalog costs less than `bound_usd`;
    `gap_fraction` is (total − bound) / total. Where there is no plan it is 0 if that is proven, and
    1 if the time was up before one was found. `in_force` are the nodes of the plan in force, where
    the policy has churn weighed against one; others then count as moved. With `scenarios` the total
    is the cost if the forecast comes true; bound and gap are those of `objective_usd`, the cost
    over all scenarios.
    """

    schema_: Literal["gpubroker.plan/1"] = Field(default="gpubroker.plan/1", alias="schema")
    status: Status
    total_usd: Usd
    bound_usd: Usd
    gap_fraction: Annotated[float, Field(ge=0, le=1)]
    catalog: CatalogRef
    workloads_sha256: str
    settings: SolveSettings
    purchases: tuple[Purchase, ...]
    serving: tuple[ServingAssignment, ...]
    training: tuple[TrainingAssignment, ...]
    cost_lines: tuple[CostLine, ...]
    comparisons: tuple[Comparison, ...]
    rejected: tuple[RejectedCount, ...]
    warnings: tuple[str, ...]
    workloads: Workloads
    offers: tuple[Offer, ...]
    in_force: Annotated[
        tuple[LineInForce, ...] | None, Field(exclude_if=lambda lines: lines is None)
    ] = None
    scenarios: Annotated[
        ScenarioCosts | None, Field(exclude_if=lambda scenarios: scenarios is None)
    ] = None

    @property
    def objective_usd(self) -> Decimal:
        """Give what was minimized: the total, or the cost over all scenarios."""
        return self.total_usd if self.scenarios is None else self.scenarios.objective_usd

    @property
    def paid_offers(self) -> dict[str, Offer]:
        """Give the offers by key at what is paid for them, surcharges of the policy included."""
        return paid_by_key(self.offers, self.workloads.policy.surcharges)

    @property
    def billed_usd(self) -> Decimal:
        """Add up what is paid to anybody."""
        lines = (line.usd for line in self.cost_lines if line.term not in NOT_BILLED)
        return sum(lines, Decimal(0))

    @property
    def is_undecided(self) -> bool:
        """Say whether the time was up before a plan was found, or proven not to exist."""
        return self.status is Status.INFEASIBLE and self.gap_fraction > 0

    @model_validator(mode="after")
    def _total_is_sum_of_lines(self) -> Self:
        lines = sum((line.usd for line in self.cost_lines), Decimal(0))
        if lines != self.total_usd:
            raise ValueError(f"the cost lines add up to {lines}, but total_usd is {self.total_usd}")
        return self
