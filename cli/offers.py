"""`gpubroker offers`: query the catalog."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from cli import offer_options as opt
from cli.entry import open_offers
from cli.output import FormatName, FormatOption, Terminal
from cli.sources import AsOfOption, RecordedOption, SheetOption, SnapshotOption, source_or_none

if TYPE_CHECKING:
    from broker.planning.offers import Listed, OfferSelection
    from broker.reports.offer_view import OffersView


def offers(  # noqa: PLR0913 - the options of a command are the parameters of its function
    context: typer.Context,
    *,
    gpu: opt.GpuOption = None,
    form: opt.FormOption = None,
    min_gpus: opt.MinGpusOption = None,
    max_gpus: opt.MaxGpusOption = None,
    min_memory: opt.MinMemoryOption = None,
    min_node_memory: opt.MinNodeMemoryOption = None,
    min_bandwidth: opt.MinBandwidthOption = None,
    link: opt.LinkOption = None,
    fabric: opt.FabricOption = None,
    min_fabric: opt.MinFabricOption = None,
    bare_metal: opt.BareMetalOption = False,
    price_kind: opt.KindOption = None,
    term: opt.TermOption = None,
    region: opt.RegionOption = None,
    country: opt.CountryOption = None,
    continent: opt.ContinentOption = None,
    certification: opt.CertificationOption = None,
    provider: opt.ProviderOption = None,
    cloud: opt.CloudOption = None,
    max_usd_per_gpu_hour: opt.MaxUsdOption = None,
    max_usd_per_hour: opt.MaxNodeUsdOption = None,
    sort: opt.SortOption = "price-per-gpu",
    precision: opt.ComputeOption = "bf16",
    one_per: opt.OnePerOption = None,
    limit: opt.LimitOption = None,
    keys: opt.KeysOption = False,
    quarantined: opt.QuarantinedOption = False,
    recorded: RecordedOption = False,
    sheet: SheetOption = None,
    snapshot: SnapshotOption = None,
    as_of: AsOfOption = None,
    output: FormatOption = "table",
) -> None:
    """List offers: where, what, on which terms, at what price.

    A filter with a NAME, ID, CODE, KIND or the like may be given again: any may match. What is not
    known of an offer passes no filter.

    Prices per unit spread an upfront part over the term.
    """
    from broker.planning.query import OfferQuery  # noqa: PLC0415 - keeps `--help` quick

    query = OfferQuery(
        gpus=_all(gpu),
        forms=_all(form),
        min_gpus=min_gpus,
        max_gpus=max_gpus,
        min_memory_gb=min_memory,
        min_node_memory_gb=min_node_memory,
        min_bandwidth_gb_per_s=min_bandwidth,
        links=_all(link),
        fabrics=_all(fabric),
        min_fabric_gbit_per_s=min_fabric,
        bare_metal=bare_metal,
        price_kinds=_all(price_kind),
        terms=frozenset(term or ()),
        regions=_all(region),
        countries=_all(country),
        continents=_all(continent),
        certifications=_all(certification),
        providers=_all(provider),
        clouds=_all(cloud),
        max_usd_per_gpu_hour=max_usd_per_gpu_hour,
        max_usd_per_hour=max_usd_per_hour,
        held=quarantined,
    )
    source = source_or_none(recorded=recorded, sheet=sheet, snapshot=snapshot, as_of=as_of)
    terminal = Terminal.of(context)
    listed = _listed(sort, precision, one_per, limit=limit, output=output)
    found = open_offers(terminal).offers(query, listed, source)
    _print(terminal, found, _view(listed, held=quarantined, keys=keys), output)


def _all(words: Iterable[str] | None) -> frozenset[str]:
    return frozenset(str(word) for word in words or ())


def _listed(
    sort: str, precision: str, one_per: str | None, *, limit: int | None, output: FormatName
) -> "Listed":
    from broker.planning.offers import Listed  # noqa: PLC0415 - keeps `--help` quick
    from broker.planning.query import Compute, Sort  # noqa: PLC0415 - the same

    is_table = output == "table"
    most = opt.TABLE_LIMIT if limit is None and is_table else limit
    return Listed(
        sort=Sort(sort),
        compute=Compute(precision),
        most=most or None,
        one_per=one_per,
        named=not is_table,
    )


def _view(listed: "Listed", *, held: bool, keys: bool) -> "OffersView":
    from broker.reports.offer_view import OffersView  # noqa: PLC0415 - keeps `--help` quick

    return OffersView(sort=listed.sort, compute=listed.compute, held=held, keys=keys)


def _print(
    terminal: Terminal, found: "OfferSelection", view: "OffersView", output: FormatName
) -> None:
    from broker.reports.offer_view import CatalogName, offers_report  # noqa: PLC0415 - as above

    catalog = CatalogName(found.as_of, found.snapshot)
    report = offers_report(found.rows, catalog, matching=found.matching, view=view)
    terminal.show(report, output)
    terminal.note(_told(found))
    stale = sum(row.seen.stale for row in found.rows)
    if stale and output == "table":
        terminal.note(f"{stale:,} of them, marked !, are too old to plan with")
    examples = {row.place.provider for row in found.rows if row.seen.evidence == "example"}
    if examples:
        terminal.note(
            f"{', '.join(sorted(examples))} is an example, at invented prices: no plan uses it "
            "unless policy.providers.allow names it"
        )
    if found.is_ahead:
        terminal.note(
            f"ages count from {found.as_of:%Y-%m-%d}, a day to come, as the sheet has a row of it; "
            "correct that date, or give --as-of"
        )
    for one in found.no_offers:
        such = "such as " if one.offers > 1 else ""
        terminal.note(f"of the sheet {one.offers:,} {one.reason} ({such}{one.example})")


def _told(found: "OfferSelection") -> str:
    shown, matching = len(found.rows), found.matching
    if not matching:
        return "no offer matches; leave out a filter, or see what there is: gpubroker status"
    if shown < found.listed:
        return f"{shown:,} of {found.listed:,} offers; --limit 0 prints all"
    return f"{shown:,} of {matching:,} offers" if shown < matching else f"{matching:,} offers"
