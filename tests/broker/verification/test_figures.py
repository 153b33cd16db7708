"""Figures at the edge: halves of a micro-dollar, slots of no whole hours, absurd counts."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from broker.domain.case import Case
from broker.domain.plan import Plan
from broker.domain.workload import Workloads
from broker.verification.check import check
from broker.verification.costs import to_micro_usd

Alter = Callable[[Mapping[str, object]], Plan]


@pytest.mark.parametrize(
    ("exact", "rounded"),
    [
        (Fraction(1, 3), "0.333333"),
        (Fraction(2, 3), "0.666667"),
        (Fraction("0.0000005"), "0.000000"),
        (Fraction("0.0000015"), "0.000002"),
        (Fraction(10**15, 3), "333333333333333.333333"),
    ],
)
def test_dollars_are_rounded_to_the_micro_dollar_and_halves_to_even(
    exact: Fraction, rounded: str
) -> None:
    assert to_micro_usd(exact) == Decimal(rounded)


@pytest.mark.parametrize(
    ("usd", "is_right"), [("2.333333", True), ("2.333334", False), ("2.333332", False)]
)
def test_a_third_of_an_hour_is_charged_as_a_third(
    plan: Plan, case: Case, usd: str, *, is_right: bool
) -> None:
    # One slot of 20 min at 7 an hour is 7 / 3.
    short, owed = _third_of_an_hour(plan, case, usd)
    rules = {one.rule for one in check(owed, short) if one.subject == "p5"}
    assert rules == (set() if is_right else {"purchase_cost"})


def test_a_rate_of_0_carries_no_request(plan: Plan, case: Case) -> None:
    group = plan.serving[0]
    rate = group.candidate.rates[1].model_copy(update={"requests_per_s": 0.0})
    slow = group.candidate.model_copy(update={"rates": (group.candidate.rates[0], rate)})
    options = tuple(replace(one, candidate=slow) for one in case.serving[:1]) + case.serving[1:]
    changed = (group.model_copy(update={"candidate": slow}), *plan.serving[1:])
    found = check(plan.model_copy(update={"serving": changed}), replace(case, serving=options))
    # Of the other class alone it could carry 9 / 5 = 1.8 replicas' worth: 2, and 1 spare.
    assert [one.rule for one in found] == ["replica_rate", "replica_rate", "idle_replicas"]
    assert "inf replicas are busy of 5" in found[0].message
    assert "inf replicas are busy of 5, of which 1 are spares" in found[1].message
    assert "5 replicas, 3 carry all" in found[2].message


@pytest.mark.parametrize(("bound_usd", "is_optimal"), [("63563.95", True), ("63563.93", False)])
def test_a_gap_within_the_tolerance_of_solvers_is_optimal(
    altered: Alter, case: Case, bound_usd: str, *, is_optimal: bool
) -> None:
    # Of 63,564 a millionth is 0.06.
    gap = float((Decimal(63564) - Decimal(bound_usd)) / 63564)
    changes = {"bound_usd": bound_usd, "gap_fraction": gap, "settings.gap_fraction": 0.0}
    rules = [one.rule for one in check(altered(changes), case)]
    assert rules == ([] if is_optimal else ["proof"])


@pytest.mark.parametrize(
    "changes",
    [
        {"purchases.0.steps.0.nodes": 10**400},
        {"purchases.0.node_hours": "1E+999999"},
        {"purchases.0.usd": "9999999999999999999999.999999"},
        {"purchases.0.steps.0.to_at": "9999-12-31"},
        {"purchases.0.steps.0.from_at": "0001-01-01"},
        {"serving.0.steps.0.replicas": 10**400},
        {"serving.0.steps.0.requests_per_s": [1e308, 1e308]},
        {"serving.0.steps.0.requests_per_s": []},
        {"serving.0.steps.0.from_at": "9999-12-31"},
        {"serving.0.candidate.layout.tensor": 10**400},
        {"serving.0.candidate.rates": []},
        {"serving.0.service": "nobody"},
        {"serving.0.machine": "nowhere"},
        {"training.0.candidate.nodes": 10**400},
        {"training.0.candidate.tokens_per_s": 1e308},
        {"training.0.machine": "nowhere"},
    ],
    ids=str,
)
def test_an_absurd_figure_is_refused_and_stops_nothing(
    altered: Alter, case: Case, changes: Mapping[str, object]
) -> None:
    assert check(altered(changes), case)


def _third_of_an_hour(plan: Plan, case: Case, usd: str) -> tuple[Case, Plan]:
    """Cut a day into slots of 20 min and rent one node at 7 an hour for one of them."""
    raw = case.workloads.model_dump(mode="json", by_alias=True)
    raw["horizon"] |= {"days": 1, "slot": "PT20M"}
    rented = case.offers[0].model_copy(update={"usd_per_hour": Decimal(7)})
    short = replace(
        case,
        workloads=Workloads.model_validate(raw, strict=False),
        offers=(rented, *case.offers[1:]),
    )
    step = {"from_at": "2026-12-01T00:20", "to_at": "2026-12-01T00:40", "nodes": 1}
    root = plan.model_dump(mode="json", by_alias=True)
    root["purchases"] = [
        root["purchases"][1] | {"steps": [step], "node_hours": "0.333333333", "usd": usd}
    ]
    root["cost_lines"] = [{"term": "on_demand", "subject": "p5", "usd": usd}]
    return short, Plan.model_validate(root | {"total_usd": usd, "bound_usd": usd}, strict=False)
