"""`gpubroker offers`: query the catalog."""

from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Annotated, Literal

import typer

from cli.entry import open_planning
from cli.output import FormatOption, Terminal
from cli.sources import AsOfOption, RecordedOption, SheetOption, SnapshotOption, source_from

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
Words = list[str] | None


def _usd(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise typer.BadParameter(f"{text!r} is no amount; write it as 2.50") from error


def offers(  # noqa: PLR0913 - the options of a command are the parameters of its function
    context: typer.Context,
    *,
    gpu: Annotated[
        Words, typer.Option(metavar="NAME", help="GPU model or its first words: h100, 'A100 80GB'.")
    ] = None,
    provider: Annotated[Words, typer.Option(metavar="NAME", help="Provider.")] = None,
    region: Annotated[
        Words, typer.Option(metavar="ID", help="Region or zone, as the provider names it.")
    ] = None,
    country: Annotated[Words, typer.Option(metavar="CODE", help="Country: de, us ...")] = None,
    continent: Annotated[
        Words, typer.Option(metavar="CODE", help="us (North America), sa, eu, ap, me, af or oc.")
    ] = None,
    price_kind: Annotated[
        list[Kind] | None, typer.Option(metavar="KIND", help=f"{', '.join(Kind)}.")
    ] = None,
    min_gpus: Annotated[
        float, typer.Option(metavar="NUMBER", help="GPUs of a node, at least.")
    ] = 0,
    min_memory: Annotated[
        float, typer.Option(metavar="GIB", help="Memory of one GPU in GiB, at least.")
    ] = 0,
    max_usd_per_gpu_hour: Annotated[
        Decimal | None,
        typer.Option(parser=_usd, metavar="USD", help="USD for one GPU and hour, at most."),
    ] = None,
    sort: Annotated[
        SortName,
        typer.Option(
            metavar="ORDER",
            help="Cheapest first by price (of the node), price-per-gpu, price-per-gb (GiB of GPU "
            "memory), price-per-tb-s (its bandwidth) or price-per-pflop-s (dense BF16).",
        ),
    ] = "price-per-gpu",
    limit: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="NUMBER",
            help=f"Offers to print, 0 for all (default: {TABLE_LIMIT} in a table, else all).",
        ),
    ] = None,
    quarantined: Annotated[
        bool, typer.Option("--quarantined", help="List what is held back from planning, and why.")
    ] = False,
    recorded: RecordedOption = False,
    sheet: SheetOption = None,
    snapshot: SnapshotOption = None,
    as_of: AsOfOption = None,
    form: FormatOption = "table",
) -> None:
    """List offers: where, what, on which terms, at what price.

    A filter with a NAME, ID, CODE or KIND may be given again: any may match.

    Prices per unit spread an upfront part over the term.
    """
    # Imported here, so that `--help` is quick.
    from broker.planning.query import OfferQuery, Sort  # noqa: PLC0415 - see above
    from broker.reports.views import offers_report  # noqa: PLC0415 - see above

    terminal = Terminal.of(context)
    source = source_from(recorded=recorded, sheet=sheet, snapshot=snapshot, as_of=as_of)
    query = OfferQuery(
        gpus=frozenset(gpu or ()),
        providers=frozenset(provider or ()),
        regions=frozenset(region or ()),
        countries=frozenset(country or ()),
        continents=frozenset(continent or ()),
        price_kinds=frozenset(kind.value for kind in price_kind or ()),
        min_gpus=min_gpus,
        min_memory_gib=min_memory,
        max_usd_per_gpu_hour=max_usd_per_gpu_hour,
    )
    found = open_planning(terminal).offers(source, query, sort=Sort(sort), held=quarantined)
    count = _count(limit, table=form == "table") or len(found.rows)
    terminal.show(
        offers_report(
            found.rows[:count],
            matching=len(found.rows),
            as_of=found.view.as_of,
            snapshot=found.view.snapshot,
            sort=sort,
            held=quarantined,
        ),
        form,
    )
    terminal.note(_remark(shown=min(count, len(found.rows)), matching=len(found.rows)))


def _count(limit: int | None, *, table: bool) -> int:
    """Give the limit, 0 for none."""
    if limit is not None:
        return limit
    return TABLE_LIMIT if table else 0


def _remark(*, shown: int, matching: int) -> str:
    if not matching:
        return "no offer matches; leave out a filter, or see what there is: gpubroker status"
    if shown < matching:
        return f"{shown} of {matching:,} offers; --limit 0 prints all"
    return f"{matching:,} offers"
