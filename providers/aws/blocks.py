"""Capacity blocks: machines for a window of days, paid in advance, at a public rate.

Wire:  the pricing page of the capacity blocks. It is HTML whose tables stand in it as JSON, in
       script elements: `data.items[].fields` with a heading, and columns, row labels and rows that
       are JSON again, as text. A cell is HTML: "<p>$47.76 USD ($5.97 USD)</p>".
Units: dollars per hour of the machine, and of one of its accelerators in brackets. The page
       announces some changes in words only; those are not read.
Quirks: an UltraServer is priced whole: 18 machines of four GPUs for u-p6e-gb200x72, sold together
       or not at all. An older form of the page gave UltraServers one figure, which was that of an
       accelerator: a cell with one figure is refused. Regions are written as people say them.
Rule:  1 to 14 days by the day, then by the week up to 182 days, up to 64 machines in a block,
       starting up to eight weeks ahead (EC2 User Guide, "Capacity Blocks for ML"). The page does
       not say which windows are left; that needs an account.
Assumed: Linux costs nothing beside the reservation, as the page says of it.
"""

import html
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

import httpx
from pydantic import BaseModel, Field, Json, JsonValue, ValidationError

from broker.domain.offer import Billing, Block, Limits, Offer, PriceKind, Quote, Rejection
from broker.specs.load import Specs
from providers.aws.machines import hardware_of_type
from providers.aws.places import Places
from providers.aws.wire import (
    PROVIDER,
    USD,
    Problem,
    is_elsewhere,
    positive_usd,
    rejection,
    unreadable_file,
)
from providers.kit.adapter import provenance
from providers.kit.parse import Row, Unreadable

BOOK_AHEAD_DAYS = 56
LENGTHS_H = tuple(24 * days for days in (*range(1, 15), *range(21, 183, 7)))
MOST_MACHINES = 64

_SCRIPT = re.compile(r'<script[^>]*\btype="application/json"[^>]*>(.*?)</script>', re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_RATE = re.compile(r"\$([\d,]+(?:\.\d+)?)\s*(?:USD)?\s*\(\s*\$([\d,]+(?:\.\d+)?)\s*(?:USD)?\s*\)")
_ULTRASERVER = re.compile(r"u-(p6e-gb200)x(\d+)")
_ULTRASERVER_MACHINES = {"p6e-gb200": "p6e-gb200.36xlarge"}
_ROUNDING_USD = Decimal("0.001")


class _Column(BaseModel):
    heading: str = Field(alias="Heading")
    accessor: str


class _Label(BaseModel):
    id: str
    label: str


class _Fields(BaseModel):
    columns: Json[list[_Column]] = Field(alias="itemTableColumns")
    labels: Json[list[_Label]] = Field(alias="itemTableRowGroups")
    rows: Json[list[dict[str, JsonValue]]] = Field(alias="itemTableData")

    def accessor(self, what: str) -> str | None:
        """Find the column whose heading says `what`; the first of several is the machine's."""
        found = (one.accessor for one in self.columns if what in one.heading.lower())
        return next(found, None)


class _Item(BaseModel):
    fields: _Fields


class _Data(BaseModel):
    items: list[Row[_Item]]


class _Component(BaseModel):
    data: _Data


class _Cell(NamedTuple):
    """One row of a table, in plain text."""

    label: str
    region: str
    rate: str


def offers_in_page(
    reply: httpx.Response, places: Places, specs: Specs, regions: tuple[str, ...]
) -> Iterator[Offer | Rejection]:
    """Make the capacity block offers of `regions`, or of all where none is named.

    Raises:
        ProviderError: the page has no table of rates.
    """
    cells = list(_cells(reply.text))
    if not cells:
        raise unreadable_file(reply, "the page has no table with an hourly rate")
    for cell in cells:
        region = places.code(cell.region)
        if region is not None and regions and region not in regions:
            continue
        offer = _offer(cell, region, reply, specs)
        subject = f"{region or cell.region}/{cell.label}@capacity_block"
        yield rejection(subject, offer) if isinstance(offer, Problem) else offer


def _cells(page: str) -> Iterator[_Cell]:
    """Find the rows of the tables that have a region and an hourly rate."""
    for script in _SCRIPT.findall(page):
        try:
            component = _Component.model_validate_json(script)
        except ValidationError:
            continue  # another component of the page
        for item in component.data.items:
            if not isinstance(item, Unreadable):
                yield from _rows_of(item.fields)


def _rows_of(table: _Fields) -> Iterator[_Cell]:
    region, rate = table.accessor("region"), table.accessor("hourly rate")
    if region is None or rate is None:
        return
    labels = {one.id: one.label for one in table.labels}
    for row in table.rows:
        label = labels.get(str(row.get("idProperty", "")), "")
        yield _Cell(label.strip(), _text(row.get(region)), _text(row.get(rate)))


def _text(cell: JsonValue) -> str:
    return " ".join(html.unescape(_TAG.sub(" ", str(cell or ""))).split())


def _offer(cell: _Cell, region: str | None, reply: httpx.Response, specs: Specs) -> Offer | Problem:
    if "GovCloud" in cell.region or (region and is_elsewhere(region)):
        return Problem("other_partition", "GovCloud has prices and accounts of its own")
    if region is None:
        return Problem("unknown_region", f"no region is certainly {cell.region!r}")
    ultraserver = _ULTRASERVER.fullmatch(cell.label)
    instance_type = _ULTRASERVER_MACHINES[ultraserver[1]] if ultraserver else cell.label
    hardware = hardware_of_type(specs, instance_type)
    if isinstance(hardware, Problem):
        return hardware
    gpus = int(ultraserver[2]) if ultraserver else int(hardware.shape.gpu_count)
    usd = _total_usd(cell.rate, gpus)
    if isinstance(usd, Problem):
        return usd
    together = int(gpus / hardware.shape.gpu_count)
    return Offer(
        provider=PROVIDER,
        instance_type=instance_type,
        tier=cell.label if ultraserver else "",
        place=specs.place(PROVIDER, region),
        price_kind=PriceKind.CAPACITY_BLOCK,
        hardware=hardware,
        usd_per_hour=usd / together,
        quote=Quote(amount=usd, currency=USD),
        provenance=provenance(reply),
        billing=Billing(prepaid=True),
        block=Block(lengths_h=LENGTHS_H, book_ahead_days=BOOK_AHEAD_DAYS),
        limits=Limits(min_nodes=together, max_nodes=together if ultraserver else MOST_MACHINES),
    )


def _total_usd(text: str, accelerators: int) -> Decimal | Problem:
    """Read "$47.76 USD ($5.97 USD)": the first figure, which the second must confirm."""
    found = _RATE.search(text)
    if found is None:
        one_figure = Problem("ambiguous_price", f"{text!r} does not say of how many accelerators")
        return one_figure if "$" in text else Problem("price_on_request", f"rate {text!r}")
    total, each = (positive_usd(figure.replace(",", "")) for figure in found.groups())
    if isinstance(total, Problem):
        return total
    if isinstance(each, Problem):
        return each
    if abs(total - each * accelerators) > _ROUNDING_USD * accelerators:
        detail = f"{text!r} for {accelerators} accelerators does not add up"
        return Problem("contradictory_price", detail)
    return total
