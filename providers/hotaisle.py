"""Hot Aisle: AMD machines of one site, as virtual machines and as bare metal, that are free now.

Wire:    GET https://admin.hotaisle.app/api/user/ names the teams of the key, then for one of them
         .../teams/{handle}/virtual_machines/available/ and .../bare_metal/available/; header
         `Authorization: Token <key>`; nothing without a key, no pages. Each answer is a bare list,
         or null when nothing is free.
Units:   US cents per hour of the whole machine, as an integer or a string; RAM and disk in bytes.
Kinds:   on demand, billed by the minute. A machine that is sold for a month or longer at the least
         is a reservation of that many months, as its hourly price alone would hide the rest.
Quirks:  types have no names, so they get one of kind, GPU, count and cores; the memory of a GPU is
         not said; being listed is being in stock; sizes of virtual machines are parts of the same
         hosts, so together they count as no more GPUs than the largest of them has.
Assumed: the first team that the key has joined sees what the others see; there is one site.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Annotated

import httpx
from pydantic import BaseModel, ConfigDict, Field, RootModel
from pydantic.alias_generators import to_pascal

from broker.domain.errors import ProviderError
from broker.domain.offer import (
    Billing,
    Commitment,
    Hardware,
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
from providers.kit.duplicates import cheapest
from providers.kit.parse import Row, Unreadable, parse

API = "https://admin.hotaisle.app/api"
SITE = "us-michigan-1"
KINDS = ("virtual_machines", "bare_metal")

_CENTS = Decimal("0.01")
_BYTES_PER_GIB = 2**30
_BYTES_PER_GB = 10**9
_MINUTES_PER_HOUR = 60
_SHORTEST_MONTH_DAYS, _LONGEST_MONTH_DAYS = 28, 31
_HOURS_PER_DAY = 24
_BILLING_STEP_S = 60.0


class _Team(BaseModel):
    handle: str
    invitation: bool = False


class _User(BaseModel):
    teams: list[_Team]


class _Gpu(BaseModel):
    count: int
    model: str


class _Machine(BaseModel):
    cpu_cores: int | None = None
    ram_capacity: int | None = None
    disk_capacity: int | None = None
    gpus: list[_Gpu] | None = None


class _Free(BaseModel):
    model_config = ConfigDict(alias_generator=to_pascal)

    on_demand_price: Decimal | None = None
    quantity: Annotated[int, Field(ge=0)] | None = None
    minimum_reservation_minutes: float | None = None
    specs: _Machine


class _Reply(RootModel[list[Row[_Free]] | None]):
    pass


class HotAisle:
    """Adapter for Hot Aisle's machines."""

    name = "hotaisle"
    keys: tuple[str, ...] = (API_KEY,)

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Ask for the teams of the key, then for what one of them can have of each kind.

        Raises:
            ProviderError: the key belongs to no team.
        """
        headers = self._headers()
        teams = parse(_User, http.get(f"{API}/user/", headers=headers)).teams
        joined = [team.handle for team in teams if not team.invitation]
        if not joined:
            raise ProviderError(
                "Hot Aisle's key belongs to no team, and machines are listed for a team",
                hint="create a team at Hot Aisle, or give its key to gpubroker",
            )
        for kind in KINDS:
            yield http.get(f"{API}/teams/{joined[0]}/{kind}/available/", headers=headers)

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each machine that is free."""
        for reply in replies:
            rows = parse(_Reply, reply).root or []
            is_metal = KINDS[1] in reply.request.url.path
            pool_gpus = None if is_metal else _largest(rows)
            yield from cheapest(
                self._offer(row, is_metal=is_metal, pool_gpus=pool_gpus, reply=reply)
                for row in rows
            )

    def _headers(self) -> dict[str, str]:
        key = self._access.key()
        return {"Authorization": f"Token {key.get_secret_value()}"} if key else {}

    def _offer(
        self,
        row: _Free | Unreadable,
        *,
        is_metal: bool,
        pool_gpus: int | None,
        reply: httpx.Response,
    ) -> Offer | Rejection:
        if isinstance(row, Unreadable):
            return self._rejection("a machine", row.reason, row.detail)
        gpus = row.specs.gpus or []
        name = _type_name(row, is_metal=is_metal)
        if len(gpus) != 1 or gpus[0].count < 1:
            return self._rejection(name, "not_a_gpu", f"its GPUs are {gpus}")
        if row.quantity == 0:
            return self._rejection(name, "no_capacity", "none is free")
        if not row.on_demand_price or row.on_demand_price < 0:
            return self._rejection(name, "no_price", f"{row.on_demand_price} cents")
        gpu = self._specs.resolve_gpu(gpus[0].model, provider=self.name)
        if isinstance(gpu, Unresolved):
            return self._rejection(name, gpu.reason, gpu.detail)
        hardware = self._hardware(name, gpu, gpus[0].count, row.specs, is_metal=is_metal)
        return self._priced(row, name, hardware, pool_gpus=pool_gpus, reply=reply)

    def _priced(
        self,
        row: _Free,
        name: str,
        hardware: Hardware,
        *,
        pool_gpus: int | None,
        reply: httpx.Response,
    ) -> Offer:
        usd_per_hour = (row.on_demand_price or Decimal(0)) * _CENTS  # _offer has seen to it
        minimum_h = (row.minimum_reservation_minutes or 0) / _MINUTES_PER_HOUR
        months = _months(minimum_h)
        kind = PriceKind.RESERVED if months else PriceKind.ON_DEMAND
        return Offer(
            provider=self.name,
            instance_type=name,
            place=self._specs.place(self.name, SITE),
            price_kind=kind,
            hardware=hardware,
            usd_per_hour=usd_per_hour,
            quote=Quote(amount=usd_per_hour, currency="USD"),
            provenance=provenance(reply),
            billing=Billing(minimum_h=minimum_h or None, step_s=_BILLING_STEP_S),
            commitment=(
                Commitment(term_months=months, payment=Payment.NO_UPFRONT) if months else None
            ),
            limits=Limits(
                stock_nodes=row.quantity,
                max_nodes=row.quantity,
                stock_pool=f"{self.name}/vm" if pool_gpus else "",
                stock_gpus=pool_gpus,
            ),
            warnings=_warnings(minimum_h),
        )

    def _hardware(
        self, name: str, gpu: str, count: int, machine: _Machine, *, is_metal: bool
    ) -> Hardware:
        ram, disk = machine.ram_capacity, machine.disk_capacity
        return self._specs.hardware(
            self.name,
            name,
            gpu=gpu,
            gpu_count=Fraction(count),
            vcpus=machine.cpu_cores,
            host_memory_gib=None if ram is None else ram / _BYTES_PER_GIB,
            local_disk_gb=None if disk is None else disk / _BYTES_PER_GB,
            virtualization=Virtualization.BARE_METAL if is_metal else Virtualization.VM,
        )

    def _rejection(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def _type_name(row: _Free, *, is_metal: bool) -> str:
    """Name a machine as nobody else does: bm-mi300x-8-104c, vm-mi300x-1-13c."""
    sort = "bm" if is_metal else "vm"
    gpus = "-".join(f"{gpu.model.lower()}-{gpu.count}" for gpu in row.specs.gpus or []) or "cpu"
    return f"{sort}-{gpus}-{row.specs.cpu_cores}c"


def _largest(rows: Iterable[_Free | Unreadable]) -> int | None:
    """Count the GPUs that are free for certain: those of the size that has most of them."""
    most = max(
        (
            (row.quantity or 0) * gpu.count
            for row in rows
            if not isinstance(row, Unreadable)
            for gpu in row.specs.gpus or []
        ),
        default=0,
    )
    return most or None


def _warnings(minimum_h: float) -> tuple[str, ...]:
    if minimum_h <= 1:
        return ()
    return (f"each machine is paid for {minimum_h:g} hours at the least",)


def _months(minimum_h: float) -> int:
    """Say for how many months a machine is bound at the least; 0 for less than one."""
    days = minimum_h / _HOURS_PER_DAY
    return ceil(days / _LONGEST_MONTH_DAYS) if days >= _SHORTEST_MONTH_DAYS else 0
