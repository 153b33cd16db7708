"""A line on GCP in Terraform: a node pool of GKE, a reservation, a commitment of resources."""

import hashlib
from collections.abc import Iterator

from broker.domain.offer import PriceKind
from broker.exports.gcp_machines import attached_gpu, machine_type
from broker.exports.hcl import Block, Expression, Value
from broker.exports.launches import labels_of
from broker.exports.lines import Line
from broker.exports.terraform_parts import (
    COMMIT,
    RUN,
    Cloud,
    disk_gb,
    no_block,
    no_resource,
    resource,
    taints,
)

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


_MACHINE_GPUS = {family: name for family, (_, name) in _COMMITTED_TYPES.items()} | {
    "a3-ultragpu": "nvidia-h200-141gb",
    "a4-highgpu": "nvidia-b200",
}
"""The accelerator of machine families that come with their GPUs.

Google Kubernetes Engine documentation, "About GPUs in GKE": the type that each machine takes.
"""


def _gcp_commitment(line: Line) -> Iterator[Block]:
    """Write a commitment of resources, where the provider documents its type and the term."""
    offer, terms = line.offer, line.offer.commitment
    family = next((one for one in _COMMITTED_TYPES if offer.instance_type.startswith(one)), "")
    plan = _PLANS.get(terms.term_months, "") if terms else ""
    vcpus, memory_gib = offer.hardware.vcpus, offer.hardware.host_memory_gib
    if not (family and plan and vcpus and memory_gib):
        yield from no_resource(
            line,
            "There is no type of commitment known for this machine and term. Buy it:\n"
            f"  gcloud compute commitments create l-{line.label} --region {offer.place.region} "
            f"--plan {terms.term_months if terms else 12}-month --resources RESOURCES",
        )
        return
    kind, accelerator = _COMMITTED_TYPES[family]
    memory_mib = int(memory_gib * _MIB_PER_GIB)
    yield resource(
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


def _gcp_gpus(line: Line, kind: str, prefix: str = "") -> tuple[Block, ...]:
    """Write the GPUs of a node; none where Google's name of them is not known."""
    name = line.offer.instance_type
    own = next((gpu for family, gpu in _MACHINE_GPUS.items() if name.startswith(family)), "")
    gpu = attached_gpu(name) or own
    count = int(line.offer.hardware.shape.gpu_count)
    return (Block(kind, (), {f"{prefix}type": gpu, f"{prefix}count": count}),) if gpu else ()


def _gcp_reservation(line: Line, nodes: int) -> Iterator[Block]:
    properties = Block(
        "instance_properties",
        (),
        {"machine_type": machine_type(line.offer.instance_type)},
        _gcp_gpus(line, "guest_accelerators", "accelerator_"),
    )
    yield resource(
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
        "machine_type": machine_type(line.offer.instance_type),
        "spot": line.purchase.price_kind is PriceKind.SPOT,
        "disk_size_gb": disk_gb(line),
        "labels": labels,
        "resource_labels": labels,
    }
    bounds: dict[str, Value] = {
        "total_min_node_count": fewest,
        "total_max_node_count": line.most_nodes,
    }
    return resource(
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
        Block("node_config", (), machine, (*_gcp_gpus(line, "guest_accelerator"), *taints(line))),
    )


GCP = Cloud(
    provider="google",
    version=">= 6.0",
    variables=(
        ("gcp_zones", "map(string)", "Zone by region."),
        ("gke_clusters", "map(string)", "Id of the GKE cluster of each region."),
    ),
    commitment=_gcp_commitment,
    block=no_block,
    reservation=_gcp_reservation,
    pool=_gcp_pool,
)
