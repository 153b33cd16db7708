"""Data that is moved and kept, in the exports: who charges for it, when, and that it adds up."""

import csv
import io
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal

import pytest
from batch_cases import batch, daily
from solving import assembled, solved
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.plan import Plan, Term
from broker.exports.charges import ChargeKind, charges
from broker.exports.focus import export
from broker.exports.weeks import week_costs


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Weights from gcp/far for two days of one replica, and a run of a day with data there."""
    box = offer("1")
    weights = replace(serving(box, [1]), storage_usd_per_hour=Decimal("0.1"), egress_usd=Decimal(3))
    run = replace(
        training(box, egress_usd="7.5"), result_egress_usd=Decimal(2), storage_usd=Decimal(5)
    )
    file = workloads(
        services=[service_entry(1, 1, weights={"at": "gcp/far"})],
        training=[run_entry(24 * 3600, data={"at": "gcp/far", "size": "1 TB"})],
        slot="24 h",
        days=2,
    )
    of = case(file, [box], serving=[weights], training=[run])
    return assembled(of, solved(of))


def test_charges_add_up_to_the_plan_with_storage_by_day(plan: Plan) -> None:
    found = charges(plan)
    assert sum(one.effective_usd for one in found) == plan.total_usd
    kept = [one for one in found if one.kind is ChargeKind.STORAGE and one.workload == "chat"]
    assert [(one.quantity, one.effective_usd) for one in kept] == [(24, Decimal("2.4"))] * 2


def test_each_provider_charges_for_what_leaves_it_and_what_it_keeps(plan: Plan) -> None:
    rows = csv.DictReader(io.StringIO(export(plan)[0].text))
    usd: dict[tuple[str, str, str], Decimal] = defaultdict(Decimal)
    for row in rows:
        if row["ServiceCategory"] != "Compute":
            key = (row["ProviderName"], row["ServiceCategory"], row["ResourceName"])
            usd[key] += Decimal(row["EffectiveCost"])
    assert usd == {
        ("gcp", "Networking", "chat"): 3,
        ("gcp", "Networking", "tune"): Decimal("7.5"),
        ("acme", "Networking", "tune"): 2,
        ("acme", "Storage", "chat"): Decimal("4.8"),
        ("acme", "Storage", "tune"): 5,
    }


def test_the_week_has_all_of_it_by_the_provider_of_the_place(plan: Plan) -> None:
    kept = {
        one.line.subject: (one.provider, one.usd)
        for one in week_costs(plan)
        if one.line.term is Term.STORAGE
    }
    assert kept == {"chat@acme/here": ("acme", Decimal("4.8")), "tune@acme/here": ("acme", 5)}


def test_data_of_a_day_of_a_batch_job_is_charged_where_it_lies() -> None:
    box = offer("2")
    file = daily(2, tokens_per_day=8 * 3600.0, data={"at": "gcp/far", "size": "1 TB"})
    of = case(file, [box], training=[batch(box, run=one.name, egress_usd="7") for one in file.runs])
    made = assembled(of, solved(of))
    rows = [
        row
        for row in csv.DictReader(io.StringIO(export(made)[0].text))
        if row["ServiceCategory"] == "Networking"
    ]
    found = [
        (row["ResourceName"], row["ProviderName"], row["ConsumedUnit"], row["ResourceType"])
        for row in rows
    ]
    days = ("embed@2026-12-01", "embed@2026-12-02")
    assert found == [(day, "gcp", "GB", "data set") for day in days]
    assert all('"embed"' in row["Tags"] for row in rows)
    assert [row["ChargePeriodStart"][:10] for row in rows] == [day[-10:] for day in days]
