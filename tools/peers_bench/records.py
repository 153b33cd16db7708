"""What is kept of a comparison: a row of docs/benchmarks/peers.csv for each rival."""

import platform
from collections.abc import Iterable, Sequence
from datetime import date
from importlib.metadata import version

from program_bench.records import ROOT, program_version
from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

TABLE = ROOT / "docs" / "benchmarks" / "peers.csv"
OURS = "joint plan (ours)"
FROM_A_START = "ours, from the best rival"
BETWEEN = " | "
"""Between two repairs or remarks of a row."""

_TEXTS = ("choice", "repairs", "remarks", "refusal", "snapshot")
_DECIDES = (
    "solver/sizing/**/*.py",
    "broker/planning/case.py",
    "broker/planning/strategies.py",
    "broker/verification/*.py",
    "broker/specs/*.csv",
    "broker/examples/*.yaml",
    "tools/peers_bench/*.py",
)


class Times(BaseModel):
    """Seconds that each search may take, and the gap at which ours and the narrower ones end."""

    model_config = ConfigDict(frozen=True)

    gap: float = 0.001
    ours_s: float = 120.0
    strategy_s: float = 60.0
    melange_s: float = 120.0

    def __str__(self) -> str:
        return f"{self.gap:.2%}, {self.ours_s:g}, {self.strategy_s:g}, {self.melange_s:g}"


class PeerRow(BaseModel):
    """One rival on one instance.

    `own_usd` is the cost of its answer by its own account, before the repair; `usd` that of the
    repaired plan, which the independent check has accepted; None where there is none, and `refusal`
    says why. `bound_usd` is under all plans of its kind. `seconds` are wall time with the repair.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    made_on: date
    program: str
    instance: str
    snapshot: str
    times: str
    rival: str
    choice: str
    own_usd: float | None
    usd: float | None
    bound_usd: float | None
    seconds: float
    repairs: str
    remarks: str
    refusal: str
    cpu: str
    cores: int
    load: float
    python: str = platform.python_version()
    ortools: str = version("ortools")

    @field_validator("*", mode="before")
    @classmethod
    def _empty_is_none(cls, value: object, field: ValidationInfo) -> object:
        return None if value == "" and field.field_name not in _TEXTS else value

    @property
    def name(self) -> str:
        """Name the rival, and what it chose where it had a choice."""
        return f"{self.rival}: {self.choice}" if self.choice else self.rival


def peers_version() -> str:
    """Hash what decides the figures: the program, sizing, the check, and the rivals."""
    return program_version(_DECIDES)


def known_rows(
    rows: Iterable[PeerRow], program: str, instance: tuple[str, str], times: str
) -> tuple[PeerRow, ...]:
    """Find the rows of an instance that need not be made again: the last of each rival."""
    asked = (program, *instance, times)
    same = [one for one in rows if (one.program, one.instance, one.snapshot, one.times) == asked]
    return last_of_each(same)


def last_of_each(rows: Sequence[PeerRow]) -> tuple[PeerRow, ...]:
    """Keep the last row of each rival and instance, in the order of the first ones."""
    return tuple({(one.instance, one.rival): one for one in rows}.values())
