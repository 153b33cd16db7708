"""What is shown of offers, refreshes and the catalog: the columns of each table."""

from collections.abc import Mapping
from datetime import datetime

from broker.reports import words
from broker.reports.formats import Column, Plain, Report, plain
from broker.reports.layout import Fit
from broker.reports.rows import OfferRow, RefreshRow, StatusRow

_PER_UNIT: Mapping[str, Column[OfferRow]] = {
    "price-per-gb": Column("$/GiB-h", lambda row: words.usd(row.price.usd_per_gib_hour), "right"),
    "price-per-tb-s": Column(
        "$/TB/s-h", lambda row: words.usd(row.price.usd_per_tb_per_s_hour), "right"
    ),
    "price-per-pflop-s": Column(
        "$/PFLOP-h", lambda row: words.usd(row.price.usd_per_pflop_per_s_hour), "right"
    ),
}


def offers_report(
    rows: tuple[OfferRow, ...],
    *,
    matching: int,
    as_of: datetime,
    snapshot: str,
    sort: str,
    held: bool = False,
) -> Report[OfferRow]:
    """Show offers; `matching` counts those before a limit, `sort` adds the column it is by."""
    return Report(
        schema="gpubroker.offers/1",
        name="offers",
        row_type=OfferRow,
        rows=rows,
        columns=_held_columns() if held else _offer_columns(sort),
        facts={"snapshot": snapshot, "as_of": plain(as_of), "matching": matching},
    )


def refresh_report(rows: tuple[RefreshRow, ...]) -> Report[RefreshRow]:
    """Show what came of a refresh."""
    return Report(
        schema="gpubroker.refresh/1",
        name="providers",
        row_type=RefreshRow,
        rows=rows,
        columns=(
            Column("provider", lambda row: row.provider),
            Column("result", lambda row: row.status.replace("_", " ")),
            Column("offers", lambda row: f"{row.offers:,}", "right"),
            Column("new", lambda row: f"{row.new:,}", "right"),
            Column("changed", lambda row: f"{row.changed:,}", "right"),
            Column("gone", lambda row: f"{row.vanished:,}", "right"),
            Column("held", lambda row: f"{sum(row.quarantined.values()):,}", "right"),
            Column("rejected", lambda row: f"{sum(row.rejected.values()):,}", "right"),
            Column("age", lambda row: words.age(row.age_h), "right"),
            Column("why rejected", lambda row: words.counts(row.rejected), fit=Fit.WRAP, wide=True),
        ),
        facts={},
    )


def status_report(rows: tuple[StatusRow, ...], *, facts: Mapping[str, Plain]) -> Report[StatusRow]:
    """Show coverage by provider and price kind, with ages and what is held back."""
    kinds = sorted({kind for row in rows for kind in row.price_kinds})
    return Report(
        schema="gpubroker.status/1",
        name="providers",
        row_type=StatusRow,
        rows=rows,
        columns=(
            Column("provider", lambda row: row.provider),
            *(_kind_column(kind) for kind in kinds),
            Column("age", _ages, "right"),
            Column("last run", lambda row: row.last_run.replace("_", " ")),
            Column("held back", lambda row: words.counts(row.quarantined), fit=Fit.WRAP),
            Column("rejected", lambda row: words.counts(row.rejected), fit=Fit.WRAP, wide=True),
        ),
        facts=facts,
    )


def _offer_columns(sort: str) -> tuple[Column[OfferRow], ...]:
    extra = (_PER_UNIT[sort],) if sort in _PER_UNIT else ()
    return (
        *_machine_columns(),
        Column("GPUs", lambda row: words.gpus(row.machine.gpu_count, row.machine.gpu)),
        Column(
            "GiB/GPU",
            lambda row: words.number(round(row.machine.gpu_memory_gib)),
            "right",
            wide=True,
        ),
        Column("GiB", lambda row: words.number(round(row.machine.memory_gib)), "right", wide=True),
        Column("vCPU", lambda row: words.number(row.machine.vcpus), "right", wide=True),
        Column("link", lambda row: row.machine.link, wide=True),
        Column("kind", _kind),
        Column("$/h", lambda row: words.usd(row.price.effective_usd_per_hour), "right"),
        Column(
            "$/GPU-h", lambda row: words.usd(row.price.usd_per_gpu_hour), "right", wide=bool(extra)
        ),
        *extra,
        Column("age", lambda row: words.age(row.age_h), "right"),
    )


def _held_columns() -> tuple[Column[OfferRow], ...]:
    return (
        *_machine_columns(),
        Column("kind", _kind),
        Column("$/GPU-h", lambda row: words.usd(row.price.usd_per_gpu_hour), "right"),
        Column("held back", lambda row: row.held_detail, fit=Fit.WRAP),
    )


def _machine_columns() -> tuple[Column[OfferRow], ...]:
    return (
        Column("provider", lambda row: row.machine.provider, fit=Fit.SHORTEN),
        Column("type", _instance, fit=Fit.SHORTEN),
        Column("region", lambda row: row.machine.zone or row.machine.region, fit=Fit.SHORTEN),
    )


def _instance(row: OfferRow) -> str:
    return (
        f"{row.machine.instance_type}:{row.machine.tier}"
        if row.machine.tier
        else row.machine.instance_type
    )


def _kind(row: OfferRow) -> str:
    return words.price_kind(row.price.price_kind, row.price.term_months, row.price.payment)


def _kind_column(kind: str) -> Column[StatusRow]:
    heading = words.price_kind(kind, None, None)
    return Column(heading, lambda row: f"{row.price_kinds.get(kind, 0):,}", "right")


def _ages(row: StatusRow) -> str:
    newest, oldest = words.age(row.newest_age_h), words.age(row.oldest_age_h)
    return newest if newest == oldest else f"{newest}–{oldest}"
