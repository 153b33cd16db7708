"""The states of a plan, and which may follow which."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class PlanState(StrEnum):
    """How far a plan is on its way: made, allowed, bought; or another took its place."""

    DRAFT = "draft"
    APPROVED = "approved"
    EXECUTED = "executed"
    SUPERSEDED = "superseded"


NEXT: Mapping[PlanState, frozenset[PlanState]] = MappingProxyType(
    {
        PlanState.DRAFT: frozenset({PlanState.APPROVED, PlanState.SUPERSEDED}),
        PlanState.APPROVED: frozenset({PlanState.EXECUTED, PlanState.SUPERSEDED}),
        PlanState.EXECUTED: frozenset({PlanState.SUPERSEDED}),
        PlanState.SUPERSEDED: frozenset(),
    }
)
"""What a state may become; nothing else is written."""
