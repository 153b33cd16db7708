"""The door to the catalog's past and its care: prices over time, quarantine, files that travel."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

from broker.catalog.exchange import read_catalog, write_catalog
from broker.catalog.gates import Reason
from broker.catalog.price_history import PriceHistory
from broker.catalog.quarantine import HeldOffer
from broker.catalog.releases import Released
from broker.catalog.runs import RunOutcome
from broker.catalog.snapshot import snapshot_hash
from broker.catalog.state import CatalogState
from broker.catalog.store import Catalog, open_catalog
from broker.clock import Clock, system_clock
from broker.domain.errors import ConfigurationError
from broker.planning.catalog_view import EMPTY_HINT
from broker.planning.nearest import unknown
from broker.settings import Settings
from broker.store.place import store_place
from providers.registry import PROVIDERS


@dataclass(frozen=True, slots=True)
class Exported:
    """The bytes of a catalog's file, and what stands in it under which hash."""

    content: bytes
    state: CatalogState
    snapshot: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of each provider in a file; `same` if the catalog is now the exported one."""

    state: CatalogState
    outcomes: tuple[RunOutcome, ...]
    snapshot: str
    now_snapshot: str

    @property
    def same(self) -> bool:
        """Tell whether a plan over this catalog is a plan over the exported one."""
        return self.snapshot == self.now_snapshot


class CatalogService:
    """Looks after the store; nothing is opened before a method needs it."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock

    @cached_property
    def catalog(self) -> Catalog:
        """Open the store, once.

        Raises:
            ConfigurationError: the database cannot be used.
        """
        return open_catalog(store_place(self.settings))

    def history(self, offer: str) -> PriceHistory:
        """Tell what an offer cost over time; `offer` is a key, or the only one of a machine.

        Raises:
            ConfigurationError: the catalog is empty, or no such offer was ever seen.
        """
        found = self.catalog.price_history(offer)
        if found is None:
            raise ConfigurationError("the catalog is empty", hint=EMPTY_HINT)
        return found

    def quarantine(
        self, providers: Iterable[str] = (), reasons: Iterable[str] = ()
    ) -> tuple[HeldOffer, ...]:
        """List what is held back now, of some providers or of all, for some reasons or for all.

        Raises:
            ConfigurationError: a provider or a reason is not known.
        """
        held = self.catalog.held()
        known = {*PROVIDERS, *(one.held.offer.provider for one in held)}
        of = {_known("provider", name.lower(), known) for name in providers}
        why = {_known("reason", name.strip().replace(" ", "_").lower(), Reason) for name in reasons}
        return tuple(
            one
            for one in held
            if (not of or one.held.offer.provider in of) and (not why or one.held.reason in why)
        )

    def release(self, offers: Iterable[str], *, by: str, note: str = "") -> tuple[Released, ...]:
        """Let held offers be planned with until they say something else; all of them or none.

        Raises:
            ConfigurationError: nobody is named, or an offer is not held back.
        """
        if not by.strip():
            raise ConfigurationError(
                "a release needs the name of who answers for it", hint="give it: --by NAME"
            )
        return self.catalog.release(offers, by=by.strip(), note=note.strip(), now=self.clock())

    def releases(self) -> tuple[Released, ...]:
        """List what persons let through, the newest first."""
        return self.catalog.releases()

    def export(self, as_of: datetime | None = None) -> Exported:
        """Write what stands, or stood at `as_of`, and what is held back, as the bytes of a file.

        Raises:
            ConfigurationError: nothing stands, or stood then.
        """
        state = self.catalog.state(as_of)
        if state is None or not state.shown:
            when = f" as of {as_of:%Y-%m-%d %H:%M}" if as_of else ""
            raise ConfigurationError(f"the catalog is empty{when}", hint=EMPTY_HINT)
        snapshot = snapshot_hash(state.offers)
        self.catalog.remember(snapshot, state.at)
        return Exported(write_catalog(state), state, snapshot)

    def bring_in(self, path: Path) -> Imported:
        """Let the catalog in a file replace the offers of its providers, with their ages.

        Raises:
            ConfigurationError: the file cannot be read, is damaged, or is from a newer version.
        """
        try:
            content = path.read_bytes()
        except OSError as cause:
            raise ConfigurationError(
                f"the catalog file {str(path)!r} cannot be read: {cause.strerror}",
                hint="name a file that gpubroker catalog export wrote",
            ) from cause
        given = read_catalog(content, str(path))
        outcomes = self.catalog.bring_in(given, now=self.clock())
        return Imported(given, outcomes, snapshot_hash(given.offers), self.catalog.snapshot())


def open_catalog_service(settings: Settings, clock: Clock = system_clock) -> CatalogService:
    """Make the service; it opens what it needs when it needs it."""
    return CatalogService(settings, clock)


def _known(what: str, name: str, names: Iterable[str]) -> str:
    known = {str(one) for one in names}
    if name not in known:
        raise unknown(what, name, known)
    return name
