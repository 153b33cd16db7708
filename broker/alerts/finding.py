"""All that is worth telling of a night, and what was looked at to know it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from broker.alerts.finders.better_plan import better_plan
from broker.alerts.finders.budget import budget_nearly_used
from broker.alerts.finders.commitment_ending import commitment_ending
from broker.alerts.finders.deadline import deadline_at_risk
from broker.alerts.finders.idle_commitment import idle_commitment
from broker.alerts.finders.night_failed import night_failed
from broker.alerts.finders.objective import objective_at_risk
from broker.alerts.finders.price_jump import price_jump
from broker.alerts.finders.provider import provider
from broker.alerts.night import Night
from broker.domain.alert import Alert, AlertKind

_FINDERS: tuple[Callable[[Night], Iterator[Alert]], ...] = (
    night_failed,
    deadline_at_risk,
    objective_at_risk,
    budget_nearly_used,
    better_plan,
    idle_commitment,
    commitment_ending,
    price_jump,
    provider,
)
"""The gravest kinds first: this is the order in which people read them."""

PROVIDER_KINDS = frozenset(
    {AlertKind.PROVIDER_SHRUNK, AlertKind.PROVIDER_STALE, AlertKind.PROVIDER_FAILING}
)


@dataclass(frozen=True, slots=True)
class Looked:
    """What was looked at: an alert of before that is absent now is over only if it is covered.

    `kinds` are those of `scope`; the `providers` are covered whatever the scope.
    """

    scope: str
    kinds: frozenset[AlertKind]
    providers: frozenset[str] = frozenset()

    def covers(self, alert: Alert) -> bool:
        """Tell whether the alert would have been found again if it still stood."""
        if alert.kind in PROVIDER_KINDS:
            return alert.subject in self.providers
        return alert.scope == self.scope and alert.kind in self.kinds


def alerts_of(night: Night) -> tuple[Alert, ...]:
    """Find all that is worth telling of a night, each kind by its own finder."""
    return tuple(alert for find in _FINDERS for alert in find(night))


def looked_at(night: Night) -> Looked:
    """Say what a night could see: without a plan of tonight nothing of the plan's is over."""
    kinds = frozenset(AlertKind) - PROVIDER_KINDS
    return Looked(
        scope=night.workloads,
        kinds=kinds if night.made is not None else frozenset({AlertKind.NIGHT_FAILED}),
        providers=frozenset(state.name for state in night.providers),
    )
