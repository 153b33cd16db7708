"""The catalog laid out in columns, for questions: which offers, in which order.

An offer is one position of every column. A column of names holds a code for each offer and the name
of each code; a column of numbers has NaN where a number is unknown. Money stands in whole
micro-dollars, which such a number holds exactly. Only what is shown of a question's answer is read
as an offer: a hundred thousand take milliseconds to search and seconds to read.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from broker.catalog.bands import usd_per_gpu_hour
from broker.catalog.gates import Quarantined
from broker.domain.offer import Offer
from broker.domain.quantities import MICRO_USD, quantize_usd

JOINT = "|"
"""Stands between the names of a list that is one name of a column."""

Entry = Offer | Quarantined
Positions = NDArray[np.intp]
Codes = NDArray[np.int32]
Numbers = NDArray[np.float64]


class Name(StrEnum):
    """The columns of names. `cloud` is whose machine it is, whoever sells it; `held` is why."""

    PROVIDER = "provider"
    CLOUD = "cloud"
    GPU = "gpu"
    LINK = "link"
    FABRIC = "fabric"
    VIRTUALIZATION = "virtualization"
    PRICE_KIND = "price_kind"
    REGION = "region"
    ZONE = "zone"
    COUNTRY = "country"
    CONTINENT = "continent"
    CERTIFICATIONS = "certifications"
    EVIDENCE = "evidence"
    HELD = "held"


class Number(StrEnum):
    """The columns of numbers. `memory_gib` is of the whole node, prices are in micro-dollars."""

    GPU_COUNT = "gpu_count"
    GPU_MEMORY_GIB = "gpu_memory_gib"
    MEMORY_GIB = "memory_gib"
    FABRIC_GBIT_PER_S = "fabric_gbit_per_s"
    VCPUS = "vcpus"
    HOST_MEMORY_GIB = "host_memory_gib"
    TERM_MONTHS = "term_months"
    NODE_HOUR = "micro_usd_per_node_hour"
    GPU_HOUR = "micro_usd_per_gpu_hour"
    OBSERVED_S = "observed_s"
    VALID_UNTIL_S = "valid_until_s"


@dataclass(frozen=True, slots=True)
class Named:
    """A column of names: the code of each offer, and the name of each code."""

    codes: Codes
    names: tuple[str, ...]

    def any_of(self, wanted: frozenset[str]) -> NDArray[np.bool_]:
        """Mark the offers whose name is wanted; `wanted` is in lower case."""
        fits = np.fromiter((name.lower() in wanted for name in self.names), np.bool_)
        return fits[self.codes] if len(fits) else np.zeros(len(self.codes), np.bool_)

    def counted(self) -> Mapping[str, int]:
        """Count the offers of each name."""
        counts = np.bincount(self.codes, minlength=len(self.names))
        return {name: int(count) for name, count in zip(self.names, counts, strict=True)}


@dataclass(frozen=True, slots=True)
class Columns:
    """All columns, each by its name."""

    named: Mapping[Name, Named]
    numbers: Mapping[Number, Numbers]


class Listing:
    """Offers in columns, in the order of their keys, held ones among them.

    `entries` reads the offers at some positions. `version` names the state of the store that it was
    made from, and `snapshot` is the hash of its offers; both are empty where they are not known.
    """

    def __init__(
        self,
        columns: Columns,
        entries: Callable[[Sequence[int]], tuple[Entry, ...]],
        *,
        version: str = "",
        snapshot: str = "",
    ) -> None:
        self.columns = columns
        self._entries = entries
        self.version = version
        self.snapshot = snapshot

    def __len__(self) -> int:
        return len(self.numbers(Number.GPU_COUNT))

    def named(self, column: Name) -> Named:
        """Give a column of names."""
        return self.columns.named[column]

    def numbers(self, column: Number) -> Numbers:
        """Give a column of numbers."""
        return self.columns.numbers[column]

    def entries(self, positions: Iterable[int]) -> tuple[Entry, ...]:
        """Read the offers at some positions, in their order."""
        return self._entries([int(position) for position in positions])

    @property
    def newest_observed_at(self) -> datetime | None:
        """Give the instant of the newest observation, None where there is no offer."""
        seen = self.numbers(Number.OBSERVED_S)
        return datetime.fromtimestamp(float(seen.max()), UTC) if len(seen) else None


def columns_of(entries: Iterable[Entry]) -> Columns:
    """Lay offers out in the order in which they come."""
    known: dict[Name, dict[str, int]] = {one: {} for one in Name}
    codes: dict[Name, list[int]] = {one: [] for one in Name}
    numbers: list[tuple[float, ...]] = []
    for entry in entries:
        held = entry.reason if isinstance(entry, Quarantined) else ""
        offer = entry.offer if isinstance(entry, Quarantined) else entry
        for column, name in zip(Name, _names(offer, held), strict=True):
            codes[column].append(known[column].setdefault(name, len(known[column])))
        numbers.append(_numbers(offer))
    table = np.array(numbers, np.float64).reshape(-1, len(Number))
    return Columns(
        named={
            one: Named(np.array(codes[one], np.int32), tuple(map(str, known[one]))) for one in Name
        },
        numbers={one: np.ascontiguousarray(table[:, at]) for at, one in enumerate(Number)},
    )


def listing_of(
    offers: Iterable[Offer],
    quarantined: Iterable[Quarantined] = (),
    *,
    version: str = "",
    snapshot: str = "",
) -> Listing:
    """Lay offers out that are at hand."""
    ordered = in_order(offers, quarantined)

    def entries(positions: Sequence[int]) -> tuple[Entry, ...]:
        return tuple(ordered[position] for position in positions)

    return Listing(columns_of(ordered), entries, version=version, snapshot=snapshot)


def in_order(offers: Iterable[Offer], quarantined: Iterable[Quarantined]) -> tuple[Entry, ...]:
    """Order offers by key, whatever order they came in."""
    entries: list[tuple[str, str, Entry]] = [(offer.key, "", offer) for offer in offers]
    entries += [
        (one.offer.key, one.reason + one.offer.model_dump_json(), one) for one in quarantined
    ]
    return tuple(entry for _, _, entry in sorted(entries, key=lambda one: one[:2]))


def _names(offer: Offer, held: str) -> tuple[str, ...]:
    # Members of enumerations are texts; to ask for their `value` takes longer than all the rest.
    place, hardware = offer.place, offer.hardware
    return (
        offer.provider,
        offer.cloud,
        hardware.shape.gpu,
        hardware.shape.link,
        hardware.shape.fabric,
        hardware.virtualization,
        offer.price_kind,
        place.region,
        place.zone or "",
        place.country or "",
        place.continent or "",
        JOINT.join(offer.certifications),
        offer.provenance.evidence,
        held,
    )


def _numbers(offer: Offer) -> tuple[float, ...]:
    hardware, seen = offer.hardware, offer.provenance
    return (
        float(hardware.shape.gpu_count),
        hardware.gpu_memory_gib,
        node_memory_gib(offer),
        _known(hardware.shape.fabric_gbit_per_s),
        _known(hardware.vcpus),
        _known(hardware.host_memory_gib),
        _known(offer.commitment.term_months if offer.commitment else None),
        _micro(offer.effective_usd_per_hour),
        _micro(quantize_usd(usd_per_gpu_hour(offer))),
        seen.observed_at.timestamp(),
        _known(seen.valid_until.timestamp() if seen.valid_until else None),
    )


def node_memory_gib(offer: Offer) -> float:
    """Give the GPU memory of a node in GiB; the memory of a slice is that of the slice already."""
    return offer.hardware.gpu_memory_gib * max(1.0, float(offer.hardware.shape.gpu_count))


def _micro(usd: Decimal) -> float:
    return float(usd / MICRO_USD)


def _known(value: float | None) -> float:
    return np.nan if value is None else float(value)
