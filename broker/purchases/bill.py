"""A provider's bill in the FinOps Open Cost and Usage Specification (FOCUS 1.0 and later), as CSV.

What is read are the four costs, when a charge is of, what it is for, and its tags, by the names of
the specification; other columns are left alone. Costs are exact decimals, and may be negative: a
credit is one. A row that cannot be read ends the reading: a sum that lacks a row is wrong.
"""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

from broker.domain.errors import ConfigurationError

COSTS = ("ListCost", "ContractedCost", "EffectiveCost", "BilledCost")
_NEEDED = (
    *COSTS,
    "BillingCurrency",
    "ChargeCategory",
    "ChargePeriodStart",
    "ChargePeriodEnd",
    "Tags",
)
_CURRENCY = "USD"
_GZIP = b"\x1f\x8b"
_HINT = "correct the row, or export the bill again: FOCUS 1.0 or later, as CSV"


@dataclass(frozen=True, slots=True)
class Costs:
    """The four costs of FOCUS, in dollars: at list, as contracted, in effect, as invoiced."""

    list_usd: Decimal = Decimal(0)
    contracted_usd: Decimal = Decimal(0)
    effective_usd: Decimal = Decimal(0)
    billed_usd: Decimal = Decimal(0)

    def __add__(self, other: "Costs") -> "Costs":
        return Costs(
            self.list_usd + other.list_usd,
            self.contracted_usd + other.contracted_usd,
            self.effective_usd + other.effective_usd,
            self.billed_usd + other.billed_usd,
        )


@dataclass(frozen=True, slots=True)
class BillRow:
    """One charge of a bill; `line` is where it stands in the file, from 1."""

    line: int
    costs: Costs
    category: str
    from_at: datetime
    to_at: datetime
    tags: Mapping[str, str]
    provider: str = ""
    service: str = ""
    resource: str = ""
    commitment: str = ""


def read_bill(content: bytes, name: str) -> tuple[BillRow, ...]:
    """Read the bytes of a file, gzip or not; `name` is that of the file, for errors.

    Raises:
        ConfigurationError: it is no bill, or a row cannot be read; the message has its line.
    """
    reader = csv.DictReader(io.StringIO(_text(content, name), newline=""), strict=True)
    try:
        lacking = [column for column in _NEEDED if column not in (reader.fieldnames or ())]
        if lacking:
            raise ConfigurationError(
                f"the bill {name!r} lacks the column{'s' * (len(lacking) > 1)} "
                f"{', '.join(lacking)}",
                hint="export it as FOCUS 1.0 or later, with the names of the specification",
            )
        rows = tuple(_rows(reader, name))
    except csv.Error as cause:
        raise _bad(name, reader.line_num, str(cause)) from cause
    if not rows:
        raise ConfigurationError(f"the bill {name!r} has no rows", hint=_HINT)
    return rows


def _text(content: bytes, name: str) -> str:
    try:
        plain = gzip.decompress(content) if content.startswith(_GZIP) else content
        return plain.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as cause:
        raise ConfigurationError(
            f"the bill {name!r} cannot be read: {cause}", hint="give CSV in UTF-8, or gzip of it"
        ) from cause


def _rows(reader: "csv.DictReader[str]", name: str) -> Iterator[BillRow]:
    line = (
        reader.line_num + 1
    )  # a row begins after the last one's end; texts may have several lines
    for fields in reader:
        try:
            yield _row(line, fields)
        except ValueError as cause:
            raise _bad(name, line, str(cause)) from cause
        line = reader.line_num + 1


def _row(line: int, fields: dict[str, str]) -> BillRow:
    if None in fields or None in fields.values():
        raise ValueError("it has more or fewer fields than the head")
    if fields["BillingCurrency"] != _CURRENCY:
        raise ValueError(f"BillingCurrency is {fields['BillingCurrency']!r}, not {_CURRENCY}")
    from_at, to_at = (_instant(fields, f"ChargePeriod{end}") for end in ("Start", "End"))
    if to_at <= from_at:
        raise ValueError("ChargePeriodEnd is not after ChargePeriodStart")
    return BillRow(
        line=line,
        costs=Costs(*(_cost(fields, column) for column in COSTS)),
        category=fields["ChargeCategory"],
        from_at=from_at,
        to_at=to_at,
        tags=_tags(fields["Tags"]),
        provider=fields.get("ProviderName", ""),
        service=fields.get("ServiceName", ""),
        resource=fields.get("ResourceId", ""),
        commitment=fields.get("CommitmentDiscountId", ""),
    )


def _cost(fields: Mapping[str, str], column: str) -> Decimal:
    text = fields[column].strip()
    try:
        cost = Decimal(text)
    except InvalidOperation:
        cost = Decimal("NaN")
    if not cost.is_finite() or "_" in text:
        raise ValueError(f"{column} {text!r} is no amount; write 1234.56")
    return cost


def _instant(fields: Mapping[str, str], column: str) -> datetime:
    try:
        found = datetime.fromisoformat(fields[column].strip())
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as cause:
        raise ValueError(
            f"{column} {fields[column]!r} is no instant; write 2026-12-01T00:00:00Z"
        ) from cause


def _tags(text: str) -> Mapping[str, str]:
    if not text.strip():
        return {}
    try:
        found = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as cause:
        raise ValueError(f"Tags are no JSON: {cause}") from cause
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ValueError("Tags are no JSON object of names and values")  # noqa: TRY004 - as above
    return {str(name): str(value) for name, value in found.items()}


def _bad(name: str, line: int, why: str) -> ConfigurationError:
    return ConfigurationError(f"the bill {name!r}, line {line}: {why}", hint=_HINT)
