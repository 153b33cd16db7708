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


SortName = Literal["price", "price-per-gpu", "price-per-gb", "price-per-tb-s", "price-per-pflop-s"]
_Words = list[str] | None


def _usd(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise typer.BadParameter(f"{text!r} is no amount; write it as 2.50") from error


GpuOption = Annotated[
    _Words, typer.Option(metavar="NAME", help="GPU model or its first words: h100, 'A100 80GB'.")
]
ProviderOption = Annotated[_Words, typer.Option(metavar="NAME", help="Provider.")]
RegionOption = Annotated[
    _Words, typer.Option(metavar="ID", help="Region or zone, as the provider names it.")
]
CountryOption = Annotated[_Words, typer.Option(metavar="CODE", help="Country: de, us ...")]
ContinentOption = Annotated[
    _Words, typer.Option(metavar="CODE", help="us (North America), sa, eu, ap, me, af or oc.")
]
KindOption = Annotated[list[Kind] | None, typer.Option(metavar="KIND", help=f"{', '.join(Kind)}.")]
MinGpusOption = Annotated[float, typer.Option(metavar="NUMBER", help="GPUs of a node, at least.")]
MinMemoryOption = Annotated[
    float, typer.Option(metavar="GIB", help="Memory of one GPU in GiB, at least.")
]
MaxUsdOption = Annotated[
    Decimal | None,
    typer.Option(parser=_usd, metavar="USD", help="USD for one GPU and hour, at most."),
]
SortOption = Annotated[
    SortName,
    typer.Option(
        metavar="ORDER",
        help="Cheapest first by price (of the node), price-per-gpu, price-per-gb (GiB of GPU "
        "memory), price-per-tb-s (its bandwidth) or price-per-pflop-s (dense BF16).",
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
QuarantinedOption = Annotated[
    bool, typer.Option("--quarantined", help="List what is held back from planning, and why.")
]
