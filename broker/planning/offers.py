"""The door for questions to the catalog: which offers there are, and what it covers.

A question to the store is answered from its listing, in less time than the import of what only
other sources and commands need: those are loaded where they are.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from broker.catalog.listing import Listing, Name, listing_of
from broker.catalog.runs import RunOutcome
from broker.catalog.selection import Selection, first_of_each, ranked, select
from broker.clock import Clock, system_clock
from broker.planning.coverage import coverage_rows
from broker.planning.freshness import Freshness
from broker.planning.known import Known, KnownTables
from broker.planning.offer_rows import Beside, offer_rows
from broker.planning.query import Compute, OfferQuery, Sort, order_of, selection_of
from broker.planning.store_listing import StoreListing
from broker.reports.rows import CoverageRow, OfferRow
from broker.settings import Settings
from providers.registry import PROVIDERS

if TYPE_CHECKING:
    from broker.domain.plan import RejectedCount
    from broker.planning.catalog_view import CatalogSource, CatalogView
    from broker.planning.service import PlanningService


_ZONES = timedelta(days=1)
"""How far a date of today may be ahead of our clock, somewhere on earth."""


@dataclass(frozen=True, slots=True)
class Listed:
    """How offers are listed: their order, how many, and of which things one each.

    `one_per` is a column of names. `compute` is the number format of the price per PFLOP/s, `named`
    asks for the catalog's hash.
    """

    sort: Sort = Sort.PER_GPU
    compute: Compute = Compute.BF16
    most: int | None = None
    one_per: str | None = None
    named: bool = False


@dataclass(frozen=True, slots=True)
class OfferSelection:
    """What a question found: the rows in order, and of which catalog.

    `matching` offers were asked for, `listed` of them without the limit. `snapshot` is the hash of
    the catalog, None where nobody asked for it. `no_offers` counts the rows of a price sheet that
    became none, or one that is held back; they are listed by no question but that for what is held.
    `is_ahead` says that ages count from a day that is yet to come, as a sheet has a row of it.
    """

    rows: tuple[OfferRow, ...]
    matching: int
    listed: int
    as_of: datetime
    snapshot: str | None
    no_offers: tuple["RejectedCount", ...] = ()
    is_ahead: bool = False


@dataclass(frozen=True, slots=True)
class CatalogStatus:
    """What the store holds, cell by cell, and the last run of each provider that had one.

    `providers` are all that it may hold, of those asked for. `as_of` is its newest observation,
    None where it is empty, and `snapshot` its hash where that was asked for.
    """

    now: datetime
    as_of: datetime | None
    snapshot: str | None
    cells: tuple[CoverageRow, ...]
    runs: tuple[RunOutcome, ...]
    providers: tuple[str, ...]


class OfferService:
    """Answers questions to the store or to another catalog; opens nothing before one is put.

    `prepare` is called before anything is loaded that may log.
    """

    def __init__(self, settings: Settings, clock: Clock, prepare: Callable[[], None]) -> None:
        self.settings = settings
        self.clock = clock
        self._prepare = prepare

    @cached_property
    def _known(self) -> Known:
        return KnownTables()

    @cached_property
    def planning(self) -> "PlanningService":
        """Open what reads catalogs of every kind, where one is needed."""
        from broker.planning.service import open_service  # noqa: PLC0415 - see the module

        self._prepare()
        return open_service(self.settings, self.clock)

    @cached_property
    def _store(self) -> StoreListing:
        return StoreListing(self.settings, lambda: self.planning.catalog)

    def offers(
        self,
        query: OfferQuery,
        listed: Listed | None = None,
        source: "CatalogSource | None" = None,
    ) -> OfferSelection:
        """List the offers that a query asks for; those that stand in the store, without a source.

        Raises:
            ConfigurationError: the catalog is empty or cannot be used, or a name is not known.
        """
        how = listed or Listed()
        listing, now, no_offers = self._catalog(source)
        sellers = PROVIDERS if source is None else ()
        found = select(listing, selection_of(query, listing, self._known, providers=sellers))
        order = order_of(how.sort, how.compute, self._known.gpus)
        if how.one_per is None:
            chosen, listed_count = ranked(listing, found, order, most=how.most), len(found)
        else:
            each = first_of_each(listing, ranked(listing, found, order), Name(how.one_per))
            chosen, listed_count = each[: how.most], len(each)
        return OfferSelection(
            rows=offer_rows(listing.entries(chosen), self._beside(how.compute, now)),
            matching=len(found),
            listed=listed_count,
            as_of=listing.newest_observed_at or now,
            snapshot=self._snapshot(listing) if how.named else None,
            no_offers=no_offers,
            is_ahead=_is_dated_by_sheet(source) and now > self.clock() + _ZONES,
        )

    def status(self, query: OfferQuery | None = None, *, named: bool = False) -> CatalogStatus:
        """Tell what the store holds and how the last refresh went.

        The query's GPUs and providers say of which cells. `named` asks for the catalog's hash.

        Raises:
            ConfigurationError: there was no refresh yet, or a name is not known.
        """
        now = self.clock()
        runs = self.planning.catalog.last_runs()
        if not runs:
            self.planning.offers_from_store()  # says that it is empty, and what to do
        listing = self._store.current()
        wanted = selection_of(query or OfferQuery(), listing, self._known, providers=PROVIDERS)
        return CatalogStatus(
            now=now,
            as_of=listing.newest_observed_at,
            snapshot=self._snapshot(listing) if named and len(listing) else None,
            cells=tuple(
                cell
                for cell in coverage_rows(listing, self._freshness(now))
                if _is_in(cell, wanted)
            ),
            runs=runs,
            providers=_asked(wanted, [run.provider for run in runs]),
        )

    def _catalog(
        self, source: "CatalogSource | None"
    ) -> tuple[Listing, datetime, tuple["RejectedCount", ...]]:
        """Give the offers of a catalog, the instant that ages count from, what a sheet lost."""
        if source is None:
            listing = self._store.current()
            if len(listing):
                return listing, self.clock(), ()
            view = self.planning.offers_from_store()  # says that it is empty, and what to do
        else:
            view = self.planning.view(source)
        listing = listing_of(view.offers, view.quarantined, snapshot=view.snapshot)
        return listing, view.now, _no_offers(view) if _is_of_sheet(source) else ()

    def _snapshot(self, listing: Listing) -> str:
        """Give the hash of a listing's offers; that of the store is computed once and kept."""
        if listing.snapshot:
            return listing.snapshot
        snapshot = self.planning.offers_from_store().snapshot
        self._store.name(listing, snapshot)
        return snapshot

    def _beside(self, compute: Compute, now: datetime) -> Beside:
        return Beside(self._known.gpus, compute, self._freshness(now))

    def _freshness(self, now: datetime) -> Freshness:
        limits = self.settings
        return Freshness(
            as_of=now,
            spot=timedelta(hours=limits.stale_after_h_spot),
            other=timedelta(hours=limits.stale_after_h_other),
        )


def open_offers(
    settings: Settings,
    clock: Clock = system_clock,
    *,
    prepare: Callable[[], None] = lambda: None,
) -> OfferService:
    """Make the service; it opens what it needs when it needs it."""
    return OfferService(settings, clock, prepare)


def _is_of_sheet(source: "CatalogSource | None") -> bool:
    return source is not None and source.sheet is not None


def _is_dated_by_sheet(source: "CatalogSource | None") -> bool:
    return source is not None and source.sheet is not None and source.as_of is None


def _no_offers(view: "CatalogView") -> tuple["RejectedCount", ...]:
    from broker.planning.plans import no_offers  # noqa: PLC0415 - see the module

    return tuple(no_offers(view))


def _is_in(cell: CoverageRow, wanted: Selection) -> bool:
    said = {Name.PROVIDER: cell.provider, Name.GPU: cell.gpu}
    return all(said[column].lower() in names for column, names in wanted.names.items())


def _asked(wanted: Selection, with_runs: Iterable[str]) -> tuple[str, ...]:
    allowed = wanted.names.get(Name.PROVIDER)
    known = sorted({*PROVIDERS, *with_runs})
    return tuple(name for name in known if allowed is None or name in allowed)
