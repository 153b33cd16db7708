import csv
import io
import json
from decimal import Decimal
from fractions import Fraction

import pytest
from export_plans import Parts, bought, machine, plan, served
from hypothesis import given
from hypothesis import strategies as st
from solving import assembled, solved
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.offer import PriceKind
from broker.domain.plan import Plan, Term
from broker.exports.amounts import shared_out_usd
from broker.exports.files import line_label
from broker.exports.focus import export, export_1_2

Row = dict[str, str]


def rows(of: Plan) -> list[Row]:
    (file,) = export(of)
    assert file.name == "focus-1.0.csv"
    return list(csv.DictReader(io.StringIO(file.text)))


def summed(of: list[Row], column: str) -> Decimal:
    return sum((Decimal(row[column]) for row in of), Decimal(0))


@pytest.fixture(scope="module")
def sample() -> Plan:
    """A plan over the turn of a year: reserved, rented and owned nodes, and a run's data."""
    asked = workloads(
        services=[service_entry(3, 9)],
        training=[
            run_entry(
                3600.0 * 20,
                window={"earliest": "2026-12-30", "deadline": "2027-01-02"},
                data={"at": "aws/us-east-1", "size": "500 GB"},
            )
        ],
        horizon={"start": "2026-12-30", "days": 4, "slot": "8h"},
        slot="8h",
    )
    rented = offer("10")
    reserved = offer("4.123457", kind=PriceKind.RESERVED, term_months=12, upfront_usd="9876.543211")
    own = offer("7", name="own")
    of = case(
        asked,
        [rented, reserved],
        serving=[serving(rented, [1.0])],
        training=[training(rented, egress_usd="45.670001"), training(own, egress_usd="45.670001")],
        owned=[(own, 1)],
    )
    made = assembled(of, solved(of))
    kinds = {one.price_kind for one in made.purchases}
    assert kinds == {PriceKind.ON_DEMAND, PriceKind.RESERVED, PriceKind.OWNED}
    return made


def test_the_effective_costs_add_up_to_the_plan_to_the_micro_dollar(sample: Plan) -> None:
    assert summed(rows(sample), "EffectiveCost") == sample.total_usd
    for line in sample.purchases:
        own = [row for row in rows(sample) if row["x_PlanLine"] == line.id]
        assert summed(own, "EffectiveCost") == line.usd


def test_what_is_billed_is_the_hours_and_the_whole_upfront(sample: Plan) -> None:
    spread = sum((one.usd for one in sample.cost_lines if one.term is Term.UPFRONT), Decimal(0))
    upfront = sum((one.upfront_usd for one in sample.purchases), Decimal(0))
    assert upfront > spread > 0
    assert summed(rows(sample), "BilledCost") == sample.total_usd - spread + upfront


def test_a_purchase_costs_nothing_in_effect_and_its_usage_is_not_billed_again(
    sample: Plan,
) -> None:
    for row in rows(sample):
        if row["ChargeCategory"] == "Purchase":
            assert Decimal(row["EffectiveCost"]) == 0 < Decimal(row["BilledCost"])
            assert row["CommitmentDiscountStatus"] == ""
        elif row["CommitmentDiscountStatus"]:
            assert Decimal(row["BilledCost"]) == 0


def test_committed_hours_are_used_or_unused_and_all_counted(sample: Plan) -> None:
    (line,) = (one for one in sample.purchases if one.price_kind is PriceKind.RESERVED)
    own = [row for row in rows(sample) if row["CommitmentDiscountName"] == line.id]
    by_status = {
        status: summed(
            [row for row in own if row["CommitmentDiscountStatus"] == status], "PricingQuantity"
        )
        for status in ("Used", "Unused")
    }
    assert sum(by_status.values()) == line.node_hours
    assert by_status["Unused"] > 0
    (fees,) = {row["ChargeFrequency"] for row in own if row["PricingUnit"] == "Nodes"}
    assert fees == "One-Time"
    unused = [row for row in own if row["CommitmentDiscountStatus"] == "Unused"]
    assert {row["ConsumedQuantity"] for row in unused} == {""}
    assert {row["CommitmentDiscountType"] for row in own} == {"reserved 12 months partial upfront"}


def test_charges_stay_inside_their_billing_month(sample: Plan) -> None:
    for row in rows(sample):
        assert row["BillingPeriodStart"] <= row["ChargePeriodStart"] < row["ChargePeriodEnd"]
        assert row["ChargePeriodEnd"] <= row["BillingPeriodEnd"]
    assert {row["BillingPeriodStart"] for row in rows(sample)} == {
        "2026-12-01T00:00:00Z",
        "2027-01-01T00:00:00Z",
    }


def test_owned_nodes_are_shown_at_no_cost(sample: Plan) -> None:
    own = [row for row in rows(sample) if row["x_PlanLine"].endswith("@owned")]
    assert own
    assert summed(own, "EffectiveCost") == summed(own, "BilledCost") == 0
    assert {row["CommitmentDiscountStatus"] for row in own} == {"Used"}


def test_egress_is_charged_by_the_provider_that_holds_the_data(sample: Plan) -> None:
    (row,) = (row for row in rows(sample) if row["ServiceCategory"] == "Networking")
    assert (row["ProviderName"], row["RegionId"]) == ("aws", "us-east-1")
    assert (row["EffectiveCost"], row["ConsumedQuantity"]) == ("45.670001", "500.0")


def test_prices_kinds_and_tags_are_those_of_the_line() -> None:
    spot = machine("aws/g6e.12xlarge/us-west-2", "L40S", 4, "4", kind=PriceKind.SPOT)
    listed = machine("aws/g6e.12xlarge/us-west-2", "L40S", 4, "10.5")
    one = plan(
        [spot, listed],
        Parts([bought(spot, (0, 48, 2))], serving=[served(spot, (0, 48, 2, 1))]),
    )
    first, second = rows(one)
    assert (first["PricingCategory"], first["ChargeCategory"]) == ("Dynamic", "Usage")
    assert (first["ListUnitPrice"], first["ListCost"]) == ("10.500000", "504.000000")
    assert first["EffectiveCost"] == first["BilledCost"] == "192.000000"
    assert json.loads(second["Tags"]) == {
        "gpubroker-line": line_label(spot.key),
        "gpubroker-workload": "chat",
    }
    assert first["ResourceId"] == line_label(spot.key)


def test_version_1_2_has_the_same_rows_and_more_columns(sample: Plan) -> None:
    (file,) = export_1_2(sample)
    newer = list(csv.DictReader(io.StringIO(file.text)))
    older = rows(sample)
    assert file.name == "focus-1.2.csv"
    assert {row["x_FocusVersion"] for row in newer} == {"1.2"}
    for new, old in zip(newer, older, strict=True):
        same = set(new) & set(old) - {"x_FocusVersion"}
        assert {name: new[name] for name in same} == {name: old[name] for name in same}
    assert set(newer[0]) - set(older[0]) == {
        "CommitmentDiscountQuantity",
        "CommitmentDiscountUnit",
        "InvoiceId",
        "PricingCurrency",
        "PricingCurrencyContractedUnitPrice",
        "PricingCurrencyEffectiveCost",
        "PricingCurrencyListUnitPrice",
        "ServiceSubcategory",
        "SkuMeter",
        "SkuPriceDetails",
    }


def test_a_plan_that_buys_nothing_has_no_file() -> None:
    assert export(plan([], Parts([]))) == ()


@given(
    st.decimals(min_value=0, max_value=10**7, places=6),
    st.lists(st.fractions(min_value=Fraction(1, 3600), max_value=744), min_size=1, max_size=40),
)
def test_an_amount_that_is_cut_adds_up_again(total: Decimal, weights: list[Fraction]) -> None:
    parts = shared_out_usd(total, weights)
    assert sum(parts) == total
    assert all(part >= 0 for part in parts)
