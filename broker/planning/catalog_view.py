"""The catalog as a plan sees it, whether it comes from the store, the recordings or a sheet."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from broker.catalog.gates import Gates, Quarantined, screen
from broker.catalog.runs import Reading
from broker.catalog.snapshot import snapshot_hash
from broker.catalog.store import Catalog
from broker.domain.errors import ConfigurationError
from broker.domain.offer import Offer, Rejection
from broker.planning.certified import certified
from broker.specs.load import Specs
from providers.sheet.read import read_sheet

EMPTY_HINT = "fill it: gpubroker refresh --recorded (offline), or gpubroker refresh (live)"
"""What to do about a catalog that holds nothing."""


@dataclass(frozen=True, slots=True)
class CatalogView:
    """Offers at one instant, in the order of their keys.

    `offers` passed the trust gates; `quarantined` did not and are shown only. `rejections` are
    the rows that became no offer, where the source was read just now. `as_of` is the newest
    observation; ages count from `now`, which is the present for the store's standing offers and
    `as_of`, or the instant asked for, for any other source. `snapshot` is the hash of `offers`.
    """

    offers: tuple[Offer, ...]
    quarantined: tuple[Quarantined, ...]
    rejections: tuple[Rejection, ...]
    as_of: datetime
    now: datetime
    snapshot: str
    is_recording: bool = False
    """Say whether these are the recordings, which are dated by their facts and do not go stale."""

    @property
    def all_offers(self) -> tuple[Offer, ...]:
        """List every offer that is shown, held back or not."""
        return (*self.offers, *(one.offer for one in self.quarantined))


@dataclass(frozen=True, slots=True)
class CatalogSource:
    """Where to take offers from: one of recordings, a sheet or a snapshot; else the store.

    `as_of` is the instant to look at: for the store what stood then, for a sheet the date of its
    undated rows, and the instant that ages count from.
    """

    recorded: bool = False
    sheet: Path | None = None
    snapshot: str | None = None
    as_of: datetime | None = None

    def __post_init__(self) -> None:
        given = [self.recorded, self.sheet is not None, self.snapshot is not None]
        if sum(given) > 1:
            raise ConfigurationError(
                "--recorded, --sheet and --snapshot name different catalogs",
                hint="give one of them",
            )


def view_of_store(catalog: Catalog, *, now: datetime, as_of: datetime | None = None) -> CatalogView:
    """Show what stands in the store, or stood at `as_of`; its hash is remembered.

    Raises:
        ConfigurationError: nothing stands, or stood then.
    """
    state = catalog.state(as_of)
    if state is None or not (state.offers or state.quarantined):
        when = f" as of {as_of:%Y-%m-%d %H:%M}" if as_of else ""
        raise ConfigurationError(f"the catalog is empty{when}", hint=EMPTY_HINT)
    view = _view(state.offers, state.quarantined, now=as_of or now)
    catalog.remember(view.snapshot, state.at)
    return view


def view_of_snapshot(
    catalog: Catalog, snapshot: str, *, as_of: datetime | None = None
) -> CatalogView:
    """Show the store as it was when its hash was `snapshot`.

    Raises:
        ConfigurationError: the store never had it.
    """
    at = catalog.instant_of(snapshot)
    state = catalog.state(at) if at else None
    if state is None:
        raise ConfigurationError(
            f"the catalog never was {snapshot!r}",
            hint="take the hash of a plan that was made from this catalog; plans from recordings "
            "or a sheet need --recorded or --sheet",
        )
    view = _view(state.offers, state.quarantined)
    if view.snapshot != snapshot:
        raise ConfigurationError(
            f"the offers of snapshot {snapshot!r} read differently now ({view.snapshot})",
            hint="use the version of gpubroker that made the plan",
        )
    return _at(view, as_of)


def view_of_readings(
    readings: Iterable[Reading], gates: Gates, *, as_of: datetime | None = None
) -> CatalogView:
    """Show what providers sent, without the store: no price can have jumped.

    Raises:
        ConfigurationError: there is no offer.
    """
    given = tuple(readings)
    offers = [offer for reading in given for offer in reading.offers]
    rejections = tuple(one for reading in given for one in reading.rejections)
    view = _at(_screened_view(offers, rejections, gates, "recordings"), as_of)
    return replace(view, is_recording=True)


def view_of_sheet(
    path: Path, specs: Specs, gates: Gates, *, as_of: datetime | None = None
) -> CatalogView:
    """Show a price sheet; rows without a date take `as_of`, else the newest date in it.

    Raises:
        ConfigurationError: the sheet cannot be read, or none of its rows is an offer.
    """
    sheet = read_sheet(path, specs, as_of=as_of)
    offers = certified(sheet.offers, specs)
    view = _screened_view(offers, sheet.rejections, gates, f"sheet {str(path)!r}")
    return _at(view, as_of)


def _screened_view(
    offers: Iterable[Offer], rejections: tuple[Rejection, ...], gates: Gates, what: str
) -> CatalogView:
    screened = screen(offers, gates)
    if not screened.offers and not screened.quarantined:
        first = f"; {_told(rejections[0])}" if rejections else ""
        raise ConfigurationError(
            f"{what}: there is no offer in it{first}", hint="correct the rows, or name another file"
        )
    return _view(screened.offers, screened.quarantined, rejections=rejections)


def _told(row: Rejection) -> str:
    detail = f" ({row.detail})" if row.detail else ""
    return f"its first row, {row.subject}: {row.reason.replace('_', ' ')}{detail}"


def _view(
    offers: tuple[Offer, ...],
    quarantined: tuple[Quarantined, ...],
    *,
    rejections: tuple[Rejection, ...] = (),
    now: datetime | None = None,
) -> CatalogView:
    shown = [*offers, *(one.offer for one in quarantined)]
    newest = max(offer.provenance.observed_at for offer in shown)
    return CatalogView(
        offers=offers,
        quarantined=quarantined,
        rejections=rejections,
        as_of=newest,
        now=now or newest,
        snapshot=snapshot_hash(offers),
    )


def _at(view: CatalogView, as_of: datetime | None) -> CatalogView:
    return view if as_of is None else replace(view, now=as_of)
