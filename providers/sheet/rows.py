"""Typed rows: what a sheet says of one machine, and the prices that it states for it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from broker.domain.offer import Fabric, Link, Payment, PriceKind
from broker.domain.quantities import HOURS_PER_MONTH
from providers.sheet import cells
from providers.sheet.cells import Row
from providers.sheet.columns import ALIASES, DOCUMENTED

TIERS = frozenset(
    {"secure", "community", "marketplace", "serverless", "production", "prototyping"}
    | {"dedicated", "shared"}
)
_PLACEHOLDER_HOSTS = frozenset(
    {("vast", 32.0, 64.0), ("paperspace", 12.0, 80.0), ("paperspace", 15.0, 80.0)}
    | {("paperspace", 96.0, 640.0), ("paperspace", 128.0, 640.0)}
)
"""Provider, vCPU, GiB: one figure for every host, and GPU memory filed as host memory."""
_SOLD_IN = re.compile(r"sold in units of ([1-9]\d{0,3}) GPUs")


class Basis(StrEnum):
    """What a price is for."""

    INSTANCE = "instance"
    PER_GPU = "per_gpu"
    PER_GPU_COMPONENT = "per_gpu_component"


class Continent(StrEnum):
    """The continents of `Place`; us is North America."""

    US = "us"
    SA = "sa"
    EU = "eu"
    AP = "ap"
    ME = "me"
    AF = "af"
    OC = "oc"


class SheetKind(StrEnum):
    """The price kinds of a sheet: the domain's, and GCP's word for a reserved resource."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    RESERVED = "reserved"
    SAVINGS_PLAN = "savings_plan"
    CAPACITY_BLOCK = "capacity_block"
    CONTRACT = "contract"
    OWNED = "owned"
    CUD = "cud"


_WITHOUT_TERM = (SheetKind.ON_DEMAND, SheetKind.SPOT, SheetKind.OWNED)
_NOT_UPFRONT = (Payment.NO_UPFRONT, Payment.MONTHLY)
_SAME = Decimal("0.01")
"""Share by which two figures of one amount may differ: sources round prices to the cent."""


@dataclass(frozen=True, slots=True)
class StatedPrice:
    """A price as the sheet states it, per hour; an amount of 0 says that there is none."""

    column: str
    kind: PriceKind
    amount: Decimal
    currency: str
    upfront: Decimal = Decimal(0)
    term_months: int | None = None
    payment: Payment | None = None


@dataclass(frozen=True, slots=True)
class StatedPlace:
    """Where a row says that the machine stands; empty is unsaid."""

    region: str
    zone: str
    country: str
    continent: Continent | None
    latitude_deg: float | None
    longitude_deg: float | None


@dataclass(frozen=True, slots=True)
class StatedMachine:
    """What a row says of the machine; None and empty are unsaid. Memory is GiB, of one GPU."""

    provider: str
    instance_type: str
    gpu_name: str
    gpu_count: Fraction | None
    gpu_memory_gib: float | None
    vcpus: float | None
    memory_gib: float | None
    local_disk_gb: float | None
    link: Link | None
    fabric: Fabric | None
    fabric_gbit_per_s: float | None
    bare_metal: bool | None


@dataclass(frozen=True, slots=True)
class SheetRow:
    """One row, typed. `units` is how many GPUs a per-GPU price is sold in."""

    cells: Row
    machine: StatedMachine
    place: StatedPlace
    tier: str
    basis: Basis
    prices: tuple[StatedPrice, ...]
    observed_at: datetime | None
    valid_until: datetime | None
    min_nodes: int | None
    max_nodes: int | None
    certifications: tuple[str, ...]
    source: str
    note: str


def read_row(row: Row) -> SheetRow:
    """Give a row its types.

    Raises:
        ConfigurationError: a cell cannot be read; the message names file, row, column and value.
    """
    instance_type, tier = _type_and_tier(row)
    return SheetRow(
        cells=row,
        machine=_machine(row, instance_type),
        place=_place(row),
        tier=tier,
        basis=cells.choice(row, "price_basis", Basis) or Basis.INSTANCE,
        prices=tuple(_prices(row)),
        observed_at=cells.dated(row),
        valid_until=cells.instant(row, "valid_until"),
        min_nodes=cells.whole(row, "min_nodes"),
        max_nodes=_max_nodes(row),
        certifications=cells.words(row, "certifications"),
        source=row.text("source") or row.path.name,
        note=row.text("note"),
    )


def _type_and_tier(row: Row) -> tuple[str, str]:
    """Part the tier from a type such as `H100:community`, and find it in RunPod's region."""
    instance_type = cells.required(row, "instance_type")
    tier = row.text("tier").lower()
    name, _, suffix = instance_type.rpartition(":")
    if name and suffix in TIERS:
        return name, tier or suffix
    region = row.text("region").lower()
    return instance_type, tier or (region if region in TIERS else "")


def _machine(row: Row, instance_type: str) -> StatedMachine:
    sold_in = _SOLD_IN.search(row.text("note"))
    provider = cells.required(row, "provider").lower()
    vcpus = cells.number(row, "vcpus") or None
    memory_gib = cells.number(row, "memory_gib") or None
    if (provider, vcpus, memory_gib) in _PLACEHOLDER_HOSTS:
        vcpus, memory_gib = None, None
    return StatedMachine(
        provider=provider,
        instance_type=instance_type,
        gpu_name=row.text("gpu_name") or _type_or_gpu(row),
        gpu_count=Fraction(sold_in.group(1)) if sold_in else cells.gpu_count(row, "gpu_count"),
        gpu_memory_gib=cells.number(row, "gpu_memory_gib"),
        vcpus=vcpus,
        memory_gib=memory_gib,
        local_disk_gb=cells.number(row, "local_disk_gb"),
        link=cells.choice(row, "link", Link),
        fabric=cells.choice(row, "fabric", Fabric),
        fabric_gbit_per_s=cells.number(row, "fabric_gbit_per_s") or None,
        bare_metal=cells.flag(row, "bare_metal"),
    )


def _type_or_gpu(row: Row) -> str:
    """Tables of commitments name a machine or a GPU in one column."""
    column = row.columns["instance_type"]
    return row.text("instance_type") if column.header.strip().lower() in ALIASES else ""


def _place(row: Row) -> StatedPlace:
    latitude_deg = cells.coordinate(row, "latitude_deg", 90)
    longitude_deg = cells.coordinate(row, "longitude_deg", 180)
    if (latitude_deg is None) is not (longitude_deg is None):
        missing = "latitude_deg" if latitude_deg is None else "longitude_deg"
        raise row.error(missing, "lacks its partner", hint="give both coordinates or none")
    return StatedPlace(
        region=row.text("region"),
        zone=row.text("zone"),
        country=row.text("country").upper(),
        continent=cells.choice(row, "continent", Continent),
        latitude_deg=latitude_deg,
        longitude_deg=longitude_deg,
    )


def _max_nodes(row: Row) -> int | None:
    max_nodes = cells.whole(row, "max_nodes")
    if max_nodes is None and cells.choice(row, "price_kind", SheetKind) is SheetKind.OWNED:
        raise row.error(
            "max_nodes", "is missing", hint="say how many nodes you own: they cannot be bought"
        )
    return max_nodes


def _prices(row: Row) -> Iterator[StatedPrice]:
    """Give the prices of the row's columns; an empty cell states none."""
    listed = [(name, cells.amount(row, name)) for name in ("on_demand", "spot")]
    single = cells.amount(row, "price")
    upfront = cells.amount(row, "upfront")
    if any(value is not None for _, value in listed):
        if single is not None:
            raise row.error(
                "price", "is a second price", hint="fill price, or on_demand and spot, not both"
            )
        _without_terms(row)
        for name, value in listed:
            if value is not None:
                yield StatedPrice(name, PriceKind(name), value, _currency(row, name))
    elif single is not None or upfront:
        yield _single_price(row, single or Decimal(0), upfront or Decimal(0))


def _without_terms(row: Row) -> None:
    """See that nothing beside a price on demand or on spot says that it is bought another way."""
    kind = cells.choice(row, "price_kind", SheetKind)
    says_otherwise = {
        "price_kind": kind not in (None, SheetKind.ON_DEMAND, SheetKind.SPOT),
        "term_months": bool(row.text("term_months")),
        "payment": bool(row.text("payment")),
        "upfront": bool(cells.amount(row, "upfront")),
    }
    wrong = next((name for name, is_said in says_otherwise.items() if is_said), None)
    if wrong is not None:
        raise row.error(
            wrong,
            "is beside a price on demand or on spot",
            hint="fill price (or hourly_usd) with price_kind for what is bought on other terms",
        )


def _single_price(row: Row, amount: Decimal, upfront: Decimal) -> StatedPrice:
    kind = cells.choice(row, "price_kind", SheetKind)
    if kind is None:
        raise row.error("price_kind", "is empty", hint=f"say how it is bought; {DOCUMENTED}")
    term_months = cells.whole(row, "term_months")
    if upfront and term_months is None:
        raise row.error(
            "term_months", "is empty beside an upfront payment", hint="say what it is paid for"
        )
    if term_months and kind in _WITHOUT_TERM:
        raise row.error(
            "term_months", f"is no part of {kind}", hint="reserved and contract have a term"
        )
    stated = StatedPrice(
        column="price",
        kind=PriceKind.RESERVED if kind is SheetKind.CUD else PriceKind(str(kind)),
        amount=amount,
        currency=_currency(row, "price", "upfront"),
        upfront=upfront,
        term_months=term_months,
        payment=cells.choice(row, "payment", Payment),
    )
    return _paid_once(row, stated)


def _paid_once(row: Row, stated: StatedPrice) -> StatedPrice:
    """See that amounts fit their payment option; what is all paid upfront is due by no hour.

    Sources state such a price by the hour as well, or alone: the same money, spread over the term.
    """
    if stated.payment in _NOT_UPFRONT and stated.upfront:
        raise row.error(
            "payment",
            f"is beside an upfront payment of {stated.upfront}",
            hint="say partial_upfront or all_upfront, or leave upfront empty",
        )
    is_all_upfront = stated.payment is Payment.ALL_UPFRONT and stated.term_months is not None
    if not (is_all_upfront and stated.amount):
        return stated
    whole = stated.amount * HOURS_PER_MONTH * (stated.term_months or 0)
    if stated.upfront and abs(whole - stated.upfront) > _SAME * stated.upfront:
        raise row.error(
            "price",
            f"an hour comes to {whole} over the term, all_upfront is {stated.upfront}",
            hint="leave price empty where all is paid upfront, or say partial_upfront",
        )
    return replace(stated, amount=Decimal(0), upfront=stated.upfront or whole)


def _currency(row: Row, *names: str) -> str:
    """Name the one currency of some amounts, which the headers of filled cells may carry."""
    of_headers = {row.currency(name) for name in names if row.text(name)} - {None}
    if len(of_headers) > 1:
        raise row.error(
            "upfront",
            f"is in {row.currency('upfront')}, the price in {row.currency('price')}",
            hint="convert one of them: the amounts of a row are in one currency",
        )
    of_header = next(iter(of_headers), None)
    text = row.text("currency").upper()
    if of_header and text and of_header != text:
        raise row.error(
            "currency", f"is not the {of_header} of the price column", hint="correct it"
        )
    if not of_header and not text:
        raise row.error("currency", "is empty", hint="write the code of the currency, such as USD")
    return of_header or text
