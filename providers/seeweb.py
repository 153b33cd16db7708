"""Seeweb (Cloud Server GPU, Italy): two lists, of what can be had where, and of plans with prices.

Wire:  GET https://api.seeweb.it/ecs/v2/plans/availables, the hosts with room by plan and region;
       GET https://api.seeweb.it/ecs/v2/plans, all plans. The key goes as `X-APITOKEN`. Neither
       list has pages.
Units: EUR per hour of the whole server, before tax, in dollars at the rate of the day (the quote
       is kept); `cpu`, `ram` (MB of 2^20 bytes), `disk` (GB) and `gpu` are numbers in texts.
Kinds: on demand only. The monthly price (`montly_price`, spelt so) is what a month of hours costs,
       no commitment, and is not read; longer terms are in no list.
Quirks: `available` says that a plan is sold at all, not that there is room: a plan that the list of
       hosts does not name is shown without stock; `gpu_label` is the card with its memory, or
       "none" beside `gpu` "0"; a plan may stand in no region, whose id begins with its country.
       H100, H200 and A100 are given without a form and are refused. Tenstorrent cards are in no
       table.
Assumed: a region in `available_regions` has the plan at the same price as every other.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction

import httpx
from pydantic import BaseModel

from broker.domain.offer import Hardware, Limits, Offer, PriceKind, Rejection, Virtualization
from broker.specs.load import Specs, Unresolved
from providers.kit.access import Access
from providers.kit.adapter import provenance
from providers.kit.currency import Rates, in_usd
from providers.kit.doors import place_near
from providers.kit.parse import Row, Unreadable, parse

PLANS = "https://api.seeweb.it/ecs/v2/plans"
AVAILABLES = "https://api.seeweb.it/ecs/v2/plans/availables"

_MB_PER_GIB = 1024


class _Region(BaseModel):
    location: str


class _Plan(BaseModel):
    name: str
    cpu: float | None = None
    ram: float | None = None
    disk: float | None = None
    gpu: int | None = None
    gpu_label: str | None = None
    hourly_price: Decimal | None = None
    windows: bool = False
    available: bool
    available_regions: list[Row[_Region]] | None


class _Plans(BaseModel):
    plans: list[Row[_Plan]]


class _Room(BaseModel):
    region: str
    hosts: list[object]


class _PlanWithRoom(BaseModel):
    name: str
    region_availables: list[Row[_Room]]


class _Availables(BaseModel):
    plans: list[Row[_PlanWithRoom]]


class Seeweb:
    """Adapter for Seeweb's plans of cloud servers with GPUs."""

    name = "seeweb"
    keys: tuple[str, ...] = ("api_key",)

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Ask for the plans with room, then for all plans."""
        for url in (AVAILABLES, PLANS):
            yield http.get(url, headers=self._access.header("X-APITOKEN"))

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each GPU plan in each of its regions; the list of room comes first."""
        rates, room = Rates(), set[tuple[str, str]]()
        for reply in replies:
            if reply.request.url.path == httpx.URL(AVAILABLES).path:
                room |= _with_room(reply)
                continue
            for plan in parse(_Plans, reply).plans:
                if isinstance(plan, Unreadable):
                    yield self._rejection("a plan", plan.reason, plan.detail)
                else:
                    yield from self._offers(plan, room, reply=reply, rates=rates)

    def _offers(
        self, plan: _Plan, room: set[tuple[str, str]], *, reply: httpx.Response, rates: Rates
    ) -> Iterator[Offer | Rejection]:
        stamps, price = provenance(reply), plan.hourly_price
        hardware = self._hardware(plan)
        if isinstance(hardware, Unresolved):
            yield self._rejection(plan.name, hardware.reason, hardware.detail)
            return
        quote = (
            rates.quote(price, "EUR", stamps.observed_at.date()) if price and price > 0 else None
        )
        if quote is None:
            yield self._rejection(plan.name, "no_price", f"EUR {price} an hour")
            return
        regions = _regions(plan)
        if not regions:
            yield self._rejection(plan.name, "no_region", "the plan stands in no region")
        for region in regions:
            free = (plan.name, region) in room
            yield Offer(
                provider=self.name,
                instance_type=plan.name,
                place=place_near(self._specs, self.name, region, region.partition("-")[0].upper()),
                price_kind=PriceKind.ON_DEMAND,
                hardware=hardware,
                usd_per_hour=in_usd(quote),
                quote=quote,
                provenance=stamps,
                limits=Limits(
                    stock_level="available" if free else "unavailable",
                    stock_nodes=None if free else 0,
                ),
            )

    def _hardware(self, plan: _Plan) -> Hardware | Unresolved:
        label = (plan.gpu_label or "").strip()
        if not plan.gpu or plan.gpu < 0:
            return Unresolved("not_a_gpu", f"{plan.gpu} GPUs")
        if plan.windows:
            return Unresolved("windows", "the price has a Windows licence in it")
        if not plan.available:
            return Unresolved("not_sold", "the plan is not sold any more")
        gpu = self._specs.resolve_gpu(label, provider=self.name)
        if isinstance(gpu, Unresolved):
            return gpu
        return self._specs.hardware(
            self.name,
            plan.name,
            gpu=gpu,
            gpu_count=Fraction(plan.gpu),
            vcpus=plan.cpu,
            host_memory_gib=plan.ram / _MB_PER_GIB if plan.ram else None,
            local_disk_gb=plan.disk or None,
            virtualization=Virtualization.VM,
        )

    def _rejection(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def _regions(plan: _Plan) -> tuple[str, ...]:
    """List the codes of a plan's regions, each once; an entry without a code names no place."""
    entries = plan.available_regions or ()
    return tuple(dict.fromkeys(one.location for one in entries if isinstance(one, _Region)))


def _with_room(reply: httpx.Response) -> set[tuple[str, str]]:
    """Collect plan and region of every host that has room for a server."""
    return {
        (plan.name, room.region)
        for plan in parse(_Availables, reply).plans
        if isinstance(plan, _PlanWithRoom)
        for room in plan.region_availables
        if isinstance(room, _Room) and room.hosts
    }
