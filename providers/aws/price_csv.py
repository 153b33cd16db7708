"""The CSV form of a price file: one row a price, every filled field in quotes."""

from collections.abc import Iterator

import httpx

from providers.aws.csv_file import open_table
from providers.aws.wire import PriceRow, Product, is_accelerated

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
COLUMNS = {**_PRODUCT_COLUMNS, **_TERM_COLUMNS}
"""The columns that are read, by our names."""


def accelerated_rows(reply: httpx.Response) -> Iterator[PriceRow]:
    """Read the rows of types with accelerators; no more than one line is held.

    Raises:
        ProviderError: the file is cut short, lacks a column, or is no price file.
    """
    at, rows = open_table(reply, COLUMNS)
    type_at, family_at, gpus_at = at["instance_type"], at["instance_family"], at["gpus"]
    for cells in rows:
        if is_accelerated(cells[type_at], cells[family_at], cells[gpus_at]):
            yield PriceRow(
                product=Product(**{name: cells[at[name]] for name in _PRODUCT_COLUMNS}),
                **{name: cells[at[name]] for name in _TERM_COLUMNS},
            )
