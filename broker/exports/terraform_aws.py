"""A line on AWS in Terraform: a node group of EKS, held capacity, a block, a reserved instance."""

from collections.abc import Iterator
from types import MappingProxyType

from broker.domain.gpu import Stack
from broker.domain.offer import Payment, PriceKind
from broker.exports.hcl import Block, Expression, Value
from broker.exports.launches import labels_of
from broker.exports.lines import Line
from broker.exports.terraform_parts import (
    COMMIT,
    RUN,
    Cloud,
    disk_gb,
    no_resource,
    resource,
    taints,
)

_YEAR_S = 31_536_000
_MONTHS_PER_YEAR = 12
_OFFERING_TYPES = MappingProxyType(
    {
        Payment.NO_UPFRONT: "No Upfront",
        Payment.MONTHLY: "No Upfront",
        Payment.PARTIAL_UPFRONT: "Partial Upfront",
        Payment.ALL_UPFRONT: "All Upfront",
    }
)
"""What EC2 calls the ways to pay for a Reserved Instance."""

_IMAGES = MappingProxyType({Stack.CUDA: "NVIDIA", Stack.NEURON: "NEURON"})
"""The images of EKS that bring the driver of an accelerator; the standard one brings none."""

_EKS_CLUSTERS = "map(object({ name = string, node_role_arn = string, subnet_ids = list(string) }))"


def _aws_commitment(line: Line) -> Iterator[Block]:
    region = f"--region {line.offer.place.region}"
    yield from no_resource(
        line,
        "The provider has no resource for EC2 Reserved Instances. Find the offering and buy it:\n"
        f"  aws ec2 describe-reserved-instances-offerings {region} "
        f"--instance-type {line.offer.instance_type} --product-description Linux/UNIX"
        f"{_offering(line)}\n"
        f"  aws ec2 purchase-reserved-instances-offering {region} "
        f"--instance-count {line.most_nodes} --reserved-instances-offering-id ID",
    )


def _offering(line: Line) -> str:
    """Name the term and the payment, as another offering is another price."""
    terms = line.offer.commitment
    if terms is None:
        return ""
    length_s = terms.term_months * _YEAR_S // _MONTHS_PER_YEAR
    return (
        f" --offering-class standard --offering-type '{_OFFERING_TYPES[terms.payment]}' "
        f"--min-duration {length_s} --max-duration {length_s}"
    )


def _aws_block(line: Line) -> Iterator[Block]:
    """Buy the block that a person has found; its nodes need a launch template of their own."""
    block, found = line.purchase.block, "Find the offering of the block:\n"
    if block is not None:
        found += (
            f"  aws ec2 describe-capacity-block-offerings --region {line.offer.place.region} "
            f"--instance-type {line.offer.instance_type} --instance-count {line.most_nodes} "
            f"--capacity-duration-hours {block.length_h} "
            f"--start-date-range {block.starts_at:%Y-%m-%dT%H:%M:%SZ}"
        )
        yield Block("", (), {}, comments=(found,))
    yield resource(
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


def _aws_reservation(line: Line, nodes: int) -> Iterator[Block]:
    offer, kept = line.offer, line.purchase.price_kind is not PriceKind.ON_DEMAND
    end: dict[str, Value] = (
        {"end_date_type": "unlimited"}
        if kept
        else {"end_date_type": "limited", "end_date": f"{line.to_at:%Y-%m-%dT%H:%M:%SZ}"}
    )
    zone = offer.place.zone or offer.place.region
    yield resource(
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
    scaling: dict[str, Value] = {
        "desired_size": line.purchase.steps[0].nodes,
        "min_size": fewest,
        "max_size": line.most_nodes,
    }
    is_spot = line.purchase.price_kind is PriceKind.SPOT
    return resource(
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
            "ami_type": _aws_image(line),
            "disk_size": disk_gb(line),
            "labels": labels_of(line),
            "tags": labels_of(line),
        },
        Block("scaling_config", (), scaling),
        *taints(line),
    )


def _aws_image(line: Line) -> str:
    hardware = line.offer.hardware
    is_arm = (hardware.cpu_architecture or "").startswith("arm")
    cpu = "ARM_64" if is_arm else "x86_64"
    return f"AL2023_{cpu}_{_IMAGES.get(hardware.stack, 'STANDARD')}"


AWS = Cloud(
    provider="aws",
    version=">= 6.0",
    variables=(
        ("aws_blocks", "map(string)", "Capacity block offering of a line, by its label."),
        ("aws_zones", "map(string)", "Availability zone by region (or by our zone id)."),
        ("eks_clusters", _EKS_CLUSTERS, "EKS cluster of each region."),
    ),
    commitment=_aws_commitment,
    block=_aws_block,
    reservation=_aws_reservation,
    pool=_aws_pool,
)
