"""What a line is on each cloud in Terraform: a node pool, held capacity, a commitment."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from broker.domain.offer import PriceKind
from broker.exports.hcl import Block, Expression, Value
from broker.exports.launches import ISOLATED_TAINT, isolated_for, labels_of
from broker.exports.lines import Line

COMMIT = "commit_money"
RUN = "run_nodes"
_DISK_GB = 300
_AZURE_SPOT = "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"
"""Of a node: the image of the engine, and weights of some size."""

_PLANS = {12: "TWELVE_MONTH", 36: "THIRTY_SIX_MONTH"}
_COMMITTED_TYPES = {
    "a2-highgpu": ("ACCELERATOR_OPTIMIZED", "nvidia-tesla-a100"),
    "a2-megagpu": ("ACCELERATOR_OPTIMIZED", "nvidia-tesla-a100"),
    "a2-ultragpu": ("ACCELERATOR_OPTIMIZED", "nvidia-a100-80gb"),
    "a3-highgpu": ("ACCELERATOR_OPTIMIZED_A3", "nvidia-h100-80gb"),
    "a3-megagpu": ("ACCELERATOR_OPTIMIZED_A3_MEGA", "nvidia-h100-mega-80gb"),
    "g2-standard": ("GRAPHICS_OPTIMIZED_G2", "nvidia-l4"),
}
"""Machine families of GCP that have a type of commitment, and their accelerator.

Types: Compute Engine documentation, "Purchase commitments for resources"; later families (A3 Ultra,
A4) are committed by future reservations, which the provider has no resource for.
"""

_MIB_PER_GIB = 1024
_EKS_CLUSTERS = "map(object({ name = string, node_role_arn = string, subnet_ids = list(string) }))"


@dataclass(frozen=True, slots=True)
class Cloud:
    """How a cloud is written: its provider and variables, and what a line becomes.

    `reservation` takes the nodes to hold, `pool` the fewest that the line ever has.
    """

    provider: str
    version: str
    variables: tuple[tuple[str, str, str], ...]
    commitment: Callable[[Line], Iterator[Block]]
    block: Callable[[Line], Iterator[Block]]
    reservation: Callable[[Line, int], Iterator[Block]]
    pool: Callable[[Line, int], Block]


def _when(variable: str, line: Line) -> dict[str, Value]:
    """Create a resource where its variable is on and its line is chosen."""
    return {"count": Expression(f'var.{variable} && contains(var.lines, "{line.label}") ? 1 : 0')}


def _resource(
    kind: str, line: Line, variable: str, attributes: Mapping[str, Value], *blocks: Block
) -> Block:
    return Block(
        "resource", (kind, f"l-{line.label}"), _when(variable, line) | dict(attributes), blocks
    )


def _no_resource(line: Line, how: str) -> Iterator[Block]:
    terms = line.offer.commitment
    what = f"{terms.term_months} months, {terms.payment.value.replace('_', ' ')}" if terms else ""
    kind = line.purchase.price_kind.value
    yield Block(
        "",
        (),
        {},
        comments=(
            f"Commitment of {line.most_nodes} nodes ({kind} {what}".rstrip()
            + "): not created here.",
            how,
        ),
    )


def _aws_commitment(line: Line) -> Iterator[Block]:
    yield from _no_resource(
        line,
        "The provider has no resource for EC2 Reserved Instances. Find the offering and buy it:\n"
        "  aws ec2 describe-reserved-instances-offerings "
        f"--region {line.offer.place.region} --instance-type {line.offer.instance_type}\n"
        "  aws ec2 purchase-reserved-instances-offering "
        f"--instance-count {line.most_nodes} --reserved-instances-offering-id ID",
    )


def _aws_block(line: Line) -> Iterator[Block]:
    """Buy the block that a person has found; its nodes need a launch template of their own."""
    yield _resource(
        "aws_ec2_capacity_block_reservation",
        line,
        COMMIT,
        {
            "region": line.offer.place.region,
            "capacity_block_offering_id": Expression(f'var.aws_blocks["{line.label}"]'),
            "instance_platform": "Linux/UNIX",
            "tags": labels_of(line),
        },
    )


def _no_block(line: Line) -> Iterator[Block]:
    yield from _no_resource(line, "The provider has no resource for it: book it in the console.")


def _aws_reservation(line: Line, nodes: int) -> Iterator[Block]:
    offer, kept = line.offer, line.purchase.price_kind is not PriceKind.ON_DEMAND
    end: dict[str, Value] = (
        {"end_date_type": "unlimited"}
        if kept
        else {"end_date_type": "limited", "end_date": f"{line.to_at:%Y-%m-%dT%H:%M:%SZ}"}
    )
    zone = offer.place.zone or offer.place.region
    yield _resource(
        "aws_ec2_capacity_reservation",
        line,
        COMMIT,
        {
            "region": offer.place.region,
            "availability_zone": Expression(f'var.aws_zones["{zone}"]'),
            "instance_type": offer.instance_type,
            "instance_platform": "Linux/UNIX",
            "instance_count": nodes,
            "instance_match_criteria": "open",
            **end,
            "tags": labels_of(line),
        },
    )


def _aws_pool(line: Line, fewest: int) -> Block:
    offer = line.offer
    cluster = f'var.eks_clusters["{offer.place.region}"]'
    is_arm = (offer.hardware.cpu_architecture or "").startswith("arm")
    scaling: dict[str, Value] = {
        "desired_size": line.purchase.steps[0].nodes,
        "min_size": fewest,
        "max_size": line.most_nodes,
    }
    is_spot = line.purchase.price_kind is PriceKind.SPOT
    return _resource(
        "aws_eks_node_group",
        line,
        RUN,
        {
            "region": offer.place.region,
            "cluster_name": Expression(f"{cluster}.name"),
            "node_group_name": line.label,
            "node_role_arn": Expression(f"{cluster}.node_role_arn"),
            "subnet_ids": Expression(f"{cluster}.subnet_ids"),
            "instance_types": [offer.instance_type],
            "capacity_type": "SPOT" if is_spot else "ON_DEMAND",
            "ami_type": "AL2023_ARM_64_NVIDIA" if is_arm else "AL2023_x86_64_NVIDIA",
            "disk_size": _DISK_GB,
            "labels": labels_of(line),
            "tags": labels_of(line),
        },
        Block("scaling_config", (), scaling),
        *_taints(line),
    )


def _taints(line: Line) -> tuple[Block, ...]:
    """Keep others off nodes that are one workload's, as EKS and GKE write it."""
    alone = isolated_for(line)
    if alone is None:
        return ()
    taint: dict[str, Value] = {"key": ISOLATED_TAINT, "value": alone, "effect": "NO_SCHEDULE"}
    return (Block("taint", (), taint),)


def _azure_commitment(line: Line) -> Iterator[Block]:
    yield from _no_resource(
        line,
        "The provider has no resource for Azure reservations. Buy it in the portal, or:\n"
        f"  az reservations reservation-order calculate --sku {line.offer.instance_type} "
        f"--location {line.offer.place.region} --quantity {line.most_nodes} "
        "--reserved-resource-type VirtualMachines",
    )


def _azure_reservation(line: Line, nodes: int) -> Iterator[Block]:
    offer, name = line.offer, f"l-{line.label}"
    cluster = f'var.aks_clusters["{offer.place.region}"]'
    yield _resource(
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
    yield _resource(
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
    """Write a pool of AKS, whose name is 12 letters and digits at most."""
    digits = hashlib.sha256(line.id.encode()).hexdigest()[:10]
    is_spot, alone = line.purchase.price_kind is PriceKind.SPOT, isolated_for(line)
    spot: dict[str, Value] = {"priority": "Spot", "eviction_policy": "Delete", "spot_max_price": -1}
    taints = [_AZURE_SPOT] * is_spot
    taints += [f"{ISOLATED_TAINT}={alone}:NoSchedule"] if alone else []
    return _resource(
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
            "os_disk_size_gb": _DISK_GB,
            **(spot if is_spot else {}),
            **({"node_taints": [*taints]} if taints else {}),
            "node_labels": labels_of(line),
            "tags": labels_of(line),
        },
    )


def _gcp_commitment(line: Line) -> Iterator[Block]:
    """Write a commitment of resources, where the provider documents its type and the term."""
    offer, terms = line.offer, line.offer.commitment
    family = next((one for one in _COMMITTED_TYPES if offer.instance_type.startswith(one)), "")
    plan = _PLANS.get(terms.term_months, "") if terms else ""
    vcpus, memory_gib = offer.hardware.vcpus, offer.hardware.host_memory_gib
    if not (family and plan and vcpus and memory_gib):
        yield from _no_resource(
            line,
            "There is no type of commitment known for this machine and term. Buy it:\n"
            f"  gcloud compute commitments create l-{line.label} --region {offer.place.region}",
        )
        return
    kind, accelerator = _COMMITTED_TYPES[family]
    memory_mib = int(memory_gib * _MIB_PER_GIB)
    yield _resource(
        "google_compute_region_commitment",
        line,
        COMMIT,
        {
            "name": f"l-{line.label}",
            "description": f"gpubroker-line {line.label}",
            "region": offer.place.region,
            "plan": plan,
            "type": kind,
            "category": "MACHINE",
            "auto_renew": False,
            "existing_reservations": Expression(
                f"google_compute_reservation.l-{line.label}[*].self_link"
            ),
        },
        _gcp_amount(line, "VCPU", int(vcpus)),
        _gcp_amount(line, "MEMORY", memory_mib),
        _gcp_amount(line, "ACCELERATOR", int(offer.hardware.shape.gpu_count), accelerator),
    )


def _gcp_amount(line: Line, kind: str, of_a_node: int, accelerator: str = "") -> Block:
    amount: dict[str, Value] = {"type": kind, "amount": str(of_a_node * line.most_nodes)}
    return Block(
        "resources", (), amount | ({"accelerator_type": accelerator} if accelerator else {})
    )


def _gcp_zone(line: Line) -> Value:
    place = line.offer.place
    return place.zone or Expression(f'var.gcp_zones["{place.region}"]')


def _gcp_reservation(line: Line, nodes: int) -> Iterator[Block]:
    properties = Block("instance_properties", (), {"machine_type": line.offer.instance_type})
    yield _resource(
        "google_compute_reservation",
        line,
        COMMIT,
        {
            "name": f"l-{line.label}",
            "description": f"gpubroker-line {line.label}",
            "zone": _gcp_zone(line),
        },
        Block("specific_reservation", (), {"count": nodes}, (properties,)),
    )


def _gcp_pool(line: Line, fewest: int) -> Block:
    """Write a pool of GKE, whose name is 40 characters at most."""
    digits = hashlib.sha256(line.id.encode()).hexdigest()[:10]
    labels = labels_of(line)
    machine: dict[str, Value] = {
        "machine_type": line.offer.instance_type,
        "spot": line.purchase.price_kind is PriceKind.SPOT,
        "disk_size_gb": _DISK_GB,
        "labels": labels,
        "resource_labels": labels,
    }
    bounds: dict[str, Value] = {
        "total_min_node_count": fewest,
        "total_max_node_count": line.most_nodes,
    }
    return _resource(
        "google_container_node_pool",
        line,
        RUN,
        {
            "name": f"{line.label[:24].strip('-')}-{digits}",
            "cluster": Expression(f'var.gke_clusters["{line.offer.place.region}"]'),
            "node_locations": [_gcp_zone(line)],
            "initial_node_count": line.purchase.steps[0].nodes,
        },
        Block("autoscaling", (), bounds),
        Block("node_config", (), machine, _taints(line)),
    )


CLOUDS: Mapping[str, Cloud] = MappingProxyType(
    {
        "aws": Cloud(
            provider="aws",
            version=">= 6.0",
            variables=(
                ("aws_blocks", "map(string)", "Capacity block offering of a line, by its label."),
                ("aws_zones", "map(string)", "Availability zone by region (or by our zone id)."),
                (
                    "eks_clusters",
                    _EKS_CLUSTERS,
                    "EKS cluster of each region.",
                ),
            ),
            commitment=_aws_commitment,
            block=_aws_block,
            reservation=_aws_reservation,
            pool=_aws_pool,
        ),
        "azure": Cloud(
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
            block=_no_block,
            reservation=_azure_reservation,
            pool=_azure_pool,
        ),
        "gcp": Cloud(
            provider="google",
            version=">= 6.0",
            variables=(
                ("gcp_zones", "map(string)", "Zone by region."),
                ("gke_clusters", "map(string)", "Id of the GKE cluster of each region."),
            ),
            commitment=_gcp_commitment,
            block=_no_block,
            reservation=_gcp_reservation,
            pool=_gcp_pool,
        ),
    }
)
"""The clouds that have Terraform resources for a plan's lines."""
