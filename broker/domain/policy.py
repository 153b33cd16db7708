"""The policy that a plan must keep: rules over the whole of it.

The fields are those of `policy` in the workloads file.
"""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from broker.domain.budget import Budget
from broker.domain.burst import Burst
from broker.domain.coverage_policy import CoveragePolicy
from broker.domain.offer import Payment
from broker.domain.parts import Count
from broker.domain.quantities import Frozen, Share, Usd
from broker.domain.robust import Robust
from broker.domain.surcharge import Surcharge

PositiveShare = Annotated[float, Field(gt=0, le=1)]


class AllowDeny(Frozen):
    """What may be used. An empty `allow` allows all; `deny` wins over `allow`.

    Providers may be named with a tier, as `runpod:community`.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class CommitmentPolicy(Frozen):
    """How far the buyer is willing to commit; `max_term_months: 0` forbids commitments.

    A capacity block is a commitment for its length that is paid all upfront; `capacity_blocks` says
    whether any may be booked. `savings_plans` says whether dollars an hour may be promised over all
    machines of a plan; no inventory can state such a promise, so a later plan does not know of it.
    All that a plan commits to newly, but for blocks, costs `max_new_usd_per_hour` at most.
    """

    max_term_months: Annotated[int, Field(ge=0)] = 12
    payments: tuple[Payment, ...] = tuple(Payment)
    max_upfront_usd: Usd | None = None
    max_new_usd_per_hour: Annotated[Usd | None, Field(exclude_if=lambda limit: limit is None)] = (
        None
    )
    capacity_blocks: bool = True
    savings_plans: bool = False


class Sharing(StrEnum):
    """Whether training and serving may use the same committed nodes."""

    CONVERGED = "converged"
    SPLIT = "split"


class Churn(Frozen):
    """When a better plan is worth the change: all three must hold for a night to act on it.

    The saving must exceed `usd_per_moved_node` for each node whose work moves, must be at least
    `min_saving_fraction` of what the plan in force costs, and its share of that cost, divided by
    the share of the nodes that are disturbed, must reach `min_saving_per_disturbance`. With
    `in_plan` it weighs in the plan itself, too: each node of a line beyond the most that the plan
    in force has of it counts as `usd_per_moved_node`, which nobody is paid.
    """

    usd_per_moved_node: Usd = Decimal("50.000000")
    min_saving_fraction: Share = 0.02
    min_saving_per_disturbance: Annotated[float, Field(ge=0)] = 0.5
    in_plan: Annotated[bool, Field(exclude_if=lambda asks: not asks)] = False


class Policy(Frozen):
    """Rules over the whole plan.

    `price_trend_per_year` is the expected relative change of market prices (−0.25: a quarter
    cheaper in a year). `safety_margin` is taken off every estimated rate; `from_error_band` plans
    with the bad end of each rate's own 90 % band instead. `max_groups` limits how many kinds of
    replica (model of GPU, precision, layout) serve one service in one user region; `burst` lets
    others serve beside them for a time.
    `max_provider_share` holds for each service and user region by itself: of its replicas, one
    provider has at most this share at any time; a service may set a smaller one.
    `max_share_per_provider` is of the GPU-hours of all work together. `approvals` is how many
    different persons must approve a plan before anything of it is bought. `churn` says when a night
    acts on a better plan, and may weigh in the plan itself. `budgets` are further caps, on parts of
    the plan, by the hour, or soft. `coverage` sets targets for commitments and spot. `surcharges`
    are paid beside the price of some nodes. `isolated` names workloads whose nodes carry nothing
    else. `robust` lists other courses that demand and prices may take; without it the forecast
    counts.
    """

    providers: AllowDeny = AllowDeny()
    regions: AllowDeny = AllowDeny()
    certifications: tuple[str, ...] = ()
    budget_usd_per_month: Usd | None = None
    budgets: tuple[Budget, ...] = ()
    commitments: CommitmentPolicy = CommitmentPolicy()
    price_trend_per_year: Annotated[float, Field(gt=-1, le=1)] = 0.0
    safety_margin: Annotated[float, Field(ge=0, lt=1)] | Literal["from_error_band"] = 0.15
    sharing: Sharing = Sharing.CONVERGED
    isolated: tuple[str, ...] = ()
    max_groups: Count = 1
    burst: Annotated[Burst | None, Field(exclude_if=lambda burst: burst is None)] = None
    max_provider_share: PositiveShare = 1.0
    max_share_per_provider: PositiveShare = 1.0
    allow_stale: bool = False
    approvals: Annotated[int, Field(ge=1, le=5)] = 1
    churn: Churn = Churn()
    coverage: CoveragePolicy = CoveragePolicy()
    surcharges: tuple[Surcharge, ...] = ()
    robust: Annotated[Robust | None, Field(exclude_if=lambda robust: robust is None)] = None

    @model_validator(mode="after")
    def _promises_cover_nodes_alike(self) -> Self:
        key = "surcharges" if self.surcharges else "isolated"
        if (self.surcharges or self.isolated) and self.commitments.savings_plans:
            raise ValueError(
                f"{key} and commitments.savings_plans cannot be had together, as a promise covers "
                "nodes of all kinds alike; turn savings_plans off"
            )
        return self

    @model_validator(mode="after")
    def _courses_share_their_kinds(self) -> Self:
        if self.burst is not None and self.robust is not None:
            raise ValueError(
                "burst and robust cannot be had together, as the same kinds serve in every "
                "scenario; leave one of them out"
            )
        return self

    @property
    def has_one_kind(self) -> bool:
        """Say whether one kind of replica serves each demand at all times."""
        return self.max_groups == 1 and self.burst is None

    @property
    def most_groups(self) -> int:
        """Count the kinds of replica that may serve a demand at one time."""
        return self.max_groups + (self.burst.max_groups if self.burst is not None else 0)
