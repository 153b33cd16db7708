"""Instant clusters: whole nodes with a fast network between them, in one data centre.

A cluster has 2 nodes at the least, so an offer does; 8 is the most that clients have been given.
"""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import httpx

from broker.domain.offer import (
    Billing,
    Hardware,
    Limits,
    Offer,
    PriceKind,
    Quote,
    Rejection,
    Virtualization,
)
from broker.specs.load import Specs, Unresolved
from providers.kit.adapter import provenance
from providers.kit.parse import Unreadable
from providers.runpod.machines import BILLING_STEP_S, DISK, GIB_PER_GB, gpu_model, place_of
from providers.runpod.prices import NAME, rejection
from providers.runpod.wire import ClusterType, Where, clusters_in

TIER = "cluster"
MIN_NODES, MAX_NODES = 2, 8


def cluster_offers(page: httpx.Response, specs: Specs) -> Iterator[Offer | Rejection]:
    """Make an offer of each GPU type and data centre that has nodes for clusters."""
    for row in clusters_in(page).gpu_types:
        if isinstance(row, Unreadable):
            yield rejection("a cluster type", row.reason, row.detail)
            continue
        subject = f"{row.id} {TIER}"
        gpu = gpu_model(specs, row.id, row.memory_in_gb)
        if isinstance(gpu, Unresolved):
            yield rejection(subject, gpu.reason, gpu.detail)
        elif why := _unfit(row):
            yield rejection(subject, *why)
        else:
            hardware = _hardware(row, gpu, specs)
            for center in row.node_group_datacenters or ():
                where = Where(secureCloud=True, dataCenterId=center.id)
                yield _offer(row, hardware, where, page=page, specs=specs)


def _unfit(row: ClusterType) -> tuple[str, str] | None:
    """Say why a type is no offer: reason and detail."""
    if not row.cluster_price or row.cluster_price < 0:
        return "no_price", f"clusterPrice is {row.cluster_price}"
    if not row.max_gpu_count_secure_cloud:
        return "not_a_gpu", f"a node has {row.max_gpu_count_secure_cloud} GPUs"
    if not row.node_group_datacenters:
        return "no_capacity", "no data centre has nodes for clusters"
    if row.lowest_price is None or row.lowest_price.min_vcpu is None:
        return "no_capacity", "out of stock: the answer has no machine of 8 GPUs"
    return None


def _offer(
    row: ClusterType, hardware: Hardware, where: Where, *, page: httpx.Response, specs: Specs
) -> Offer:
    count = int(hardware.shape.gpu_count)
    usd_per_hour = count * (row.cluster_price or Decimal(0))  # _unfit has seen to it
    stock = row.lowest_price.stock_status if row.lowest_price else None
    return Offer(
        provider=NAME,
        instance_type=_instance_type(row),
        place=place_of(specs, where),
        price_kind=PriceKind.ON_DEMAND,
        hardware=hardware,
        usd_per_hour=usd_per_hour,
        quote=Quote(amount=usd_per_hour, currency="USD"),
        provenance=provenance(page),
        tier=TIER,
        billing=Billing(step_s=BILLING_STEP_S),
        limits=Limits(stock_level=(stock or "").lower(), min_nodes=MIN_NODES, max_nodes=MAX_NODES),
        warnings=(DISK,),
    )


def _hardware(row: ClusterType, gpu: str, specs: Specs) -> Hardware:
    stock = row.lowest_price
    ram_gb = stock.min_memory if stock else None
    hardware = specs.hardware(
        NAME,
        _instance_type(row),
        gpu=gpu,
        gpu_count=Fraction(row.max_gpu_count_secure_cloud or 0),
        vcpus=stock.min_vcpu if stock else None,
        host_memory_gib=None if ram_gb is None else ram_gb * GIB_PER_GB,
        virtualization=Virtualization.CONTAINER,
    )
    return hardware.model_copy(update={"max_cluster_nodes": MAX_NODES})


def _instance_type(row: ClusterType) -> str:
    return f"cluster {row.max_gpu_count_secure_cloud}x {row.id}"
