"""Vast.ai: a marketplace; each row is a part of one host's machine, with a price for the whole row.

Wire:  POST https://console.vast.ai/api/v0/bundles/ with a filter, once for on-demand and once for
       interruptible offers; a search answers without a key.
Units: USD per hour of the whole row with the disk that was asked for (`dph_base` is without);
       `storage_cost` is USD for a GB and a month of 720 hours; traffic is USD a GB;
       `gpu_ram` is MiB of ONE GPU as its driver reports it; `cpu_ram` is MB of the whole machine,
       scaled by the row's cores.
Kinds: on demand and spot. Prepaid rentals are left out: the discount grows with what is paid in
       advance up to the host's own limit, and no source says which term the price of a search for
       reserved offers (`discounted_dph_total`) is of.
Quirks: a filter with a wrong name is ignored, so every row is checked again here; one machine
       stands in many rows (1, 2, 4, 8 of its GPUs) that are alternatives, and its id is part of
       the instance type; `A100 SXM4` and the like do not say their memory; a modified RTX 4090
       with 48 GB is none of the known models; `min_bid` 0 or null means that no bid is taken; an
       interruptible price is the least bid that wins now, which says little of tomorrow.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Literal

import httpx
from pydantic import BaseModel

from broker.domain.errors import ProviderError
from broker.domain.offer import (
    Billing,
    Components,
    Limits,
    Offer,
    Place,
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
from providers.kit.parts import Missing, mark_unreadable, or_missing, unless_all_missing

URL = "https://console.vast.ai/api/v0/bundles/"
DISK_GB = 8
"""Disk in each price: what a search assumes unless it asks for more."""
ROW_LIMIT = 10_000
MIN_RELIABILITY = 0.9
"""Share of time that a host was up; below it an offer is not worth a plan. New hosts have 0.6."""

BILLING_STEP_S = 1.0

_MIB_PER_GIB = 1024
_MB_PER_GIB = 2**30 / 10**6
_HOURS_PER_DAY = 24
_LONGEST_S = 10 * 365 * 86_400.0
"""A host that names a later day names none."""
_COUNTRY = re.compile(r"(?:^|,)\s*(?P<code>[A-Z]{2})\s*$")


class _Row(BaseModel):
    id: int
    machine_id: int
    gpu_name: str
    num_gpus: int
    gpu_ram: float | None = None
    cpu_cores: float | None = None
    cpu_cores_effective: float | None = None
    cpu_ram: float | None = None
    dph_base: Decimal | None = None
    dph_total: Decimal | None = None
    min_bid: Decimal | None = None
    reliability: float | None = None
    reliability2: float | None = None
    verification: str | None = None
    geolocation: str | None = None
    storage_cost: Decimal | None = None
    inet_up_cost: Decimal | None = None
    inet_down_cost: Decimal | None = None
    duration: float | None = None
    rentable: bool = True
    rented: bool = False
    external: bool | None = False
    vms_enabled: bool | None = False


class _Reply(BaseModel):
    offers: list[Row[_Row]]


class _Filter(BaseModel):
    type: Literal["ondemand", "bid"]


class Vast:
    """Adapter for Vast.ai's marketplace."""

    name = "vast"
    keys: tuple[str, ...] = ("api_key",)

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response | Missing]:
        """Search twice: for on-demand and for interruptible offers; either may be missing."""
        yield from unless_all_missing(self._searches(http))

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make one offer of each row that can be rented; the cheapest of two alike."""
        for reply in replies:
            asked = _Filter.model_validate_json(reply.request.content).type
            kind = PriceKind.SPOT if asked == "bid" else PriceKind.ON_DEMAND
            try:
                rows = parse(_Reply, reply).offers
            except ProviderError as failure:
                mark_unreadable(reply, failure)
                continue
            free_gpus = _free_gpus(rows)
            yield from cheapest(self._offer(row, kind, free_gpus, reply=reply) for row in rows)

    def _searches(self, http: httpx.Client) -> Iterator[httpx.Response | Missing]:
        headers = self._access.bearer()
        for search, kind in (("ondemand", PriceKind.ON_DEMAND), ("bid", PriceKind.SPOT)):
            ask = partial(http.post, URL, json=_search(search), headers=headers)
            yield from or_missing(ask, Missing(self.name, price_kinds=(kind,)))

    def _offer(
        self,
        row: _Row | Unreadable,
        kind: PriceKind,
        free_gpus: dict[int, int],
        *,
        reply: httpx.Response,
    ) -> Offer | Rejection:
        if isinstance(row, Unreadable):
            return self._rejection("a row", row.reason, row.detail)
        why = _unfit(row) or _unpriced(row, kind)
        if why:
            return self._rejection(_subject(row), *why)
        memory_gib = row.gpu_ram / _MIB_PER_GIB if row.gpu_ram else None
        gpu = self._specs.resolve_gpu(row.gpu_name, memory_gib=memory_gib, provider=self.name)
        if isinstance(gpu, Unresolved):
            return self._rejection(_subject(row), gpu.reason, gpu.detail)
        limits = Limits(
            stock_nodes=1,
            max_nodes=1,
            stock_pool=f"{self.name}/m{row.machine_id}",
            stock_gpus=free_gpus[row.machine_id],
            until=_until(row, reply),
        )
        return self._priced(row, kind, gpu, limits=limits, reply=reply)

    def _priced(
        self, row: _Row, kind: PriceKind, gpu: str, *, limits: Limits, reply: httpx.Response
    ) -> Offer:
        instance_type = f"m{row.machine_id}-{row.num_gpus}x{gpu}"
        usd_per_hour = row.dph_total or Decimal(0)  # _unpriced has seen to it
        is_machine = Virtualization.VM if row.vms_enabled else Virtualization.CONTAINER
        return Offer(
            provider=self.name,
            instance_type=instance_type,
            place=self._place(row),
            price_kind=kind,
            hardware=self._specs.hardware(
                self.name,
                instance_type,
                gpu=gpu,
                gpu_count=Fraction(row.num_gpus),
                vcpus=row.cpu_cores_effective or None,
                host_memory_gib=_host_memory_gib(row),
                local_disk_gb=DISK_GB,
                virtualization=is_machine,
            ),
            usd_per_hour=usd_per_hour,
            quote=Quote(amount=usd_per_hour, currency="USD"),
            provenance=provenance(reply),
            components=_components(row),
            billing=Billing(step_s=BILLING_STEP_S),
            spot=SpotTerms() if kind is PriceKind.SPOT else None,
            limits=limits,
            warnings=_warnings(row, kind),
        )

    def _place(self, row: _Row) -> Place:
        """Place a row by its text, at least in the country that the text ends with."""
        place = self._specs.place(self.name, (row.geolocation or "").strip(" ,"))
        country = _COUNTRY.search(row.geolocation or "")
        if place.country is None and country:
            return place.model_copy(update={"country": country["code"]})
        return place

    def _rejection(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def _until(row: _Row, reply: httpx.Response) -> datetime | None:
    """Say in which hour the host takes a row back: `duration` seconds after the search.

    To the second it would be another one in each search.
    """
    if row.duration is None:
        return None
    left_s = min(max(row.duration, 0.0), _LONGEST_S)
    until = provenance(reply).observed_at + timedelta(seconds=left_s)
    return until.replace(minute=0, second=0, microsecond=0)


def _free_gpus(rows: Iterable[_Row | Unreadable]) -> dict[int, int]:
    """Count the free GPUs of each host: its largest row; its other rows are parts of that one."""
    free: dict[int, int] = {}
    for row in rows:
        if not isinstance(row, Unreadable):
            free[row.machine_id] = max(row.num_gpus, free.get(row.machine_id, 0))
    return free


def _search(kind: str) -> dict[str, object]:
    return {
        "type": kind,
        "verified": {"eq": True},
        "rentable": {"eq": True},
        "rented": {"eq": False},
        "external": {"eq": False},
        "allocated_storage": DISK_GB,
        "order": [["score", "desc"]],
        "limit": ROW_LIMIT,
    }


def _subject(row: _Row) -> str:
    return f"offer {row.id}: {row.num_gpus}x {row.gpu_name}"


def _unfit(row: _Row) -> tuple[str, str] | None:
    """Say why a row cannot be planned with: reason and detail."""
    reliability = row.reliability if row.reliability is not None else row.reliability2
    checks = (
        (row.external, "external", "another market's machine"),
        (row.verification != "verified", "unverified", f"verification is {row.verification!r}"),
        (not row.rentable or row.rented, "not_rentable", "rented, or not for rent"),
        (row.num_gpus < 1, "not_a_gpu", f"{row.num_gpus} GPUs"),
        (
            reliability is None or reliability < MIN_RELIABILITY,
            "unreliable_host",
            f"reliability {reliability} is below {MIN_RELIABILITY}",
        ),
    )
    return next(((reason, detail) for failed, reason, detail in checks if failed), None)


def _unpriced(row: _Row, kind: PriceKind) -> tuple[str, str] | None:
    if row.dph_total is None or row.dph_total <= 0:
        return "no_price", f"dph_total is {row.dph_total}"
    if kind is PriceKind.SPOT:
        if not row.min_bid or row.min_bid < 0:
            return "no_price", f"min_bid is {row.min_bid}: no bid is taken"
        if row.dph_total < row.min_bid:
            return "price_below_floor", f"{row.dph_total} is below the floor of {row.min_bid}"
    return None


def _host_memory_gib(row: _Row) -> float | None:
    """Take the row's share of the machine's memory; None where the cores are not known."""
    if not row.cpu_ram or not row.cpu_cores or not row.cpu_cores_effective:
        return None
    return row.cpu_ram * min(1.0, row.cpu_cores_effective / row.cpu_cores) / _MB_PER_GIB


def _components(row: _Row) -> Components | None:
    """Split a price into GPUs and disk, where the row says so and the parts make sense."""
    base, total = row.dph_base, row.dph_total
    if base is None or total is None or not 0 < base <= total:
        return None
    return Components(gpus_usd=base, disk_usd=total - base)


def _warnings(row: _Row, kind: PriceKind) -> tuple[str, ...]:
    found = [f"other sizes of machine {row.machine_id} are the same GPUs"]
    if kind is PriceKind.SPOT:
        found.append("the least bid that is taken now; whoever bids more stops it")
    if row.storage_cost:
        month = f"{row.storage_cost:.4g} USD for a GB and month"
        found.append(f"disk beyond {DISK_GB} GB costs {month}, while it is stopped too")
    if row.inet_down_cost or row.inet_up_cost:
        down, up = row.inet_down_cost or Decimal(0), row.inet_up_cost or Decimal(0)
        found.append(f"traffic costs {down:.4g} USD a GB in and {up:.4g} USD a GB out")
    if row.duration is not None:
        days = row.duration / 3600 / _HOURS_PER_DAY
        found.append(f"the host ends it in {days:.1f} days")
    return tuple(found)
