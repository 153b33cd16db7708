"""Numbers with a unit, money that is never a float, and the base class of every value."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import isfinite
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    TypeAdapter,
    WithJsonSchema,
)

MICRO_USD = Decimal("0.000001")
HOURS_PER_MONTH = Decimal(730)
"""Hours of a billing month: the 730 that AWS, Azure and GCP use for monthly prices."""

_DURATION_S = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_ISO_DURATION = TypeAdapter(timedelta)
_SIZE_GB = {"MB": 0.001, "GB": 1.0, "TB": 1000.0, "PB": 1e6}
_MOST_GB = 1e12
"""A thousand million terabytes: more is a slip, and its price beyond what can be counted."""


class Frozen(BaseModel):
    """A value: immutable, strict about types, finite, closed to unknown fields."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


def steady(estimate: float) -> float:
    """Keep nine significant digits of an estimate, the same ones on every machine.

    The last bits of a logarithm or a power depend on the processor's vector instructions, and where
    plans cost the same they would choose between them.
    """
    return float(f"{estimate:.9g}")


Estimate = Annotated[float, AfterValidator(steady)]


def quantize_usd(usd: Decimal) -> Decimal:
    """Round to the micro-dollar, the smallest amount the solver and the store can hold.

    Raises:
        InvalidOperation: they are more than can be counted to the micro-dollar.
    """
    return usd.quantize(MICRO_USD)


def counted_usd(usd: Decimal) -> Decimal:
    """Round what is read to the micro-dollar.

    Raises:
        ValueError: they are more than can be counted to the micro-dollar.
    """
    try:
        return quantize_usd(usd)
    except InvalidOperation as cause:
        raise ValueError(f"{usd} USD is more than can be counted; write less") from cause


def parse_duration(value: object) -> object:
    """Read "12 min", "800 ms", "1h" or "2 d" as a timedelta; leave any other type alone.

    Values are written as ISO 8601 ("PT12M"), which is read too.

    Raises:
        ValueError: the text has no unit, or one that is not ms, s, min, h or d.
    """
    if isinstance(value, str) and value.startswith("P"):
        return _ISO_DURATION.validate_python(value)
    if isinstance(value, str):
        amount, unit = _split_unit(value, _DURATION_S, "a duration such as 12 min or 800 ms")
        try:
            return timedelta(seconds=amount * _DURATION_S[unit])
        except OverflowError as cause:
            raise ValueError(f"{value!r} is longer than time can be counted") from cause
    if isinstance(value, (int, float)):
        message = f"{value!r} has no unit; write a duration such as 12 min or 800 ms"
        raise ValueError(message)  # noqa: TRY004 - pydantic reports value errors only
    return value


def parse_size_gb(value: object) -> object:
    """Read "1.5 TB" as gigabytes (10⁹ bytes); leave numbers alone.

    Raises:
        ValueError: the text has no unit, or one that is not MB, GB, TB or PB.
    """
    if isinstance(value, str):
        amount, unit = _split_unit(value, _SIZE_GB, "a size such as 20 TB or 500 GB")
        return amount * _SIZE_GB[unit]
    return value


def parse_instant(value: object) -> object:
    """Read an ISO date (midnight UTC) or instant; one without a zone is taken as UTC.

    Raises:
        ValueError: it is no ISO date or instant. A number is none: 20261201 would be one in 1970.
    """
    if isinstance(value, (int, float)):
        message = f"{value!r} is no date; write 2026-12-01 or an instant"
        raise ValueError(message)  # noqa: TRY004 - pydantic reports value errors only
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as cause:
            raise ValueError(f"{value!r} is no date; write 2026-12-01 or an instant") from cause
    if isinstance(value, datetime):
        return _in_utc(value)
    if hasattr(value, "timetuple"):  # a date, as YAML gives it
        return datetime.fromisoformat(str(value)).replace(tzinfo=UTC)
    return value


def _in_utc(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        return instant.replace(tzinfo=UTC)
    try:
        return instant.astimezone(UTC)
    except OverflowError as cause:
        raise ValueError(f"{instant} is in no year that can be counted in UTC") from cause


def _split_unit(text: str, units: dict[str, float], expected: str) -> tuple[float, str]:
    stripped = text.strip()
    for unit in sorted(units, key=len, reverse=True):
        number = stripped.removesuffix(unit).strip()
        if number != stripped and _is_number(number):
            return float(number), unit
    raise ValueError(f"{text!r} is not {expected} (units: {', '.join(units)})")


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def _parse_count(value: object) -> object:
    return Fraction(value) if isinstance(value, (str, int)) else value


Usd = Annotated[Decimal, Field(ge=0), AfterValidator(counted_usd)]
"""Dollars, to the micro-dollar."""

SignedUsd = Annotated[Decimal, AfterValidator(counted_usd)]
"""Dollars that may be below zero: savings and differences."""

Gib = Annotated[float, Field(gt=0)]
"""Capacity in GiB (2³⁰ bytes)."""

Share = Annotated[float, Field(ge=0, le=1)]
"""A part of one, never a percentage."""

Duration = Annotated[
    timedelta,
    Field(ge=timedelta(0)),
    BeforeValidator(parse_duration),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^(P.+|[0-9.]+ ?(ms|s|min|h|d))$",
            "examples": ["12 min", "800 ms", "1h"],
        }
    ),
]
"""A length of time; files write it with its unit."""

SizeGb = Annotated[
    float,
    Field(ge=0, le=_MOST_GB),
    BeforeValidator(parse_size_gb),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "string", "pattern": r"^[0-9.]+ ?(MB|GB|TB|PB)$"},
            ],
            "examples": ["20 TB", "500 GB"],
        }
    ),
]
"""A size of data in GB (10⁹ bytes); files write it with its unit."""

Instant = Annotated[
    datetime,
    BeforeValidator(parse_instant),
    WithJsonSchema({"type": "string", "examples": ["2026-12-01", "2026-12-01T06:00:00Z"]}),
]
"""A point in time, aware, UTC; a bare date is its first moment."""

GpuCount = Annotated[
    Fraction,
    BeforeValidator(_parse_count),
    Field(gt=0),
    PlainSerializer(str, return_type=str),
]
"""GPUs of a node: a whole number, or a part of one such as 1/6 of an A10; written as text."""
