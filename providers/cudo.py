"""CUDO Compute: virtual machines put together from parts, each part with a price of its own.

Wire:    GET https://rest.compute.cudo.org/v1/vms/machine-types, answered with or without a bearer
         token; one page with a row for each machine type of each data centre.
Units:   USD per hour of ONE GPU, ONE vCPU, ONE GiB of memory, ONE GiB of disk and one IPv4 address,
         each a decimal text in `{"value": "1.79"}`.
Kinds:   on demand from the row's own prices; reserved from `prices`, a price list for each
         commitment of 1, 3, 6, 12, 24, 36 or 60 months.
Quirks:  a GPU's price is no machine's: an offer is 1, 2, 4 or 8 GPUs with 12 vCPUs and 24 GiB for
         each, 100 GiB of disk and an address, moved into the limits that the row states, at the sum
         of all of it; where one part has no price, there is no offer. `maxGpuFree` is what one host
         has, `totalGpuFree` what the data centre has. A40 and L40S come in a mode ("A40 (compute
         mode)") as types of their own. CPU types stand in the same list.
Assumed: a commitment is billed as it runs, with nothing upfront: the API does not say; disk and
         address cost the same with and without one.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import httpx
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from broker.domain.offer import (
    Commitment,
    Components,
    Limits,
    Offer,
    Payment,
    PriceKind,
    Quote,
    Rejection,
    Virtualization,
)
from broker.specs.load import Specs, Unresolved
from providers.kit.access import API_KEY, Access
from providers.kit.adapter import provenance
from providers.kit.doors import place_near
from providers.kit.duplicates import cheapest
from providers.kit.parse import Row, Unreadable, parse

URL = "https://rest.compute.cudo.org/v1/vms/machine-types"
GPU_COUNTS = (1, 2, 4, 8)
VCPUS_PER_GPU = 12
GIB_PER_GPU = 24
"""With two GiB for each vCPU, as this cloud's prices are published."""
DISK_GIB = 100

_GB_PER_GIB = 2**30 / 10**9
_MONTHS = {
    f"COMMITMENT_TERM_{months}_MONTH{'' if months == 1 else 'S'}": months
    for months in (1, 3, 6, 12, 24, 36, 60)
}
_NO_TERM = "COMMITMENT_TERM_NONE"


class _Wire(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)


class _Money(BaseModel):
    value: Decimal


class _Prices(_Wire):
    gpu_price_hr: _Money | None = None
    vcpu_price_hr: _Money | None = None
    memory_gib_price_hr: _Money | None = None


class _TermPrices(_Prices):
    commitment_term: str


class _Type(_Prices):
    data_center_id: str
    machine_type: str
    gpu_model: str = ""
    min_storage_gib_price_hr: _Money | None = None
    ipv4_price_hr: _Money | None = None
    min_vcpu: float | None = None
    min_memory_gib: float | None = None
    min_vcpu_per_gpu: float | None = None
    max_vcpu_per_gpu: float | None = None
    min_vcpu_per_memory_gib: float | None = None
    max_vcpu_per_memory_gib: float | None = None
    max_vcpu_free: int | None = None
    max_memory_gib_free: int | None = None
    max_gpu_free: int | None = None
    total_gpu_free: int | None = None
    max_storage_gib_free: int | None = None
    prices: list[Row[_TermPrices]] | None = None


class _Reply(_Wire):
    machine_types: list[Row[_Type]]


@dataclass(frozen=True, slots=True)
class _Size:
    """What an offer is made of."""

    gpus: int
    vcpus: int
    memory_gib: int


class CudoCompute:
    """Adapter for CUDO Compute's virtual machines."""

    name = "cudo"
    keys: tuple[str, ...] = (API_KEY,)

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Ask for the single page."""
        yield http.get(URL, headers=self._access.bearer())

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each machine type, size and commitment."""
        for reply in replies:
            rows = parse(_Reply, reply).machine_types
            yield from cheapest(one for row in rows for one in self._offers(row, reply))

    def _offers(
        self, row: _Type | Unreadable, reply: httpx.Response
    ) -> Iterator[Offer | Rejection]:
        if isinstance(row, Unreadable):
            yield self._rejection("a machine type", row.reason, row.detail)
            return
        subject = f"{row.machine_type} in {row.data_center_id}"
        if not row.gpu_model:
            yield self._rejection(subject, "not_a_gpu", "the type names no GPU")
            return
        gpu = self._specs.resolve_gpu(row.gpu_model, provider=self.name)
        if isinstance(gpu, Unresolved):
            yield self._rejection(subject, gpu.reason, gpu.detail)
            return
        sizes = tuple(_sizes(row))
        if not sizes:
            yield self._rejection(subject, "no_capacity", f"{row.max_gpu_free} GPUs are free")
            return
        yield from self._of_sizes(row, gpu, sizes, subject=subject, reply=reply)

    def _of_sizes(
        self, row: _Type, gpu: str, sizes: tuple[_Size, ...], *, subject: str, reply: httpx.Response
    ) -> Iterator[Offer | Rejection]:
        """Price every size, on demand and with each commitment."""
        for prices in _price_lists(row):
            if isinstance(prices, Unreadable):
                yield self._rejection(f"{subject}, a commitment", prices.reason, prices.detail)
            elif why := _unpriced(row, prices):
                yield self._rejection(subject, *why)
            else:
                for size in sizes:
                    yield self._offer(row, gpu, size, prices, reply=reply)

    def _offer(
        self, row: _Type, gpu: str, size: _Size, prices: _Prices, *, reply: httpx.Response
    ) -> Offer:
        parts = _parts(row, prices, size)
        usd_per_hour = parts.gpus_usd + parts.host_usd + parts.disk_usd
        months = _MONTHS[prices.commitment_term] if isinstance(prices, _TermPrices) else None
        name = f"{row.machine_type}_{size.gpus}x{size.vcpus}v{size.memory_gib}gb"
        free = row.total_gpu_free if row.total_gpu_free is not None else row.max_gpu_free
        return Offer(
            provider=self.name,
            instance_type=name,
            place=place_near(self._specs, self.name, row.data_center_id, _country(row)),
            price_kind=PriceKind.RESERVED if months else PriceKind.ON_DEMAND,
            hardware=self._specs.hardware(
                self.name,
                name,
                gpu=gpu,
                gpu_count=Fraction(size.gpus),
                vcpus=size.vcpus,
                host_memory_gib=size.memory_gib,
                local_disk_gb=DISK_GIB * _GB_PER_GIB,
                virtualization=Virtualization.VM,
            ),
            usd_per_hour=usd_per_hour,
            quote=Quote(amount=usd_per_hour, currency="USD"),
            provenance=provenance(reply),
            components=parts,
            commitment=(
                Commitment(term_months=months, payment=Payment.NO_UPFRONT) if months else None
            ),
            limits=Limits(
                stock_pool=f"{self.name}/{row.data_center_id}/{row.machine_type}", stock_gpus=free
            ),
            warnings=(_other_sizes(row, prices),),
        )

    def _rejection(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def _country(row: _Type) -> str:
    """Read the country off a data centre's id: GB of gb-bournemouth-1."""
    return row.data_center_id.partition("-")[0].upper()


def _sizes(row: _Type) -> Iterator[_Size]:
    """Give the sizes that one host has free now, within the limits of the type."""
    for gpus in GPU_COUNTS:
        size = _size(row, gpus)
        if (
            gpus <= (row.max_gpu_free or 0)
            and _least(row.min_vcpu) <= size.vcpus <= gpus * (row.max_vcpu_per_gpu or math.inf)
            and _is_free(size.vcpus, row.max_vcpu_free)
            and _is_free(size.memory_gib, row.max_memory_gib_free)
            and _is_free(DISK_GIB, row.max_storage_gib_free)
        ):
            yield size


def _size(row: _Type, gpus: int) -> _Size:
    """Move the usual size of so many GPUs into the limits of the type, as far as they allow it."""
    least_gib = _least(row.min_memory_gib)
    vcpus = max(_least(row.min_vcpu), gpus * VCPUS_PER_GPU)
    vcpus = max(vcpus, math.ceil(gpus * (row.min_vcpu_per_gpu or 0)))
    if row.max_vcpu_per_gpu:
        vcpus = min(vcpus, int(gpus * row.max_vcpu_per_gpu))
    memory_gib = max(least_gib, gpus * GIB_PER_GPU)
    if row.max_vcpu_per_memory_gib:
        memory_gib = max(memory_gib, math.ceil(vcpus / row.max_vcpu_per_memory_gib))
    if row.min_vcpu_per_memory_gib:
        memory_gib = max(least_gib, min(memory_gib, int(vcpus / row.min_vcpu_per_memory_gib)))
        vcpus = max(vcpus, math.ceil(memory_gib * row.min_vcpu_per_memory_gib))
    return _Size(gpus, vcpus, memory_gib)


def _least(stated: float | None) -> int:
    return math.ceil(stated or 1)


def _is_free(wanted: int, free: int | None) -> bool:
    return free is None or wanted <= free


def _price_lists(row: _Type) -> Iterator[_Prices | Unreadable]:
    """Give the row's own prices, then those of its commitments."""
    yield row
    for term in row.prices or ():
        if isinstance(term, Unreadable) or term.commitment_term != _NO_TERM:
            yield term


def _unpriced(row: _Type, prices: _Prices) -> tuple[str, str] | None:
    """Say why a price list prices no machine: reason and detail."""
    if isinstance(prices, _TermPrices) and prices.commitment_term not in _MONTHS:
        return "unknown_term", f"no number of months is known of {prices.commitment_term!r}"
    parts = {
        "a GPU": prices.gpu_price_hr,
        "a vCPU": prices.vcpu_price_hr,
        "memory": prices.memory_gib_price_hr,
        "disk": row.min_storage_gib_price_hr,
        "an address": row.ipv4_price_hr,
    }
    missing = [name for name, price in parts.items() if price is None or price.value <= 0]
    return ("no_price", f"no price of {', '.join(missing)}") if missing else None


def _parts(row: _Type, prices: _Prices, size: _Size) -> Components:
    """Price the parts of a size; `_unpriced` has seen to it that all have prices."""
    return Components(
        gpus_usd=size.gpus * _usd(prices.gpu_price_hr),
        host_usd=size.vcpus * _usd(prices.vcpu_price_hr)
        + size.memory_gib * _usd(prices.memory_gib_price_hr)
        + _usd(row.ipv4_price_hr),
        disk_usd=DISK_GIB * _usd(row.min_storage_gib_price_hr),
    )


def _usd(price: _Money | None) -> Decimal:
    return price.value if price else Decimal(0)


def _other_sizes(row: _Type, prices: _Prices) -> str:
    """Say what more costs, as the size is our choice."""
    return (
        f"more is sold apart, per hour: {_usd(prices.vcpu_price_hr)} USD a vCPU, "
        f"{_usd(prices.memory_gib_price_hr)} USD a GiB of memory, "
        f"{_usd(row.min_storage_gib_price_hr)} USD a GiB of disk"
    )
