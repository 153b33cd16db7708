"""Plans written by hand from replicas by slot, for rules that look at nothing else."""

from datetime import datetime, timedelta
from decimal import Decimal

from tiny_cases import START

from broker.domain.case import Case, ServingOption
from broker.domain.plan import (
    CatalogRef,
    Plan,
    ServingAssignment,
    ServingStep,
    SolveSettings,
    Status,
)

_SLOT = timedelta(hours=8)
_LOAD = 1.0


def plan_of(of: Case, *groups: tuple[ServingOption, dict[int, int]]) -> Plan:
    """Write replicas by slot number as a plan; what it costs is of no interest here."""
    return Plan(
        status=Status.FEASIBLE,
        total_usd=Decimal(0),
        bound_usd=Decimal(0),
        gap_fraction=0.0,
        catalog=CatalogRef(snapshot="s", offers=2, as_of=START, oldest_price_at=None),
        workloads_sha256="w",
        settings=SolveSettings(gap_fraction=0, time_limit_s=1, seed=0),
        purchases=(),
        serving=tuple(_assignment(*group) for group in groups),
        training=(),
        cost_lines=(),
        comparisons=(),
        rejected=(),
        warnings=(),
        workloads=of.workloads,
        offers=(),
    )


def _assignment(option: ServingOption, replicas: dict[int, int]) -> ServingAssignment:
    return ServingAssignment(
        service=option.service,
        user_region=option.user_region,
        machine=option.machine,
        on_spot=option.on_spot,
        candidate=option.candidate,
        steps=tuple(
            ServingStep(
                from_at=_at(slot),
                to_at=_at(slot + 1),
                replicas=count,
                requests_per_s=(_LOAD,),
            )
            for slot, count in replicas.items()
        ),
    )


def _at(slot: int) -> datetime:
    return START + slot * _SLOT
