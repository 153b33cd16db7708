"""A plan in which replicas take turns without overlap is refused; one that overlaps is not."""

from datetime import datetime, timedelta
from decimal import Decimal

from tiny_cases import START, case, offer, service_entry, serving, workloads

from broker.domain.case import Case, ServingOption
from broker.domain.plan import (
    CatalogRef,
    Plan,
    ServingAssignment,
    ServingStep,
    SolveSettings,
    Status,
)
from broker.verification.check import check

_SLOT = timedelta(hours=8)
_LOAD = 1.0


def two_kinds(start_up: str = "10 min") -> tuple[Case, ServingOption, ServingOption]:
    """One replica of either of two kinds carries the constant load."""
    one, two = offer("1", name="one"), offer("1", name="two")
    first, second = serving(one, [_LOAD]), serving(two, [_LOAD])
    service = service_entry(_LOAD, _LOAD, start_up=start_up)
    file = workloads(services=[service], policy={"max_groups": 2})
    return case(file, [one, two], serving=[first, second]), first, second


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


def broken(plan: Plan, of: Case) -> list[str]:
    return [one.message for one in check(plan, of) if one.rule == "start_up"]


def test_a_kind_that_takes_over_without_overlap_leaves_the_start_up_unserved() -> None:
    of, first, second = two_kinds()
    swapped = plan_of(of, (first, {0: 1, 1: 1}), (second, {2: 1}))
    (message,) = broken(swapped, of)
    assert message == (
        "0 replicas stay in place while others start at 2026-12-01 16:00: too few for 1 requests/s"
    )


def test_a_kind_that_takes_over_after_a_slot_of_both_is_accepted() -> None:
    of, first, second = two_kinds()
    assert broken(plan_of(of, (first, {0: 1, 1: 1}), (second, {1: 1, 2: 1})), of) == []


def test_replicas_that_start_at_once_may_take_turns() -> None:
    of, first, second = two_kinds(start_up="0 s")
    assert broken(plan_of(of, (first, {0: 1, 1: 1}), (second, {2: 1})), of) == []


def test_a_start_up_longer_than_a_slot_counts_in_every_slot_that_it_touches() -> None:
    of, first, second = two_kinds(start_up="9 h")
    overlapping = plan_of(of, (first, {0: 1, 1: 1}), (second, {1: 1, 2: 1}))
    assert len(broken(overlapping, of)) == 1
    assert broken(plan_of(of, (first, {0: 1, 1: 1, 2: 1}), (second, {1: 1})), of) == []
