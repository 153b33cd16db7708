"""The explanation of a plan: why each line, why not an offer, what else is near, what to relax.

Amounts that compare two plans are ranges, as each plan is known to its gap: `least_usd` is proven,
`most_usd` is what a plan that was found gives. Where both plans are exact they are one figure.
"""

from decimal import Decimal
from enum import StrEnum
from typing import Literal

from pydantic import Field

from broker.domain.parts import Name
from broker.domain.plan import Status
from broker.domain.quantities import Frozen, SignedUsd, Usd

SCHEMA = "gpubroker.explanation/1"


class Outcome(StrEnum):
    """How a search for another plan ended; `unknown` is that the time was up."""

    FOUND = "found"
    NONE = "none"
    UNKNOWN = "unknown"


class UsdRange(Frozen):
    """Dollars that are known to lie between two figures."""

    least_usd: SignedUsd
    most_usd: SignedUsd


class OtherPlan(Frozen):
    """Another plan for the same demand, and how much dearer it is.

    `buys` are offers of which it buys more than the plan does, `drops` those of which it buys less.
    """

    outcome: Outcome
    total_usd: Usd | None = None
    dearer: UsdRange | None = None
    buys: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()


class RuleWorth(Frozen):
    """What one rule costs: `saving` is how much cheaper the plan is under a looser value of it.

    `lines` are the plan's lines of which less is bought then.
    """

    rule: str
    value: str
    loosened: str
    outcome: Outcome
    saving: UsdRange | None = None
    lines: tuple[str, ...] = ()


class Unfit(Frozen):
    """Offers that cost less than a line's for a node and cannot do its work, by reason."""

    reason: str
    offers: int
    example: str


class LineReason(Frozen):
    """Why a line is in the plan.

    `runner_up` is the best plan without its offer. `binding` names the rules under whose looser
    values less of it would be bought, the dearest first. `rank` of `rivals` says how many ways to
    buy there are for its work, by dollars per unit of it at full use, and which one this is.
    """

    line: str
    usd: Usd
    workloads: tuple[str, ...]
    why: str
    binding: tuple[str, ...]
    runner_up: OtherPlan
    rank_count: int | None = None
    rivals_count: int = 0
    unfit: tuple[Unfit, ...] = ()


class ServiceLoad(Frozen):
    """A load of one service: the mean and the peak of its curve."""

    service: Name
    mean_requests_per_s: float
    peak_requests_per_s: float


class CommitmentReason(Frozen):
    """When a commitment pays, and when it does not.

    Utilization counts the committed node-hours that carry work. Below the break-even one (of the
    term: `breakeven_hours` a node) renting the same on demand is cheaper at the price trend of the
    policy, `trend_per_year`. `loses_below_load_share` is the part of the planned load of its
    services at which that is reached, `loses_below` their loads then; None where no load decides.
    `value_usd` is what it saves over its term against renting on demand, used as in the horizon and
    at that trend; `value_at_todays_prices_usd` the same with prices that stay.
    """

    line: str
    term_months: int
    term_hours: Decimal
    planned_utilization_fraction: float
    breakeven_utilization_fraction: float
    breakeven_hours: Decimal
    loses_below_load_share: float | None
    loses_below: tuple[ServiceLoad, ...]
    trend_per_year: float
    value_usd: SignedUsd | None
    value_at_todays_prices_usd: SignedUsd | None


class Verdict(StrEnum):
    """What became of an offer."""

    IN_PLAN = "in the plan"
    HELD_BACK = "held back"
    RULED_OUT = "ruled out"
    UNFIT = "unfit"
    IMPOSSIBLE = "impossible"
    DEARER = "dearer"
    UNKNOWN = "unknown"


class EntryPrice(Frozen):
    """The price of a node-hour at which an offer enters the plan, an upfront part spread over it.

    At `least_usd_per_hour` and below a cheapest plan uses it, above `most_usd_per_hour` none does;
    None is that no such price was found.
    """

    now_usd_per_hour: Usd
    least_usd_per_hour: Usd | None
    most_usd_per_hour: Usd | None


class WhyNot(Frozen):
    """Why an offer is not in the plan: the first rule that removed it, or what its use would cost.

    `could_do` names the workloads that fit on it. `instead` is the cheapest plan that uses it.
    """

    offer: str
    verdict: Verdict
    reason: str
    details: tuple[str, ...] = ()
    could_do: tuple[str, ...] = ()
    instead: OtherPlan | None = None
    entry: EntryPrice | None = None


class NearPlan(Frozen):
    """A plan that does without a line of every cheaper one, and why one may prefer it."""

    plan: OtherPlan
    reasons: tuple[str, ...]


class RuleChange(Frozen):
    """A rule of the workloads file, its value, and the nearest one that is enough.

    `one_step_less` is the value that is proven not to be enough; None where nothing lies between.
    """

    rule: str
    value: str
    enough: str
    one_step_less: str | None
    is_least: bool


class Relaxation(Frozen):
    """Changes that together let a plan exist, each as small as can be, and what it then costs."""

    changes: tuple[RuleChange, ...]
    status: Status
    total_usd: Usd
    bound_usd: Usd


class Relaxing(Frozen):
    """Why there is no plan: the rules that clash, and each least way out, the cheapest first.

    Each of `relaxations` is enough by itself. `hopeless` are workloads that fit nowhere at all.
    Where the time was up before every rule was tried to its end, it is not `is_whole`.
    """

    clashing: tuple[str, ...]
    relaxations: tuple[Relaxation, ...]
    hopeless: tuple[str, ...] = ()
    is_whole: bool = True


class Explanation(Frozen):
    """What was asked of a plan; parts that were not asked for are empty."""

    schema_: Literal["gpubroker.explanation/1"] = Field(
        default="gpubroker.explanation/1", alias="schema"
    )
    status: Status
    snapshot: str
    workloads_sha256: str
    total_usd: Usd
    bound_usd: Usd
    lines: tuple[LineReason, ...] = ()
    rules: tuple[RuleWorth, ...] = ()
    commitments: tuple[CommitmentReason, ...] = ()
    why_not: WhyNot | None = None
    near: tuple[NearPlan, ...] = ()
    relaxing: Relaxing | None = None
    notes: tuple[str, ...] = ()
