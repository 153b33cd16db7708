"""The rows of Prime Intellect's list, and what they say of price and name."""

import re
from decimal import Decimal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from broker.domain.offer import Components, PriceKind
from broker.domain.quantities import quantize_usd
from providers.kit.parse import Row

_SPOT = "_SPOT"
_MEMORY = re.compile(r"_(\d+)GB$")


class _Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)


class Part(_Camel):
    """CPU, memory or disk of a machine."""

    default_count: Decimal | None = None
    price_per_unit: Decimal | None = None
    default_included_in_price: bool | None = None

    @property
    def count(self) -> float | None:
        """Give how much of it a machine has."""
        return None if self.default_count is None else float(self.default_count)

    @property
    def extra_usd(self) -> Decimal:
        """Give what the default costs beside the price, in dollars per hour."""
        if self.default_included_in_price or not (self.default_count and self.price_per_unit):
            return Decimal(0)
        return quantize_usd(self.default_count * self.price_per_unit)


class Prices(_Camel):
    """What a machine costs an hour."""

    on_demand: Decimal | None = None
    community_price: Decimal | None = None
    is_variable: bool | None = None
    currency: str


class Machine(_Camel):
    """A machine of one seller in one place."""

    cloud_id: str
    gpu_type: str
    socket: str | None = None
    provider: str
    data_center: str | None = None
    country: str | None = None
    gpu_count: int
    disk: Part | None = None
    vcpu: Part | None = None
    memory: Part | None = None
    stock_status: str | None = None
    security: str | None = None
    prices: Prices
    is_spot: bool | None  # null says no; a row without it is of another form
    prepaid_time: int | None = None

    @property
    def cloud_type(self) -> str:
        """Give the cloud's own name of the type, the same for spot."""
        return self.cloud_id.removesuffix(_SPOT)

    @property
    def name(self) -> str:
        """Name the type as nobody else does: the seller, the GPUs, the cloud's own name."""
        return f"{self.provider}__{self.gpu_count}x__{self.cloud_type}"

    @property
    def kind(self) -> PriceKind:
        """Say how it is bought."""
        is_spot = self.is_spot or self.cloud_id.endswith(_SPOT)
        return PriceKind.SPOT if is_spot else PriceKind.ON_DEMAND

    @property
    def is_pod(self) -> bool:
        """Say whether it is one of RunPod's, which differ in name, price and virtualization."""
        return self.provider == "runpod"

    @property
    def gpu_memory_gb(self) -> float | None:
        """Read the memory of one GPU off its model (A100_80GB)."""
        named = _MEMORY.search(self.gpu_type)
        return float(named[1]) if named else None

    @property
    def components(self) -> Components:
        """Give the price without the noise of floats, and what the defaults cost beside it."""
        community = self.prices.community_price
        price = self.prices.on_demand if community is None else community
        host = sum((part.extra_usd for part in (self.vcpu, self.memory) if part), Decimal(0))
        disk = self.disk.extra_usd if self.disk and not self.is_pod else Decimal(0)
        gpus = max(price or Decimal(0), Decimal(0))
        return Components(gpus_usd=gpus, host_usd=host, disk_usd=disk)


class Page(_Camel):
    """One page of the list."""

    items: list[Row[Machine]]
    total_count: int = Field(ge=0)
