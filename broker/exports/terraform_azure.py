"""A line on Azure in Terraform: a node pool of AKS, held capacity, a reservation by hand."""

import hashlib
from collections.abc import Iterator

from broker.domain.offer import Payment, PriceKind
from broker.exports.hcl import Block, Expression, Value
from broker.exports.launches import ISOLATED_TAINT, isolated_for, labels_of
from broker.exports.lines import Line
from broker.exports.terraform_parts import (
    COMMIT,
    RUN,
    Cloud,
    disk_gb,
    holds_capacity,
    no_block,
    no_resource,
    resource,
)

_SPOT = "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"
_MONTHS_PER_YEAR = 12


def _azure_commitment(line: Line) -> Iterator[Block]:
    yield from no_resource(
        line,
        "The provider has no resource for Azure reservations. Buy it in the portal, or:\n"
        f"  az reservations reservation-order calculate --sku {line.offer.instance_type} "
        f"--location {line.offer.place.region} --quantity {line.most_nodes} "
        f"--reserved-resource-type VirtualMachines{_terms(line)} --applied-scope-type Shared "
        f"--display-name {line.label} --billing-scope SUBSCRIPTION",
    )


def _terms(line: Line) -> str:
    """Name the term and the payment, as another reservation is another price."""
    terms = line.offer.commitment
    if terms is None:
        return ""
    at_once = terms.payment is Payment.ALL_UPFRONT
    term = f"P{terms.term_months // _MONTHS_PER_YEAR}Y"
    return f" --term {term} --billing-plan {'Upfront' if at_once else 'Monthly'}"


def _azure_reservation(line: Line, nodes: int) -> Iterator[Block]:
    offer, name = line.offer, f"l-{line.label}"
    cluster = f'var.aks_clusters["{offer.place.region}"]'
    yield resource(
        "azurerm_capacity_reservation_group",
        line,
        COMMIT,
        {
            "name": name,
            "resource_group_name": Expression(f"{cluster}.resource_group_name"),
            "location": offer.place.region,
            "tags": labels_of(line),
        },
    )
    group = f"azurerm_capacity_reservation_group.{name}[0].id"
    yield resource(
        "azurerm_capacity_reservation",
        line,
        COMMIT,
        {
            "name": name,
            "capacity_reservation_group_id": Expression(group),
            "tags": labels_of(line),
        },
        Block("sku", (), {"name": offer.instance_type, "capacity": nodes}),
    )


def _azure_pool(line: Line, fewest: int) -> Block:
    """Write a pool of AKS, whose name is 12 letters and digits at most.

    Azure counts a node as held capacity only where its pool names the group, else both are paid;
    the cluster needs an identity of its own (user-assigned) that may use the group.
    """
    digits = hashlib.sha256(line.id.encode()).hexdigest()[:10]
    is_spot, alone = line.purchase.price_kind is PriceKind.SPOT, isolated_for(line)
    spot: dict[str, Value] = {"priority": "Spot", "eviction_policy": "Delete", "spot_max_price": -1}
    taints = [_SPOT] * is_spot
    taints += [f"{ISOLATED_TAINT}={alone}:NoSchedule"] if alone else []
    return resource(
        "azurerm_kubernetes_cluster_node_pool",
        line,
        RUN,
        {
            "name": f"g{digits}",
            "kubernetes_cluster_id": Expression(
                f'var.aks_clusters["{line.offer.place.region}"].id'
            ),
            "vm_size": line.offer.instance_type,
            "auto_scaling_enabled": True,
            "node_count": line.purchase.steps[0].nodes,
            "min_count": fewest,
            "max_count": line.most_nodes,
            "os_disk_size_gb": disk_gb(line),
            **(_held(line) if holds_capacity(line, fewest) else {}),
            **(spot if is_spot else {}),
            **({"node_taints": [*taints]} if taints else {}),
            "node_labels": labels_of(line),
            "tags": labels_of(line),
        },
    )


def _held(line: Line) -> dict[str, Value]:
    group = f"azurerm_capacity_reservation_group.l-{line.label}"
    return {"capacity_reservation_group_id": Expression(f"one({group}[*].id)")}


AZURE = Cloud(
    provider="azurerm",
    version=">= 4.0",
    variables=(
        (
            "aks_clusters",
            "map(object({ id = string, resource_group_name = string }))",
            "AKS cluster of each region, and the resource group of reservations.",
        ),
    ),
    commitment=_azure_commitment,
    block=no_block,
    reservation=_azure_reservation,
    pool=_azure_pool,
)
