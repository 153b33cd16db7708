"""The listing of the store's standing offers: read where it is up to date, else made anew."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker.catalog.collector import without_collector
from broker.catalog.listing import Listing, listing_of
from broker.catalog.listing_file import note_snapshot, read_listing, store_version, write_listing
from broker.settings import Settings
from broker.store.place import listing_path, store_place

if TYPE_CHECKING:
    from broker.catalog.store import Catalog  # loads SQLAlchemy, which a question can spare


class StoreListing:
    """What stands in a store and what is held, in columns, as a file of this machine."""

    def __init__(self, settings: Settings, open_catalog: Callable[[], "Catalog"]) -> None:
        self._place = store_place(settings)
        self._open_catalog = open_catalog
        self._path = listing_path(settings)
        self._last: Listing | None = None

    def current(self) -> Listing:
        """Give the listing; it is empty where nothing was refreshed.

        Raises:
            ConfigurationError: the database cannot be used.
        """
        version = store_version(self._place)
        if version is None or self._last is None or self._last.version != version:
            found = read_listing(self._path, version) if version else None
            self._last = found or self._made_anew()
        return self._last

    def name(self, listing: Listing, snapshot: str) -> None:
        """Note the hash of a listing's offers, where that is possible."""
        listing.snapshot = snapshot
        try:
            note_snapshot(self._path, listing.version, snapshot)
        except OSError as cause:
            self._warn(cause)

    def _made_anew(self) -> Listing:
        catalog = self._open_catalog()
        version = store_version(self._place)  # before its offers: they are no older than it
        with without_collector():
            state = catalog.state()
            if state is None or version is None:
                return listing_of(())
            listing = listing_of(state.offers, state.quarantined, version=version)
            entries = listing.entries(range(len(listing)))
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                write_listing(self._path, listing.columns, entries, version)
            except OSError as cause:
                self._warn(cause)
        return listing

    def _warn(self, cause: OSError) -> None:
        """Say that the next question will take longer; this one is answered all the same."""
        import structlog  # noqa: PLC0415 - would double the time of a question that needs no log

        structlog.get_logger(__name__).warning(
            "listing_not_kept", path=str(self._path), error=str(cause)
        )
