"""Alerts: what is worth telling someone, with what it costs and the one action that mends it."""

from enum import StrEnum

from broker.domain.quantities import Frozen, Instant, Usd


class AlertKind(StrEnum):
    """What an alert is about."""

    BETTER_PLAN = "better_plan"
    IDLE_COMMITMENT = "idle_commitment"
    COMMITMENT_ENDING = "commitment_ending"
    PRICE_JUMP = "price_jump"
    PROVIDER_SHRUNK = "provider_shrunk"
    PROVIDER_STALE = "provider_stale"
    PROVIDER_FAILING = "provider_failing"
    DEADLINE_AT_RISK = "deadline_at_risk"
    OBJECTIVE_AT_RISK = "objective_at_risk"
    BUDGET_NEARLY_USED = "budget_nearly_used"
    NIGHT_FAILED = "night_failed"


class Alert(Frozen):
    """One thing worth telling.

    `subject` names what it is about (a plan's hash, an offer's key, a provider, a workload), and
    with `kind` says whether two alerts are about the same thing. `state` says how it stands, so
    that what was said already is not said again before it changes. `usd_per_day` is what it costs
    each day that nothing is done, None where it costs nothing or nobody knows. `scope` is the
    workloads file that it concerns, empty where it concerns the catalog: subjects of two files are
    apart.
    """

    kind: AlertKind
    subject: str
    state: str
    title: str
    since: Instant
    usd_per_day: Usd | None = None
    facts: tuple[str, ...] = ()
    action: str
    scope: str = ""
