"""`gpubroker offers`: query the catalog."""

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

import typer

from cli import offer_options as opt
from cli.entry import open_planning
from cli.output import FormatName, FormatOption, Terminal
from cli.sources import AsOfOption, RecordedOption, SheetOption, SnapshotOption, source_from

if TYPE_CHECKING:
    from broker.planning.query import OfferQuery
    from broker.planning.service import OfferSelection


def offers(  # noqa: PLR0913 - the options of a command are the parameters of its function
    context: typer.Context,
    *,
    gpu: opt.GpuOption = None,
    provider: opt.ProviderOption = None,
    region: opt.RegionOption = None,
    country: opt.CountryOption = None,
    continent: opt.ContinentOption = None,
    price_kind: opt.KindOption = None,
    min_gpus: opt.MinGpusOption = 0,
    min_memory: opt.MinMemoryOption = 0,
    max_usd_per_gpu_hour: opt.MaxUsdOption = None,
    sort: opt.SortOption = "price-per-gpu",
    limit: opt.LimitOption = None,
    quarantined: opt.QuarantinedOption = False,
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
    names = (gpu, provider, region, country, continent, price_kind)
    query = _query(names, min_gpus, min_memory, max_usd_per_gpu_hour)
    source = source_from(recorded=recorded, sheet=sheet, snapshot=snapshot, as_of=as_of)
    terminal = Terminal.of(context)
    found = open_planning(terminal).offers(source, query, sort=sort, held=quarantined)
    count = opt.TABLE_LIMIT if limit is None and form == "table" else limit or len(found.rows)
    _print(terminal, found, count, form)


def _query(
    names: Sequence[Sequence[str] | None],
    min_gpus: float,
    min_memory_gib: float,
    max_usd_per_gpu_hour: Decimal | None,
) -> "OfferQuery":
    from broker.planning.query import OfferQuery  # noqa: PLC0415 - keeps `--help` quick

    gpus, providers, regions, countries, continents, kinds = (frozenset(one or ()) for one in names)
    return OfferQuery(
        gpus=gpus,
        providers=providers,
        regions=regions,
        countries=countries,
        continents=continents,
        price_kinds=kinds,
        min_gpus=min_gpus,
        min_memory_gib=min_memory_gib,
        max_usd_per_gpu_hour=max_usd_per_gpu_hour,
    )


def _print(terminal: Terminal, found: "OfferSelection", count: int, form: FormatName) -> None:
    from broker.reports.views import offers_report  # noqa: PLC0415 - keeps `--help` quick

    matching = len(found.rows)
    report = offers_report(
        found.rows[:count],
        matching=matching,
        as_of=found.view.as_of,
        snapshot=found.view.snapshot,
        sort=found.sort,
        held=found.held,
    )
    terminal.show(report, form)
    if not matching:
        terminal.note(
            "no offer matches; leave out a filter, or see what there is: gpubroker status"
        )
    elif count < matching:
        terminal.note(f"{count} of {matching:,} offers; --limit 0 prints all")
    else:
        terminal.note(f"{matching:,} offers")
