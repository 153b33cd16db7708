"""The options of `gpubroker offers`."""

from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Annotated, Literal

import typer

TABLE_LIMIT = 40
"""Offers in a table where no limit is given; other formats have all."""


class Kind(StrEnum):
    """The price kinds; the domain's own would make `--help` slow, a test compares the two."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    RESERVED = "reserved"
    SAVINGS_PLAN = "savings_plan"
    CAPACITY_BLOCK = "capacity_block"
    CONTRACT = "contract"
    OWNED = "owned"


class LinkKind(StrEnum):
    """What joins the GPUs of a node; a test compares them with the domain's."""

    NVSWITCH = "nvswitch"
    NVLINK_BRIDGE = "nvlink_bridge"
    XGMI = "xgmi"
    PCIE = "pcie"
    SINGLE = "single"
    UNKNOWN = "unknown"


class FabricKind(StrEnum):
    """What joins nodes; a test compares them with the domain's."""

    INFINIBAND = "infiniband"
    EFA = "efa"
    ROCE = "roce"
    ETHERNET = "ethernet"
    UNKNOWN = "unknown"


SortName = Literal["price", "price-per-gpu", "price-per-gb", "price-per-tb-s", "price-per-pflop-s"]
ComputeName = Literal["bf16", "fp8", "fp4", "int8", "fp32"]
OnePerName = Literal["gpu", "provider", "cloud", "region", "country", "continent", "price_kind"]
_Words = list[str] | None


def _usd(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation as error:
        raise typer.BadParameter(f"{text!r} is no amount; write it as 2.50") from error
    if not amount.is_finite() or amount < 0:
        raise typer.BadParameter(f"{text!r} is no price; write it as 2.50")
    return amount


GpuOption = Annotated[
    _Words, typer.Option(metavar="NAME", help="GPU model or its first words: h100, 'A100 80GB'.")
]
FormOption = Annotated[
    _Words, typer.Option("--form", metavar="FORM", help="Form of the GPU: SXM, PCIe, NVL, OAM ...")
]
MinGpusOption = Annotated[
    float | None, typer.Option(min=0, metavar="NUMBER", help="GPUs of a node, at least.")
]
MaxGpusOption = Annotated[
    float | None, typer.Option(min=0, metavar="NUMBER", help="GPUs of a node, at most.")
]
MinMemoryOption = Annotated[
    float | None,
    typer.Option(
        min=0, metavar="GB", help="Memory of one GPU as it is sold, at least: 80 has the H100."
    ),
]
MinNodeMemoryOption = Annotated[
    float | None, typer.Option(min=0, metavar="GB", help="Memory of all GPUs of a node, at least.")
]
MinBandwidthOption = Annotated[
    float | None,
    typer.Option(min=0, metavar="GB/S", help="Memory bandwidth of one GPU in GB/s, at least."),
]
LinkOption = Annotated[
    list[LinkKind] | None,
    typer.Option(metavar="LINK", help=f"What joins the GPUs of a node: {', '.join(LinkKind)}."),
]
FabricOption = Annotated[
    list[FabricKind] | None,
    typer.Option(metavar="FABRIC", help=f"What joins nodes: {', '.join(FabricKind)}."),
]
MinFabricOption = Annotated[
    float | None,
    typer.Option(
        min=0, metavar="GBIT/S", help="Speed of the fabric in Gbit/s for a node, at least."
    ),
]
BareMetalOption = Annotated[
    bool, typer.Option("--bare-metal", help="Whole machines only, no virtual ones or containers.")
]
KindOption = Annotated[list[Kind] | None, typer.Option(metavar="KIND", help=f"{', '.join(Kind)}.")]
TermOption = Annotated[
    list[int] | None,
    typer.Option(min=1, metavar="MONTHS", help="Term of a commitment in months: 1, 12, 36 ..."),
]
RegionOption = Annotated[
    _Words, typer.Option(metavar="ID", help="Region or zone, as the provider names it.")
]
CountryOption = Annotated[
    _Words, typer.Option(metavar="CODE", help="Country by code or name: de, us, japan ...")
]
ContinentOption = Annotated[
    _Words, typer.Option(metavar="CODE", help="us (North America), sa, eu, ap, me, af or oc.")
]
CertificationOption = Annotated[
    _Words, typer.Option(metavar="NAME", help="Certification: soc2 ...; given again, all must be.")
]
ProviderOption = Annotated[_Words, typer.Option(metavar="NAME", help="Who sells it.")]
CloudOption = Annotated[
    _Words, typer.Option(metavar="NAME", help="Whose machine it is, whoever sells it.")
]
MaxUsdOption = Annotated[
    Decimal | None,
    typer.Option(parser=_usd, metavar="USD", help="USD for one GPU and hour, at most."),
]
MaxNodeUsdOption = Annotated[
    Decimal | None,
    typer.Option(parser=_usd, metavar="USD", help="USD for a node and hour, at most."),
]
SortOption = Annotated[
    SortName,
    typer.Option(
        metavar="ORDER",
        help="Cheapest first by price (of the node), price-per-gpu, price-per-gb (GiB of GPU "
        "memory), price-per-tb-s (its bandwidth) or price-per-pflop-s (dense compute).",
    ),
]
ComputeOption = Annotated[
    ComputeName,
    typer.Option(
        "--precision", metavar="FORMAT", help="Of price-per-pflop-s: bf16, fp8, fp4, int8 or fp32."
    ),
]
OnePerOption = Annotated[
    OnePerName | None,
    typer.Option(
        metavar="WHAT",
        help="Only the first offer of each gpu, provider, cloud, region, country, continent or "
        "price_kind.",
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="NUMBER",
        help=f"Offers to print, 0 for all (default: {TABLE_LIMIT} in a table, else all).",
    ),
]
KeysOption = Annotated[
    bool, typer.Option("--keys", help="Print the key of each offer, as other commands take it.")
]
QuarantinedOption = Annotated[
    bool, typer.Option("--quarantined", help="List what is held back from planning, and why.")
]
