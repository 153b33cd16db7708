"""Lium: a marketplace of single hosts; a node is rented whole or, where its host allows, in part.

Wire:    GET https://lium.io/api/public/v1/nodes, no key; one page with all nodes that are free.
         Only `id` and `rent_url` are promised; fields are added under v1, never changed.
Units:   USD per hour of ONE GPU and of the whole node, which must agree; memory of one GPU, and RAM
         and disk of the whole node, in GiB.
Kinds:   tier `secure` is on demand; tier `spot` can be taken back at any time, with no refund.
         Another tier is none that is known.
Quirks:  a node of N GPUs gives any count from its least order to what is free, with its share of
         cores, RAM and disk; a node without a least order is rented whole or not at all. Counts of
         one node are parts of the same GPUs. A GPU has the name that its driver gives it, without
         the vendor, so "H200" is the SXM card, and "H200 NVL" is not. A place is a country and,
         sometimes, a part of it.
Assumed: a pod's disk is in its price; volumes that outlive it are sold apart, at a price that the
         feed does not tell.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

import httpx
from pydantic import BaseModel, Field

from broker.domain.offer import (
    Billing,
    Limits,
    Offer,
    PriceKind,
    Quote,
    Rejection,
    SpotTerms,
    Virtualization,
)
from broker.specs.load import Specs, Unresolved
from providers.kit.access import Access
from providers.kit.adapter import provenance
from providers.kit.duplicates import cheapest
from providers.kit.parse import Row, Unreadable, parse

URL = "https://lium.io/api/public/v1/nodes"
COUNTS = (1, 2, 4, 8)
"""Parts of a node that become offers, beside the largest part that is free."""

_KINDS = {"secure": PriceKind.ON_DEMAND, "spot": PriceKind.SPOT}
_ROUNDING_USD = Decimal("0.01")
_GB_PER_GIB = 2**30 / 10**9


class _Node(BaseModel):
    id: str
    gpu_model: str = ""
    gpu_count: Annotated[int, Field(ge=0)] = 0
    available_gpu_count: Annotated[int, Field(ge=0)] = 0
    min_rentable_gpu_count: int | None = None
    price_per_gpu_hour: Decimal | None = None
    price_per_node_hour: Decimal | None = None
    gpu_memory_gb: float | None = None
    cpu_count: float | None = None
    ram_gb: float | None = None
    disk_gb: float | None = None
    tier: str | None = None
    country_code: str | None = None
    region: str | None = None


class _Reply(BaseModel):
    nodes: list[Row[_Node]]


class Lium:
    """Adapter for Lium's marketplace."""

    name = "lium"
    keys: tuple[str, ...] = ()

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Ask for the single page."""
        yield http.get(URL)

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each node and each part of it that can be ordered."""
        for reply in replies:
            rows = parse(_Reply, reply).nodes
            yield from cheapest(one for row in rows for one in self._offers(row, reply))

    def _offers(
        self, row: _Node | Unreadable, reply: httpx.Response
    ) -> Iterator[Offer | Rejection]:
        if isinstance(row, Unreadable):
            yield self._rejection("a node", row.reason, row.detail)
            return
        subject = f"{row.id}: {row.gpu_count}x {row.gpu_model}"
        if why := _unfit(row):
            yield self._rejection(subject, *why)
            return
        gpu = self._specs.resolve_gpu(
            row.gpu_model, memory_gib=row.gpu_memory_gb, provider=self.name
        )
        if isinstance(gpu, Unresolved):
            yield self._rejection(subject, gpu.reason, gpu.detail)
            return
        for count in _counts(row):
            yield self._offer(row, gpu, count, reply)

    def _offer(self, row: _Node, gpu: str, count: int, reply: httpx.Response) -> Offer:
        share = count / row.gpu_count
        name = f"{row.id}-{count}x{gpu}"
        kind = _KINDS[row.tier or ""]
        usd_per_hour = count * (row.price_per_gpu_hour or Decimal(0))  # _unfit has seen to it
        free = _free(row)
        return Offer(
            provider=self.name,
            instance_type=name,
            place=self._specs.place(self.name, _region(row)),
            price_kind=kind,
            hardware=self._specs.hardware(
                self.name,
                name,
                gpu=gpu,
                gpu_count=Fraction(count),
                vcpus=_share(row.cpu_count, share),
                host_memory_gib=_share(row.ram_gb, share),
                local_disk_gb=_share(row.disk_gb, share * _GB_PER_GIB),
                virtualization=Virtualization.CONTAINER,
            ),
            usd_per_hour=usd_per_hour,
            quote=Quote(amount=usd_per_hour, currency="USD"),
            provenance=provenance(reply),
            tier=row.tier or "",
            billing=Billing(step_s=1.0),
            spot=SpotTerms() if kind is PriceKind.SPOT else None,
            limits=Limits(
                stock_nodes=free // count,
                max_nodes=free // count,
                stock_pool=f"{self.name}/{row.id}",
                stock_gpus=free,
            ),
            warnings=_warnings(kind),
        )

    def _rejection(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def _unfit(row: _Node) -> tuple[str, str] | None:
    """Say why a node cannot be planned with: reason and detail."""
    price, whole = row.price_per_gpu_hour, row.price_per_node_hour
    if not row.gpu_model or row.gpu_count < 1:
        return "not_a_gpu", f"{row.gpu_count} GPUs of model {row.gpu_model!r}"
    if row.tier not in _KINDS:
        return "unknown_tier", f"tier {row.tier!r} is neither secure nor spot"
    if price is None or price <= 0:
        return "no_price", f"price_per_gpu_hour is {price}"
    if whole is not None and abs(whole - price * row.gpu_count) > _ROUNDING_USD:
        detail = f"{price} for one GPU, {whole} for {row.gpu_count}"
        return "contradictory_price", detail
    if not tuple(_counts(row)):
        least = row.min_rentable_gpu_count or row.gpu_count
        return "no_capacity", f"{_free(row)} GPUs are free, the least order is {least}"
    return None


def _free(row: _Node) -> int:
    return min(row.available_gpu_count, row.gpu_count)


def _counts(row: _Node) -> Iterator[int]:
    """Give the counts that become offers, smallest first."""
    free, least = _free(row), row.min_rentable_gpu_count or row.gpu_count
    yield from (count for count in sorted({*COUNTS, free}) if 0 < least <= count <= free)


def _region(row: _Node) -> str:
    """Name the place as the tables read it: "MS, US", or a country alone."""
    if not row.country_code:
        return ""
    return f"{row.region}, {row.country_code}" if row.region else row.country_code


def _share(whole: float | None, share: float) -> float | None:
    return whole * share if whole else None


def _warnings(kind: PriceKind) -> tuple[str, ...]:
    one_host = "one host of a marketplace; other sizes of it are the same GPUs"
    if kind is not PriceKind.SPOT:
        return (one_host,)
    return one_host, "the host can take it back at any time, and nothing is refunded"
