"""What is kept of a run: one row of docs/benchmarks/program.csv."""

import csv
import hashlib
from collections.abc import Iterable, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

_Kind = TypeVar("_Kind", bound=BaseModel)

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "benchmarks" / "program.csv"
MARKS = (0.05, 0.03, 0.01, 0.005, 0.001)
"""Gaps whose times are kept."""

_TEXTS = ("extras", "verified")
"""Fields in which an empty cell is an empty text."""
_DECIDES = (
    "solver/milp/**/*.py",
    "broker/domain/case.py",
    "broker/domain/load.py",
    "broker/domain/traffic.py",
    "tools/plain_offers.py",
    "tools/program_bench/case.py",
    "tools/program_bench/generate.py",
    "tools/program_bench/instance.py",
    "tools/program_bench/jobs.py",
    "tools/program_bench/market.py",
    "tools/program_bench/prices.py",
    "tools/program_bench/services.py",
    "tools/program_bench/serving.py",
    "tools/program_bench/tables.py",
    "tools/program_bench/training.py",
    "tools/program_bench/wishes.py",
)


class Asked(NamedTuple):
    """What a run is about; two runs of one program that ask the same are the same run."""

    size: str
    seed: int
    scale: float
    time_limit_s: float
    gap: float
    extras: str = ""


class Point(NamedTuple):
    """How far a search was at a moment: its best plan, and what any plan costs at least."""

    seconds: float
    usd: float
    bound_usd: float

    @property
    def gap(self) -> float:
        """Give the part of the plan's cost that is not proven to be needed."""
        return (self.usd - self.bound_usd) / self.usd if self.usd else 0.0


class Row(BaseModel):
    """One run, as it is written; None is not reached, or not there.

    `to_5` to `to_0_1` are the seconds until the gap was 5 %, 3 %, 1 %, 0.5 % and 0.1 %. `peak_mib`
    is the most memory of the process that made the instance and solved it, and of the largest of
    its children beside it. `verified` is yes, or what the independent check found. `load` is the
    machine's when the run began: above the number of cores, seconds say little.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    made_on: date
    program: str
    size: str
    seed: int
    scale: float
    extras: str
    time_limit_s: float
    gap_asked: float
    status: str
    usd: float | None
    bound_usd: float | None
    gap: float | None
    first_plan: float | None
    to_5: float | None
    to_3: float | None
    to_1: float | None
    to_0_5: float | None
    to_0_1: float | None
    solve_s: float | None
    instance_s: float | None
    peak_mib: int | None
    verified: str
    offers: int | None
    options: int | None
    cpu: str
    cores: int
    memory_gib: float
    load: float
    python: str
    ortools: str

    @field_validator("*", mode="before")
    @classmethod
    def _empty_is_none(cls, value: object, field: ValidationInfo) -> object:
        return None if value == "" and field.field_name not in _TEXTS else value

    @property
    def asked(self) -> Asked:
        """Say what the run was about."""
        return Asked(
            self.size, self.seed, self.scale, self.time_limit_s, self.gap_asked, self.extras
        )

    def seconds_to(self, gap: float) -> float | None:
        """Give the seconds until the gap was one of `MARKS`."""
        return dict(zip(MARKS, self._to(), strict=True))[gap]

    def _to(self) -> tuple[float | None, ...]:
        return (self.to_5, self.to_3, self.to_1, self.to_0_5, self.to_0_1)


def marks(points: Sequence[Point]) -> dict[str, float | None]:
    """Find when the first plan was there, and when each gap was reached."""
    names = ("to_5", "to_3", "to_1", "to_0_5", "to_0_1")
    found = {
        name: next((one.seconds for one in points if one.gap <= gap + 1e-9), None)
        for name, gap in zip(names, MARKS, strict=True)
    }
    return {"first_plan": points[0].seconds if points else None, **found}


def program_version(more: Sequence[str] = ()) -> str:
    """Hash what decides the answer: the program, what makes its instances, the solver; and more."""
    digest = hashlib.sha256(version("ortools").encode())
    for pattern in (*_DECIDES, *more):
        for path in sorted(ROOT.glob(pattern)):
            digest.update(path.relative_to(ROOT).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:10]


def read_rows(path: Path) -> tuple[Row, ...]:
    """Read all rows of the program's table, oldest first; none where there is no file."""
    return read_table(path, Row)


def read_table(path: Path, kind: type[_Kind]) -> tuple[_Kind, ...]:
    """Read all rows of a kind, oldest first; none where there is no file."""
    if not path.exists():
        return ()
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(kind.model_validate(one) for one in csv.DictReader(file))


def append_row(row: BaseModel, path: Path) -> None:
    """Add a row at the end; the first brings the header."""
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(type(row).model_fields)
        values = row.model_dump(mode="json").values()
        writer.writerow("" if value is None else value for value in values)


def known_row(rows: Iterable[Row], program: str, asked: Asked) -> Row | None:
    """Find the last row of a program for a run."""
    found = [row for row in rows if (row.program, row.asked) == (program, asked)]
    return found[-1] if found else None
