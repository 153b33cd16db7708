"""Inference engines as a factor with a date: what a release of an engine costs in host time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final

_DAYS_PER_YEAR = 365.25


class Engine(StrEnum):
    """Engines that the fit tells apart; each has its own scheduler and host time."""

    TENSORRT_LLM = "tensorrt-llm"
    VLLM = "vllm"
    SGLANG = "sglang"
    OTHER = "other"

    @property
    def place(self) -> int:
        """Give its place in the tuples of the constants."""
        return tuple(Engine).index(self)


@dataclass(frozen=True, slots=True)
class Release:
    """An engine, and the time of its release as a year with its fraction."""

    engine: Engine
    year: float


PLANNED: Final = Release(Engine.VLLM, 2026.25)
"""What services are sized for unless they say more: vLLM of spring 2026, the newest measured."""


def engine_of(name: str) -> Engine:
    """Tell an engine by the name that a benchmark prints."""
    spelled = name.lower().replace("_", "-")
    if "tensorrt" in spelled or spelled.startswith("trt"):
        return Engine.TENSORRT_LLM
    if spelled.startswith("vllm"):
        return Engine.VLLM
    return Engine.SGLANG if "sglang" in spelled else Engine.OTHER


def release_of(
    engine: Engine, version: str, released: Mapping[tuple[str, str], date], *, seen_year: float
) -> Release:
    """Date a version by the table of releases, by the longest prefix that is in it.

    Args:
        engine: the engine.
        version: as printed, as `0.12.0` or `1.0.0rc3`; may be empty.
        released: days of release by engine and version prefix.
        seen_year: when the measurement was published, which dates a version that is not in the
            table.
    """
    for length in range(len(version), 0, -1):
        day = released.get((engine.value, version[:length]))
        if day is not None:
            return Release(engine, year_of(day))
    return Release(engine, seen_year)


def year_of(day: date) -> float:
    """Give a day as a year with its fraction."""
    return day.year + (day.timetuple().tm_yday - 1) / _DAYS_PER_YEAR
