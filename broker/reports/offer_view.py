"""What is shown of offers: the columns of the table, and which of them may be left out."""

from dataclasses import dataclass, replace
from datetime import datetime

from broker.reports import words
from broker.reports.formats import Column, Report, plain
from broker.reports.layout import Fit
from broker.reports.rows import OfferRow

_Columns = tuple[Column[OfferRow], ...]


@dataclass(frozen=True, slots=True)
class OffersView:
    """How offers are shown in a table: what they are ordered by adds its column.

    `held` shows why each is held back, `keys` the key of each instead of its machine and place.
    """

    sort: str
    compute: str
    held: bool = False
    keys: bool = False


@dataclass(frozen=True, slots=True)
class CatalogName:
    """Which catalog offers are of; its hash is None where nobody asked for it."""

    as_of: datetime
    snapshot: str | None


def offers_report(
    rows: tuple[OfferRow, ...], catalog: CatalogName, *, matching: int, view: OffersView
) -> Report[OfferRow]:
    """Show offers; `matching` counts those before a limit."""
    return Report(
        schema="gpubroker.offers/1",
        name="offers",
        row_type=OfferRow,
        rows=rows,
        columns=_held_columns(view) if view.held else _columns(view),
        facts={
            "snapshot": catalog.snapshot,
            "as_of": plain(catalog.as_of),
            "sort": plain(view.sort),
            "matching": matching,
        },
    )


def _columns(view: OffersView) -> _Columns:
    extra = _per_unit(view)
    per_gpu = replace(_PER_GPU, spare=2) if extra else _PER_GPU
    what = (_KEY, _GPUS) if view.keys else (*_MACHINE, _GPUS, *_DETAILS, _KIND)
    return (*what, _PER_NODE, per_gpu, *extra, _AGE)


def _held_columns(view: OffersView) -> _Columns:
    what = (_KEY,) if view.keys else (*_MACHINE, _KIND)
    why = Column[OfferRow]("held back", lambda row: row.seen.held_detail, fit=Fit.WRAP)
    return (*what, replace(_PER_GPU, spare=2), why)


def _per_unit(view: OffersView) -> _Columns:
    match view.sort:
        case "price-per-gb":
            return (Column("$/GiB-h", lambda row: words.usd(row.price.usd_per_gib_hour), "right"),)
        case "price-per-tb-s":
            return (
                Column("$/TB/s-h", lambda row: words.usd(row.price.usd_per_tb_per_s_hour), "right"),
            )
        case "price-per-pflop-s":
            return (
                Column(
                    f"$/PFLOP-h {view.compute}",
                    lambda row: words.usd(row.price.usd_per_pflop_per_s_hour),
                    "right",
                ),
            )
        case _:
            return ()


def _seller(row: OfferRow) -> str:
    place = row.place
    return f"{place.provider} ({place.operator})" if place.operator else place.provider


def _instance(row: OfferRow) -> str:
    place = row.place
    return f"{place.instance_type}:{place.tier}" if place.tier else place.instance_type


def _kind(row: OfferRow) -> str:
    price, terms = row.price, row.terms
    if terms.block_lengths_h:
        return words.block(terms.block_starts_at, terms.block_lengths_h)
    said = words.price_kind(
        price.price_kind, terms.term_months, terms.payment, terms.commitment_scope
    )
    return f"{said}, example" if row.seen.evidence == "example" else said


def _age(row: OfferRow) -> str:
    """Show the age, with a mark on what is too old to plan with."""
    return words.age(row.seen.age_h) + ("!" if row.seen.stale else "")


def _rounded(size: float | None) -> str:
    return words.number(None if size is None else round(size))


def _fabric(row: OfferRow) -> str:
    machine = row.machine
    speed = f" {machine.fabric_gbit_per_s:g}" if machine.fabric_gbit_per_s else ""
    return f"{machine.fabric}{speed}"


_KEY = Column[OfferRow]("offer", lambda row: row.key, fit=Fit.BREAK)
_MACHINE: _Columns = (
    Column("provider", _seller, fit=Fit.BREAK),
    Column("type", _instance, fit=Fit.BREAK),
    Column("region", lambda row: row.place.zone or row.place.region, fit=Fit.BREAK),
)
_GPUS = Column[OfferRow]("GPUs", lambda row: words.gpus(row.machine.gpu_count, row.machine.gpu))
_DETAILS: _Columns = (
    Column("GiB", lambda row: _rounded(row.machine.memory_gib), "right", spare=3),
    Column("link", lambda row: row.machine.link.replace("_", " "), spare=4),
    Column("fabric Gbit/s", _fabric, spare=5),
    Column("as", lambda row: row.machine.virtualization.replace("_", " "), spare=6),
    Column("vCPU", lambda row: words.number(row.machine.vcpus), "right", spare=7),
    Column("RAM GiB", lambda row: _rounded(row.machine.host_memory_gib), "right", spare=8),
)
_KIND = Column[OfferRow]("kind", _kind, fit=Fit.WRAP)
_PER_NODE = Column[OfferRow](
    "$/h", lambda row: words.usd(row.price.effective_usd_per_hour), "right"
)
_PER_GPU = Column[OfferRow]("$/GPU-h", lambda row: words.usd(row.price.usd_per_gpu_hour), "right")
_AGE = Column[OfferRow]("age", _age, "right")
