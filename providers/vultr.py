"""Vultr: two public lists, of virtual machines and of bare metal, each priced for the whole plan.

Wire:  GET https://api.vultr.com/v2/plans?type=all and /plans-metal, 500 rows a page; the next page
       has the cursor in `meta.links.next`, which is empty on the last one. No key.
Units: USD per hour of the whole plan; `ram` in MB (2^20 bytes), `disk` in GB of one of
       `disk_count` disks, `gpu_vram_gb` of all GPUs of the plan together.
Kinds: on demand where `deploy_ondemand` is set, spot (preemptible) where `deploy_preemptible` is;
       both prices stand in every row, whether they can be bought or not. The monthly figure is
       what a month costs at most, no commitment, and is not read: the hour stays the upper bound.
Quirks: a plan may be a slice of a GPU, whose `gpu_count` is a text such as "1/20"; dedicated plans
       (`type` vdm) have no GPU fields, their GPUs are those of the table of instance types;
       `vbm-64c-2048gb-8-l40-gpu` holds L40S; `vcg-mi325x-252c-2872g-1536vram` states 1536 GB, six
       GPUs or eight, and is refused; `NVIDIA_A100` is a PCIe card or an SXM board, and is refused
       where no table says which; `locations` shrinks with the stock, may be empty, and may hold an
       empty text; `location_cost` overrides the price of a region; a free plan costs 0.
Assumed: a row without the flags is sold on demand, as older replies had none.
Missing: the stock of dedicated plans that only an account sees, region by region.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction

import httpx
from pydantic import BaseModel

from broker.domain.offer import (
    Hardware,
    Offer,
    PriceKind,
    Quote,
    Rejection,
    SpotTerms,
    Virtualization,
)
from broker.specs.load import NodeFacts, Specs, Unresolved
from providers.kit.access import Access
from providers.kit.adapter import provenance
from providers.kit.gpus import gpu_of
from providers.kit.parse import Row, Unreadable, parse

PLANS = "https://api.vultr.com/v2/plans"
PLANS_METAL = "https://api.vultr.com/v2/plans-metal"
PAGE_ROWS = 500

_MB_PER_GIB = 1024
_NO_GPU = ("", "none")


class _Cost(BaseModel):
    hourly_cost: Decimal | None = None
    hourly_cost_preemptible: Decimal | None = None


class _Plan(_Cost):
    id: str
    vcpu_count: float | None = None
    cpu_threads: float | None = None
    ram: float | None = None
    disk: float | None = None
    disk_count: int | None = None
    locations: list[str]
    deploy_ondemand: bool | None = None
    deploy_preemptible: bool | None = None
    gpu_brand: str | None = None
    gpu_type: str | None = None
    gpu_count: int | str | None = None
    gpu_vram_gb: float | None = None

    def cost(self, location: str) -> _Cost:
        """Give what it costs in one location; bare metal has one price everywhere."""
        del location
        return self


class _CloudPlan(_Plan):
    location_cost: dict[str, _Cost]

    def cost(self, location: str) -> _Cost:
        """Give what it costs in one location, the base price where there is no other."""
        return self.location_cost.get(location, self)


class _Links(BaseModel):
    next: str


class _Meta(BaseModel):
    links: _Links


class _Page(BaseModel):
    meta: _Meta


class _CloudPage(_Page):
    plans: list[Row[_CloudPlan]]


class _MetalPage(_Page):
    plans_metal: list[Row[_Plan]]


class Vultr:
    """Adapter for Vultr's public lists of plans."""

    name = "vultr"
    keys: tuple[str, ...] = ()

    def __init__(self, specs: Specs, access: Access) -> None:
        del access  # the lists are public
        self._specs = specs

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Ask for every page of both lists."""
        for url, kind in ((PLANS, {"type": "all"}), (PLANS_METAL, {})):
            cursor: dict[str, str] = {}
            while True:
                rows = {"per_page": str(PAGE_ROWS)}
                reply = http.get(url, params={**kind, **rows, **cursor})
                yield reply
                following = parse(_Page, reply).meta.links.next
                if not following or following == cursor.get("cursor"):
                    break
                cursor = {"cursor": following}

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each way to buy a GPU plan in each location that has it."""
        for reply in replies:
            for plan in _plans(reply):
                if isinstance(plan, Unreadable):
                    yield self._rejection("a plan", plan.reason, plan.detail)
                else:
                    yield from self._offers(plan, reply)

    def _offers(self, plan: _Plan, reply: httpx.Response) -> Iterator[Offer | Rejection]:
        hardware = self._hardware(plan)
        if isinstance(hardware, Unresolved):
            yield self._rejection(plan.id, hardware.reason, hardware.detail)
            return
        if not plan.locations:
            yield self._rejection(plan.id, "no_capacity", "no location has it now")
        for location in plan.locations:
            if not location.strip():
                yield self._rejection(plan.id, "no_region", "a location without a name")
                continue
            for kind in _kinds(plan):
                yield self._priced(plan, location, kind, hardware=hardware, reply=reply)

    def _priced(
        self,
        plan: _Plan,
        location: str,
        kind: PriceKind,
        *,
        hardware: Hardware,
        reply: httpx.Response,
    ) -> Offer | Rejection:
        cost, spot = plan.cost(location), kind is PriceKind.SPOT
        usd_per_hour = cost.hourly_cost_preemptible if spot else cost.hourly_cost
        if not usd_per_hour or usd_per_hour < 0:
            return self._rejection(f"{plan.id}/{location}", "no_price", f"{kind} {usd_per_hour}")
        return Offer(
            provider=self.name,
            instance_type=plan.id,
            place=self._specs.place(self.name, location),
            price_kind=kind,
            hardware=hardware,
            usd_per_hour=usd_per_hour,
            quote=Quote(amount=usd_per_hour, currency="USD"),
            provenance=provenance(reply),
            spot=SpotTerms() if spot else None,
            warnings=_warnings(hardware.shape.gpu_count),
        )

    def _hardware(self, plan: _Plan) -> Hardware | Unresolved:
        known = self._specs.node(self.name, plan.id)
        if known is None and _without_gpu(plan):
            return Unresolved("not_a_gpu", f"GPU brand {plan.gpu_brand!r}")
        count = _gpu_count(plan, known)
        if isinstance(count, Unresolved):
            return count
        gpu = gpu_of(
            self._specs,
            [plan.gpu_type or (known.gpu if known else "")],
            known=known,
            gpu_count=count,
            memory_gib=plan.gpu_vram_gb / float(count) if plan.gpu_vram_gb else None,
            provider=self.name,
        )
        if isinstance(gpu, Unresolved):
            return gpu
        bare = plan.id.startswith("vbm-")
        return self._specs.hardware(
            self.name,
            plan.id,
            gpu=gpu,
            gpu_count=count,
            vcpus=plan.vcpu_count or plan.cpu_threads,
            host_memory_gib=plan.ram / _MB_PER_GIB if plan.ram else None,
            local_disk_gb=plan.disk * (plan.disk_count or 1) if plan.disk else None,
            virtualization=Virtualization.BARE_METAL if bare else Virtualization.VM,
        )

    def _rejection(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def _plans(reply: httpx.Response) -> Iterator[_Plan | Unreadable]:
    if reply.request.url.path == httpx.URL(PLANS_METAL).path:
        yield from parse(_MetalPage, reply).plans_metal
    else:
        yield from parse(_CloudPage, reply).plans


def _without_gpu(plan: _Plan) -> bool:
    """Tell a plan that names no GPU in any way; dedicated GPU plans name one in the id alone."""
    named = plan.id.startswith("vcg-") or plan.id.endswith("-gpu")
    return not named and not plan.gpu_type and (plan.gpu_brand or "").lower() in _NO_GPU


def _gpu_count(plan: _Plan, known: NodeFacts | None) -> Fraction | Unresolved:
    """Take the count from the row, which may be a part of one, else from the type's table."""
    if plan.gpu_count is None:
        if known:
            return known.gpu_count
        return Unresolved("unknown_instance_type", f"{plan.gpu_type}: no GPU count stated or known")
    try:
        stated = Fraction(plan.gpu_count)
    except (ValueError, ZeroDivisionError):
        stated = Fraction(0)
    if stated <= 0:
        return Unresolved("unreadable_row", f"GPU count {plan.gpu_count!r}")
    return stated


def _kinds(plan: _Plan) -> Iterator[PriceKind]:
    if plan.deploy_ondemand is not False:
        yield PriceKind.ON_DEMAND
    if plan.deploy_preemptible:
        yield PriceKind.SPOT


def _warnings(gpu_count: Fraction) -> tuple[str, ...]:
    if gpu_count >= 1:
        return ()
    return (f"{gpu_count} of a GPU (vGPU): needs the guest driver of the provider's images",)
