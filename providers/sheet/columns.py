"""The columns of a price sheet: which there are, which must be there, what a typo is told."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from broker.domain.errors import ConfigurationError

DOCUMENTED = "docs/price-sheets.md lists the columns"

PLAIN = (
    "provider",
    "instance_type",
    "tier",
    "region",
    "zone",
    "country",
    "continent",
    "latitude_deg",
    "longitude_deg",
    "gpu_name",
    "gpu_count",
    "gpu_memory_gib",
    "vcpus",
    "memory_gib",
    "local_disk_gb",
    "link",
    "fabric",
    "fabric_gbit_per_s",
    "bare_metal",
    "min_nodes",
    "max_nodes",
    "certifications",
    "price",
    "currency",
    "price_kind",
    "price_basis",
    "term_months",
    "payment",
    "upfront",
    "observed_on",
    "commit_or_date",
    "valid_until",
    "source",
    "note",
)
"""Columns whose name is all there is to know."""

ALIASES = {"instance_type_or_gpu": "instance_type", "kind": "price_kind", "date": "observed_on"}
"""Other spellings, those of tables of commitments."""

WITH_CURRENCY = {
    re.compile(r"on_demand_([a-z]{3})_h"): "on_demand",
    re.compile(r"spot_([a-z]{3})_h"): "spot",
    re.compile(r"hourly_([a-z]{3})"): "price",
    re.compile(r"upfront_([a-z]{3})"): "upfront",
}
"""Columns that carry their currency in the name: on_demand_usd_h, spot_eur_h, ..."""

_PRICES = ("on_demand", "spot", "price")
_SPELLED = ("on_demand_usd_h", "spot_usd_h", "hourly_usd", "upfront_usd")


@dataclass(frozen=True, slots=True)
class Column:
    """One column: as the file spells it, what it means, the currency that its name carries."""

    header: str
    name: str
    currency: str | None = None


def read_header(path: Path, headers: Sequence[str]) -> tuple[Column, ...]:
    """Recognize every column, and see that none that is needed lacks.

    Raises:
        ConfigurationError: a column is unknown, given twice, or missing.
    """
    columns = tuple(_recognize(path, header) for header in headers)
    given: dict[str, Column] = {}
    for column in columns:
        if column.name in given:
            raise ConfigurationError(
                f"{path}: columns {given[column.name].header!r} and {column.header!r} say the same",
                hint="keep one of them",
            )
        given[column.name] = column
    _need_all(path, given)
    return columns


def _recognize(path: Path, header: str) -> Column:
    name = header.strip().lower()
    if name in PLAIN or name in ALIASES:
        return Column(header, ALIASES.get(name, name))
    for pattern, meaning in WITH_CURRENCY.items():
        if found := pattern.fullmatch(name):
            return Column(header, meaning, found.group(1).upper())
    near = get_close_matches(name, (*PLAIN, *ALIASES, *_SPELLED), n=1)
    hint = f"did you mean {near[0]!r}? {DOCUMENTED}" if near else DOCUMENTED
    raise ConfigurationError(f"{path}: unknown column {header!r}", hint=hint)


def _need_all(path: Path, given: Mapping[str, Column]) -> None:
    for name in ("provider", "instance_type"):
        if name not in given:
            raise ConfigurationError(f"{path}: there is no column {name!r}", hint=DOCUMENTED)
    if not any(name in given for name in _PRICES):
        raise ConfigurationError(
            f"{path}: there is no column with a price",
            hint="add on_demand_usd_h or spot_usd_h, or price with currency and price_kind",
        )
    price = given.get("price")
    if price is None:
        return
    if "price_kind" not in given:
        raise ConfigurationError(
            f"{path}: column {price.header!r} needs a column 'price_kind'",
            hint="add price_kind: on_demand, spot, reserved, contract, owned, ...",
        )
    if price.currency is None and "currency" not in given:
        raise ConfigurationError(
            f"{path}: column {price.header!r} needs a column 'currency'",
            hint="add currency, with codes such as USD or EUR",
        )
