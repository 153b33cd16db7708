"""What sheets of recorded markets hold beside prices of nodes, told from the rows themselves.

Trackers publish medians, aggregators list platforms that rent no machine, catalogs fill a gap with
a floor or a placeholder. Each rule says which rows it means and why they are no offer.
"""

import re
from dataclasses import dataclass
from decimal import Decimal

from broker.domain.offer import PriceKind
from providers.sheet.reasons import Reason, Refused
from providers.sheet.rows import Basis, SheetRow, StatedPrice

INFERENCE_PLATFORMS = frozenset(
    {"baseten", "beam", "cerebrium", "fal", "fireworks", "koyeb", "modal", "replicate"}
)
"""They bill seconds of a function or a deployment; nobody gets a machine to log in to."""

MANAGED_SERVICES = frozenset({"aws-sagemaker"})
"""The price of a machine includes the service that runs it, and nothing else may run on it."""

MACHINE_TYPE_CLOUDS = frozenset({"aws", "azure", "gcp"})
"""They sell machine types only; GCP's price of a GPU even leaves out vCPU and memory."""

_MEDIAN = re.compile(r"(on_demand|spot) median of (\d+) offers, (\d+\.?\d*)\.\.(\d+\.?\d*)")
_INDICATIVE = ("market average", "lowest of a published range", "illustrative", '"from" price')
_COMMUNITY_AS_SPOT = "community price as spot"
_INTERRUPTIBLE = "interruptible"
_SPOT_FROM = "spot from "
_WARNINGS = {
    "list price": "a list price, not a live one",
    "converted from": "converted to dollars by the source, at a rate that it does not state",
    "by reservation only": "the page has a price on demand, but it is rented by reservation only",
}
_FLOOR_USD_PER_GPU = {"mithril": Decimal(1)}
_LISTED_IN_EUR = frozenset({"ovhcloud", "seeweb"})


@dataclass(frozen=True, slots=True)
class _Misfiled:
    """Rows that one recorded source files under the wrong head; no types are all of them."""

    provider: str
    source: tuple[str, ...]
    refused: Refused
    types: frozenset[str] = frozenset()

    def has(self, row: SheetRow) -> bool:
        machine = row.machine
        return (
            machine.provider == self.provider
            and all(part in row.source for part in self.source)
            and (not self.types or machine.instance_type.lower() in self.types)
        )


_MISFILED = (
    _Misfiled(
        provider="azure",
        source=("karpenter-provider-azure",),
        types=frozenset({"standard_ncc40ads_h100_v5"}),
        refused=Refused(
            Reason.WINDOWS_PRICE,
            'the meter of "Virtual Machines NCCadsv5 Srs Win"; Linux is 0.046 USD a vCPU-hour less',
        ),
    ),
    _Misfiled(
        provider="azure",
        source=("karpenter-provider-azure",),
        types=frozenset(f"standard_nc{vcpus}ads_a10_v4" for vcpus in (8, 16, 32)),
        refused=Refused(
            Reason.NO_GPU_COUNT,
            "three sizes at 1, 2 and 4 times a price are each filed with one A10",
        ),
    ),
    _Misfiled(
        provider="nebius",
        source=("gpu-pricing-tracker", "nebius.com/prices"),
        refused=Refused(
            Reason.SPOT_LISTED_AS_ON_DEMAND, "the preemptible column of the page, filed as firm"
        ),
    ),
    _Misfiled(
        provider="crusoe",
        source=("gpu-pricing-tracker", "crusoe.ai/cloud/pricing"),
        types=frozenset({"1xgb200", "1xmi355x"}),
        refused=Refused(
            Reason.PRICE_OF_ANOTHER_MODEL,
            "Crusoe names no price for it; 4.29 is its H200's, 3.45 its MI300X's",
        ),
    ),
)


def refuse_row(row: SheetRow, *, names_a_gpu: bool) -> Refused | None:
    """Say why a row is no node that can be rented, whatever its prices."""
    provider = row.machine.provider
    if row.basis is Basis.PER_GPU_COMPONENT:
        return Refused(
            Reason.COMPONENT_PRICE, "the GPU alone; vCPU, memory and disk are billed apart"
        )
    if row.tier == "serverless" or provider in INFERENCE_PLATFORMS:
        return Refused(
            Reason.NOT_A_NODE, f"{provider} bills running code here, it rents no machine"
        )
    if provider in MANAGED_SERVICES:
        return Refused(Reason.MANAGED_SERVICE, f"{provider} runs the machine, it is not for rent")
    if provider in MACHINE_TYPE_CLOUDS and row.basis is Basis.PER_GPU and names_a_gpu:
        return Refused(
            Reason.NOT_A_NODE,
            f"{provider} sells machine types, {row.machine.instance_type!r} is a GPU",
        )
    for phrase in _INDICATIVE:
        if phrase in row.note:
            return Refused(Reason.INDICATIVE_PRICE, row.note)
    return next((one.refused for one in _MISFILED if one.has(row)), None)


def refuse_price(row: SheetRow, price: StatedPrice, *, usd_per_gpu: Decimal) -> Refused | None:
    """Say why one price of a row is nothing that can be paid for one node."""
    for kind, count, low, high in _MEDIAN.findall(row.note):
        if kind == price.column and int(count) > 1 and Decimal(low) < Decimal(high):
            detail = f"median of {count} offers from {low} to {high}, not one of them"
            return Refused(Reason.AGGREGATE_PRICE, detail)
    if usd_per_gpu == _FLOOR_USD_PER_GPU.get(row.machine.provider):
        return Refused(Reason.AUCTION_FLOOR, f"{usd_per_gpu} per GPU is where bids start")
    if price.kind is PriceKind.SPOT:
        return _refuse_spot(row, price)
    return None


def _refuse_spot(row: SheetRow, price: StatedPrice) -> Refused | None:
    of_tier = row.machine.provider == "runpod" and row.place.region.lower() == "community"
    if of_tier or _COMMUNITY_AS_SPOT in row.note:
        return Refused(
            Reason.COMMUNITY_LISTED_AS_SPOT, "the price of the community tier, filed as spot"
        )
    if row.note.startswith(_SPOT_FROM):
        detail = f"{price.amount} was joined from a file without a date; spot moves every month"
        return Refused(Reason.UNDATED_SPOT, detail)
    for other in row.prices:
        is_twin = other.kind is PriceKind.ON_DEMAND and other.currency == price.currency
        if is_twin and 0 < other.amount <= price.amount:
            detail = f"spot {price.amount}, on demand {other.amount}"
            return Refused(Reason.SPOT_NOT_BELOW_ON_DEMAND, detail)
    return None


def kind_of(row: SheetRow, price: StatedPrice) -> PriceKind:
    """Give the price kind; capacity that its note calls interruptible is spot in any column."""
    interruptible = row.note.strip().lower() == _INTERRUPTIBLE
    if interruptible and price.kind is PriceKind.ON_DEMAND:
        return PriceKind.SPOT
    return price.kind


def warnings(row: SheetRow, price: StatedPrice) -> tuple[str, ...]:
    """Say what a person should know before trusting a price."""
    found = [warning for phrase, warning in _WARNINGS.items() if phrase in row.note]
    if kind_of(row, price) is not price.kind:
        found.append("listed as on demand, but the note says interruptible")
    if row.machine.provider in _LISTED_IN_EUR and "skypilot-catalog" in row.source:
        found.append("the source names no currency, and the provider's list is in EUR")
    return tuple(found)
