"""A plan as rows of cost in the FinOps Open Cost and Usage Specification (FOCUS).

What a bill of the plan would show, so that planned and billed cost go through one tool: `focus` has
the columns of version 1.0, `focus-1.2` those of 1.2. The sum of EffectiveCost is the plan's total.
A commitment is a purchase that is billed (upfront once, its hours by the month) and costs nothing
in effect by itself; the usage that it covers is in effect and is not billed again.

Times are days in UTC. BillingAccountId and SubAccountId are not known before a purchase: the
account is `planned`. Custom columns begin with `x_`, as the specification asks.
"""

import csv
import io
import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from broker.domain.case import committed_hours
from broker.domain.offer import Offer, PriceKind, Virtualization
from broker.domain.plan import Plan
from broker.exports.charges import COMMITTED, Charge, ChargeKind, charges, month_of
from broker.exports.files import ExportFile, line_label
from broker.exports.launches import LINE_LABEL, WORKLOAD_LABEL
from broker.exports.lines import Line

_ACCOUNT = "planned"
_TRANSFER = "Data transfer"
_KEEPING = "Data storage"
_PURCHASES = frozenset({ChargeKind.FEE, ChargeKind.UPFRONT})
_FREQUENCIES = {ChargeKind.FEE: "Recurring", ChargeKind.UPFRONT: "One-Time"}
_STATUSES = {ChargeKind.USED: "Used", ChargeKind.UNUSED: "Unused"}
_UNITS = {ChargeKind.UPFRONT: "Nodes", ChargeKind.EGRESS: "Transfers"}
_HOURS = "Hours"

_SERVICES = {
    Virtualization.VM: "GPU virtual machines",
    Virtualization.CONTAINER: "GPU containers",
}
_OTHER = "Other (Compute)"
_SUBCATEGORIES = {
    Virtualization.VM: "Virtual Machines",
    Virtualization.CONTAINER: "Containers",
}
_DRAFT_NAMES = {
    "ChargeType": "ChargeCategory",
    "InvoiceIssuer": "InvoiceIssuerName",
    "Provider": "ProviderName",
    "Publisher": "PublisherName",
    "ResourceID": "ResourceId",
}
"""Names of drafts that focus-validator 1.0.0 asks for in its rules of 1.0: both are written."""

_WHAT = {
    ChargeKind.RENT: "Nodes rented by the hour",
    ChargeKind.USED: "Committed nodes in use",
    ChargeKind.UNUSED: "Committed nodes without work",
    ChargeKind.FEE: "Hours of the commitment",
    ChargeKind.UPFRONT: "Upfront part of the commitment",
    ChargeKind.EGRESS: "Data brought to its nodes, or back",
    ChargeKind.STORAGE: "Data kept beside its nodes",
}


def export(plan: Plan) -> tuple[ExportFile, ...]:
    """Write the rows of version 1.0 as CSV; a plan that buys nothing has none."""
    return _files(plan, "1.0")


def export_1_2(plan: Plan) -> tuple[ExportFile, ...]:
    """Write the rows of version 1.2 as CSV; a plan that buys nothing has none."""
    return _files(plan, "1.2")


def _files(plan: Plan, version: str) -> tuple[ExportFile, ...]:
    rows = [_row(plan, one) | _of_version(one, version) for one in charges(plan)]
    if not rows:
        return ()
    rows = [row | _as_drafted(row) for row in rows] if version == "1.0" else rows
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return (ExportFile(f"focus-{version}.csv", out.getvalue()),)


def _of_version(charge: Charge, version: str) -> dict[str, str]:
    own = {"x_FocusVersion": version}
    return own if version == "1.0" else _newer(charge) | own


def _as_drafted(row: Mapping[str, str]) -> dict[str, str]:
    return {name: row[column] for name, column in _DRAFT_NAMES.items()}


def _row(plan: Plan, charge: Charge) -> dict[str, str]:
    """Write the columns of a charge, in the order of their names."""
    is_purchase = charge.kind in _PURCHASES
    bought = _bought(charge.line) if charge.line else _data(plan, charge)
    usage = {} if is_purchase or charge.kind is ChargeKind.UNUSED else _consumed(plan, charge)
    columns = {
        "AvailabilityZone": "",
        "BillingAccountId": _ACCOUNT,
        "BillingAccountName": "Planned by gpubroker, not billed",
        "BillingCurrency": "USD",
        "ChargeCategory": "Purchase" if is_purchase else "Usage",
        "ChargeClass": "",
        "ChargeDescription": f"{_WHAT[charge.kind]}: {_subject(charge)}",
        "ChargeFrequency": _FREQUENCIES.get(charge.kind, "Usage-Based"),
        "ConsumedQuantity": "",
        "ConsumedUnit": "",
        "PricingCategory": _pricing(charge),
        "PricingQuantity": _number(charge.quantity),
        "PricingUnit": _UNITS.get(charge.kind, _HOURS),
        "SubAccountId": "",
        "SubAccountName": "",
        "Tags": json.dumps(_tags(charge)),
    }
    columns |= _times(charge) | _costs(charge) | _commitment(charge) | bought | usage
    return dict(sorted(columns.items())) | {"x_PlanLine": _subject(charge)}


def _times(charge: Charge) -> dict[str, str]:
    begins, ends = month_of(charge.from_at)
    return {
        "BillingPeriodEnd": _instant(ends),
        "BillingPeriodStart": _instant(begins),
        "ChargePeriodEnd": _instant(charge.to_at),
        "ChargePeriodStart": _instant(charge.from_at),
    }


def _costs(charge: Charge) -> dict[str, str]:
    return {
        "BilledCost": f"{charge.billed_usd:f}",
        "ContractedCost": f"{charge.list_usd:f}",
        "ContractedUnitPrice": _number(charge.unit_usd),
        "EffectiveCost": f"{charge.effective_usd:f}",
        "ListCost": f"{charge.list_usd:f}",
        "ListUnitPrice": _number(charge.unit_usd),
    }


def _bought(line: Line) -> dict[str, str]:
    """Write what a line buys, of whom and where."""
    offer = line.offer
    return {
        "AvailabilityZone": offer.place.zone or "",
        "InvoiceIssuerName": offer.provider,
        "ProviderName": offer.provider,
        "PublisherName": offer.cloud,
        "RegionId": offer.place.region,
        "RegionName": offer.place.region,
        "ResourceId": line.label,
        "ResourceName": line.id,
        "ResourceType": offer.instance_type,
        "ServiceCategory": "Compute",
        "ServiceName": _SERVICES.get(offer.hardware.virtualization, "GPU nodes"),
        "SkuId": offer.machine,
        "SkuPriceId": offer.key,
    }


def _data(plan: Plan, charge: Charge) -> dict[str, str]:
    """Write what the data of a workload is; the provider that holds it charges for it."""
    at = charge.place or _origin(plan, charge.workload)
    provider, _, region = at.partition("/")
    is_moved = charge.kind is ChargeKind.EGRESS
    sku = f"{at}/{charge.kind.value}"
    return {
        "ProviderName": provider,
        "PublisherName": provider,
        "RegionId": region,
        "RegionName": region,
        "ResourceId": line_label(charge.workload),
        "ResourceName": charge.workload,
        "ResourceType": "data set" if _sizes(plan).get(charge.workload) else "model weights",
        "ServiceCategory": "Networking" if is_moved else "Storage",
        "ServiceName": _TRANSFER if is_moved else _KEEPING,
        "SkuId": sku,
        "SkuPriceId": f"{sku}@on_demand",
        "InvoiceIssuerName": provider,
    }


def _origin(plan: Plan, workload: str) -> str:
    """Say where a workload's data set or weights lie."""
    held = {one.name: one.data.at for one in plan.workloads.runs if one.data}
    held |= {one.name: one.weights.at for one in plan.workloads.services if one.weights}
    return held.get(workload, "")


def _sizes(plan: Plan) -> dict[str, float]:
    return {one.name: one.data.size for one in plan.workloads.runs if one.data}


def _consumed(plan: Plan, charge: Charge) -> dict[str, str]:
    """Write what was used: hours; of a data set its size, of other transfers their number."""
    if charge.kind is not ChargeKind.EGRESS:
        return {"ConsumedQuantity": _number(charge.quantity), "ConsumedUnit": _HOURS}
    size = None if charge.place else _sizes(plan).get(charge.workload)
    if size is None:
        return {"ConsumedQuantity": _number(charge.quantity), "ConsumedUnit": "Transfers"}
    return {"ConsumedQuantity": _number(Decimal(repr(size))), "ConsumedUnit": "GB"}


def _commitment(charge: Charge) -> dict[str, str]:
    """Write which commitment a charge is of, and whether its hours have work."""
    line = charge.line
    is_one = line is not None and charge.kind is not ChargeKind.RENT
    return {
        "CommitmentDiscountCategory": _category(line) if line and is_one else "",
        "CommitmentDiscountId": line.label if line and is_one else "",
        "CommitmentDiscountName": line.id if line and is_one else "",
        "CommitmentDiscountStatus": _STATUSES.get(charge.kind, ""),
        "CommitmentDiscountType": _terms(line.offer, line.purchase.price_kind)
        if line and is_one
        else "",
    }


def _category(line: Line) -> str:
    return "Usage" if line.purchase.savings is None else "Spend"


def _terms(offer: Offer, kind: PriceKind) -> str:
    """Say what kind of commitment it is: reserved 12 months partial upfront."""
    if kind is PriceKind.OWNED or offer.commitment is None:
        return kind.value.replace("_", " ")
    payment = offer.commitment.payment.value.replace("_", " ")
    return f"{kind.value} {offer.commitment.term_months} months {payment}"


def _pricing(charge: Charge) -> str:
    kind = charge.line.purchase.price_kind if charge.line else PriceKind.ON_DEMAND
    if kind is PriceKind.SPOT:
        return "Dynamic"
    if kind in COMMITTED or kind is PriceKind.OWNED:
        # A fee is bought at its list price; what it covers is priced by the commitment.
        return "Standard" if charge.kind in _PURCHASES else "Committed"
    return "Standard"


def _tags(charge: Charge) -> Mapping[str, str]:
    if charge.line is None:
        name = charge.workload.partition("@")[0]
        return {LINE_LABEL: line_label(charge.workload), WORKLOAD_LABEL: name}
    names = {share.assignment.service for share in charge.line.serving}
    names |= {share.assignment.workload for share in charge.line.training}
    tags = {LINE_LABEL: charge.line.label}
    return tags | ({WORKLOAD_LABEL: " ".join(sorted(names))} if names else {})


def _subject(charge: Charge) -> str:
    return charge.line.id if charge.line else charge.workload


def _newer(charge: Charge) -> dict[str, str]:
    """Write the columns that version 1.2 has beside those of 1.0."""
    found = {
        "CommitmentDiscountQuantity": "",
        "CommitmentDiscountUnit": "",
        "InvoiceId": "",
        "PricingCurrency": "USD",
        "PricingCurrencyContractedUnitPrice": _number(charge.unit_usd),
        "PricingCurrencyEffectiveCost": _number(charge.effective_usd),
        "PricingCurrencyListUnitPrice": _number(charge.unit_usd),
        "ServiceSubcategory": "Other (Networking)",
        "SkuMeter": "Data transfer",
        "SkuPriceDetails": "{}",
    }
    if charge.line is None:
        if charge.kind is ChargeKind.STORAGE:
            found |= {"ServiceSubcategory": "Other (Storage)", "SkuMeter": "Data kept"}
        return found
    offer = charge.line.offer
    shape = offer.hardware.shape
    found |= {
        "ServiceSubcategory": _SUBCATEGORIES.get(offer.hardware.virtualization, _OTHER),
        "SkuMeter": "Node hours",
        "SkuPriceDetails": json.dumps(
            {"GpuCount": int(shape.gpu_count), "InstanceType": offer.instance_type}
        ),
    }
    if charge.kind is not ChargeKind.RENT:
        term_h = committed_hours(offer) if charge.kind is ChargeKind.UPFRONT else Decimal(1)
        quantity = _number(charge.quantity * term_h)
        found |= {"CommitmentDiscountQuantity": quantity, "CommitmentDiscountUnit": _HOURS}
    return found


def _number(exact: Decimal) -> str:
    """Write a number with a point, by which readers of CSV tell a decimal column."""
    text = f"{exact:f}"
    return text if "." in text else f"{text}.0"


def _instant(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
