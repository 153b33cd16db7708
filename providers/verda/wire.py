"""The replies of Verda's API, as far as they are read."""

from decimal import Decimal

from pydantic import BaseModel, RootModel

from providers.kit.parse import Row


class Token(BaseModel):
    """A token, for an hour."""

    access_token: str


class Gpu(BaseModel):
    """The GPUs of a type, in words and by number."""

    description: str | None = None
    number_of_gpus: int


class Memory(BaseModel):
    """A size."""

    size_in_gigabytes: float


class Cpu(BaseModel):
    """The cores of a type."""

    number_of_cores: float


class Storage(BaseModel):
    """The disk of a type, `dynamic` where it is bought apart."""

    description: str | None = None


class Type(BaseModel):
    """An instance type; prices are of the whole instance and an hour."""

    instance_type: str
    price_per_hour: Decimal | None = None
    spot_price: Decimal | None = None
    currency: str
    gpu: Gpu
    gpu_memory: Memory | None = None
    cpu: Cpu | None = None
    memory: Memory | None = None
    storage: Storage | None = None


class Period(BaseModel):
    """A long term, with its discount in percent."""

    code: str
    is_enabled: bool
    unit_name: str
    unit_value: Decimal
    discount_percentage: Decimal


class Place(BaseModel):
    """What can be started in one location now."""

    location_code: str
    availabilities: list[str]


class Types(RootModel[list[Row[Type]]]):
    """The reply with the types."""


class Periods(RootModel[list[Row[Period]]]):
    """The reply with the long terms."""


class Places(RootModel[list[Row[Place]]]):
    """The reply with the locations."""
