"""The night itself failed: there is no plan of tonight, and this is why."""

import re
from collections.abc import Iterator

from broker.alerts.night import Night
from broker.alerts.phrases import command, instant, one_line
from broker.domain.alert import Alert, AlertKind

_FIGURES = re.compile(r"[0-9]+(\.[0-9]+)?")


def night_failed(night: Night) -> Iterator[Alert]:
    """Tell why no plan was made; the same failure with other figures in it is the same state."""
    if not night.failure:
        return
    why = one_line(night.failure)
    yield Alert(
        kind=AlertKind.NIGHT_FAILED,
        scope=night.workloads,
        subject=night.workloads,
        state=_FIGURES.sub("#", why),
        title=f"The night of {night.workloads} failed",
        since=night.now,
        facts=(why, _standing(night)),
        action=command("nightly", night.workloads),
    )


def _standing(night: Night) -> str:
    if night.in_force is None:
        return "there is no plan to act by"
    return f"the plan in force stands; it goes to {instant(night.in_force.workloads.horizon.end)}"
