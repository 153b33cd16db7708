"""What each step of a night came to, as the journal keeps it: small values, read back later."""

from decimal import Decimal

from broker.domain.plan import Plan, Status
from broker.domain.quantities import Frozen, Instant, SignedUsd, Usd
from broker.planning.nightly.deciding import Verdict


class Nothing(Frozen):
    """A step takes no inputs of its own."""


class Demand(Frozen):
    """Prices are asked for these workloads."""

    workloads_sha256: str
    catalog: str


class PriceOutcome(Frozen):
    """The catalog of the night, the instant from which it counts, and who could not be read."""

    snapshot: str
    offers: int
    at: Instant
    refreshed: bool
    failed: tuple[str, ...] = ()


class PlanInputs(Frozen):
    """What decides a plan."""

    snapshot: str
    workloads_sha256: str
    gap_fraction: float
    time_limit_s: float
    seed: int


class PlanOutcome(Frozen):
    """The plan of the night and the one in force when it was made, by hash; empty for none."""

    plan: str
    in_force: str
    status: Status
    total_usd: Usd
    bound_usd: Usd
    gap_fraction: float

    @classmethod
    def of(cls, made: Plan, digest: str, in_force: str) -> "PlanOutcome":
        """Take the figures of a plan."""
        return cls(
            plan=digest,
            in_force=in_force,
            status=made.status,
            total_usd=made.total_usd,
            bound_usd=made.bound_usd,
            gap_fraction=made.gap_fraction,
        )

    @property
    def is_plan(self) -> bool:
        """Tell whether there is something to buy."""
        return self.status is not Status.INFEASIBLE


class Plans(Frozen):
    """The plans that a step looks at, by hash; empty for none."""

    plan: str
    in_force: str


class VerifyOutcome(Frozen):
    """How many rules the kept plan was held to; it broke none."""

    rules: int


class DiffOutcome(Frozen):
    """What the change brings from now on, at tonight's prices, and how to get there."""

    before_usd: Usd = Decimal("0.000000")
    saving_usd: SignedUsd = Decimal("0.000000")
    disturbed_nodes: int = 0
    of_nodes: int = 0
    cannot_go_on: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


class DecideOutcome(Frozen):
    """The verdict and its reasons."""

    verdict: Verdict
    why: tuple[str, ...]


class TellOutcome(Frozen):
    """How many alerts there were, and the sinks that could not be reached."""

    alerts: int
    messages: int
    undelivered: tuple[str, ...] = ()


class NightOutcome(Frozen):
    """What a whole night came to."""

    planned: PlanOutcome
    decided: DecideOutcome
