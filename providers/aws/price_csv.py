"""The CSV form of a price file: some hundred megabytes, read line by line.

Five lines about the file come first, then the header. Columns are found by name: their set grows.
Every filled field is quoted, so a file that is cut short ends in an open quote or a short row.
"""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice

import httpx

from providers.aws.wire import PriceRow, Product, is_accelerated, unreadable_file

_PRODUCT_COLUMNS = {
    "sku": "SKU",
    "family": "Product Family",
    "region": "Region Code",
    "location_type": "Location Type",
    "instance_type": "Instance Type",
    "instance_family": "Instance Family",
    "vcpus": "vCPU",
    "memory": "Memory",
    "storage": "Storage",
    "gpus": "GPU",
    "gpu_memory": "GPU Memory",
    "tenancy": "Tenancy",
    "operating_system": "Operating System",
    "licence": "License Model",
    "preinstalled": "Pre Installed S/W",
    "operation": "operation",
    "capacity_status": "CapacityStatus",
    "market_option": "MarketOption",
}
_TERM_COLUMNS = {
    "term_type": "TermType",
    "offer_term_code": "OfferTermCode",
    "effective_date": "EffectiveDate",
    "starting_range": "StartingRange",
    "ending_range": "EndingRange",
    "unit": "Unit",
    "price": "PricePerUnit",
    "currency": "Currency",
    "lease": "LeaseContractLength",
    "purchase_option": "PurchaseOption",
    "offering_class": "OfferingClass",
}
_LINES_BEFORE_HEADER = 20


def accelerated_rows(reply: httpx.Response) -> Iterator[PriceRow]:
    """Read the rows of types with accelerators; no more than one line is held.

    Raises:
        ProviderError: the file is cut short, lacks a column, or is no price file.
    """
    table = csv.reader(_lines(reply), strict=True)
    try:
        header = _header(table, reply)
        product = _positions(_PRODUCT_COLUMNS, header, reply)
        term = _positions(_TERM_COLUMNS, header, reply)
        type_at, family_at, gpus_at = (
            product[name] for name in ("instance_type", "instance_family", "gpus")
        )
        for cells in table:
            if len(cells) != len(header):
                raise unreadable_file(
                    reply, f"row {table.line_num} has {len(cells)} fields of {len(header)}"
                )
            if is_accelerated(cells[type_at], cells[family_at], cells[gpus_at]):
                yield PriceRow(
                    product=Product(**{name: cells[at] for name, at in product.items()}),
                    **{name: cells[at] for name, at in term.items()},
                )
    except csv.Error as cause:
        raise unreadable_file(reply, f"row {table.line_num}: {cause}") from cause


def _lines(reply: httpx.Response) -> Iterator[str]:
    """Cut the body at line feeds only: a description may hold other line separators."""
    rest = b""
    try:
        for chunk in reply.iter_bytes():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line.decode() + "\n"
        if rest:
            yield rest.decode()
    except (httpx.HTTPError, UnicodeDecodeError) as cause:
        raise unreadable_file(reply, str(cause)) from cause


def _header(table: Iterator[list[str]], reply: httpx.Response) -> Sequence[str]:
    for cells in islice(table, _LINES_BEFORE_HEADER):
        if cells[:1] == ["SKU"]:
            return cells
    raise unreadable_file(reply, "there is no header that starts with SKU")


def _positions(
    columns: dict[str, str], header: Sequence[str], reply: httpx.Response
) -> dict[str, int]:
    missing = sorted(set(columns.values()) - set(header))
    if missing:
        raise unreadable_file(reply, f"column {missing[0]!r} is missing")
    return {name: header.index(column) for name, column in columns.items()}
