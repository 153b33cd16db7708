"""Lambda: one call lists every instance type, its price and the regions that have it.

Wire:  GET https://cloud.lambda.ai/api/v1/instance-types, bearer token; `data` is a map by type.
Units: price in US cents per hour of the whole instance, memory and storage in GiB.
Kinds: on demand only.
Quirks: a type without stock lists no regions, so it yields no offer; the form of a GPU stands in
       the description or only in the type's name (`gpu_1x_a100` is a PCIe card,
       `gpu_1x_a100_sxm4` is not); CPU types stand in the same map.
"""

import re
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
    Virtualization,
)
from broker.specs.load import NodeFacts, Specs, Unresolved
from providers.kit.access import Access
from providers.kit.adapter import provenance
from providers.kit.parse import Row, Unreadable, parse

URL = "https://cloud.lambda.ai/api/v1/instance-types"
_CENTS = Decimal("0.01")
_GB_PER_GIB = 2**30 / 10**9
_DESCRIPTION = re.compile(r"(?P<model>.+?)\s*\((?P<gb>\d+) GB(?:\s+(?P<form>\w+))?\)")
_FORM = re.compile(r"_(?P<form>sxm\d?|pcie|nvl)$")


class _Resources(BaseModel):
    gpus: int
    vcpus: float | None = None
    memory_gib: float | None = None
    storage_gib: float | None = None


class _InstanceType(BaseModel):
    name: str
    gpu_description: str = ""
    price_cents_per_hour: Decimal | None = None
    architecture: str | None = None
    specs: _Resources


class _Region(BaseModel):
    name: str


class _Entry(BaseModel):
    instance_type: _InstanceType
    regions_with_capacity_available: list[_Region]


class _Reply(BaseModel):
    data: dict[str, Row[_Entry]]


class LambdaCloud:
    """Adapter for Lambda's public cloud."""

    name = "lambda"
    keys: tuple[str, ...] = ("api_key",)

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Ask for the single page."""
        headers = self._access.bearer()
        yield http.get(URL, headers=headers)

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make one offer for each instance type and region with stock."""
        for reply in replies:
            for name, entry in parse(_Reply, reply).data.items():
                if isinstance(entry, Unreadable):
                    yield self._rejection(name, entry.reason, entry.detail)
                else:
                    yield from self._offers(entry, reply)

    def _offers(self, entry: _Entry, reply: httpx.Response) -> Iterator[Offer | Rejection]:
        kind = entry.instance_type
        hardware = self._hardware(kind)
        if isinstance(hardware, Rejection):
            yield hardware
            return
        if not kind.price_cents_per_hour or kind.price_cents_per_hour < 0:
            yield self._rejection(kind.name, "no_price", f"{kind.price_cents_per_hour} cents")
            return
        if not entry.regions_with_capacity_available:
            yield self._rejection(kind.name, "no_capacity", "no region has it now")
            return
        usd_per_hour = kind.price_cents_per_hour * _CENTS
        for region in entry.regions_with_capacity_available:
            yield Offer(
                provider=self.name,
                instance_type=kind.name,
                place=self._specs.place(self.name, region.name),
                price_kind=PriceKind.ON_DEMAND,
                hardware=hardware,
                usd_per_hour=usd_per_hour,
                quote=Quote(amount=usd_per_hour, currency="USD"),
                provenance=provenance(reply),
            )

    def _hardware(self, kind: _InstanceType) -> Hardware | Rejection:
        if kind.specs.gpus < 1:
            return self._rejection(kind.name, "not_a_gpu", f"{kind.specs.gpus} GPUs")
        known = self._specs.node(self.name, kind.name)
        gpu = self._gpu(kind, known)
        if isinstance(gpu, Unresolved):
            return self._rejection(kind.name, gpu.reason, gpu.detail)
        if known and known.gpu_count != kind.specs.gpus:
            detail = f"{kind.specs.gpus} GPUs stated, the type is known to have {known.gpu_count}"
            return self._rejection(kind.name, "contradicts_known_type", detail)
        disk_gib = kind.specs.storage_gib
        hardware = self._specs.hardware(
            self.name,
            kind.name,
            gpu=gpu,
            gpu_count=Fraction(kind.specs.gpus),
            vcpus=kind.specs.vcpus,
            host_memory_gib=kind.specs.memory_gib,
            local_disk_gb=None if disk_gib is None else disk_gib * _GB_PER_GIB,
            virtualization=Virtualization.VM,
        )
        if kind.architecture:
            return hardware.model_copy(update={"cpu_architecture": kind.architecture})
        return hardware

    def _gpu(self, kind: _InstanceType, known: NodeFacts | None) -> str | Unresolved:
        """Take the model from the type's table, else from its description and its name."""
        if known:
            return known.gpu
        described = _DESCRIPTION.fullmatch(kind.gpu_description)
        memory_gib = float(described["gb"]) if described else None
        form = _form(kind, described)
        best = Unresolved("unknown_gpu", f"{kind.name!r}: {kind.gpu_description!r}")
        for spelling in _spellings(kind, described, form):
            found = self._specs.resolve_gpu(spelling, memory_gib=memory_gib, provider=self.name)
            if isinstance(found, Unresolved):
                best = found if found.reason != "unknown_gpu" else best
            elif form in ("", self._specs.gpu(found).form.lower()):
                return found
        return best

    def _rejection(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def _form(kind: _InstanceType, described: re.Match[str] | None) -> str:
    """Read sxm, pcie or nvl from the description or the type's name; empty if neither says."""
    suffix = _FORM.search(kind.name)
    stated = (described and described["form"]) or (suffix and suffix["form"]) or ""
    return stated.lower().rstrip("0123456789")


def _spellings(kind: _InstanceType, described: re.Match[str] | None, form: str) -> Iterator[str]:
    """Name the GPU in the ways it may be known, the most exact first."""
    yield kind.name
    if described and form:
        yield f"{described['model']} {form}"
    if described:
        yield described["model"]
