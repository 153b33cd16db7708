"""What is shown of a night: its steps, what was decided, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rich.text import Text

from broker.reports.formats import Column, Plain, Report
from broker.reports.layout import Fit


@dataclass(frozen=True, slots=True)
class NightStepRow:
    """One attempt at a step. `said` is what it came to, in words; the rest is as it was kept."""

    step: str
    attempt: int
    state: str
    started_at: datetime | None
    finished_at: datetime | None
    elapsed_s: float | None
    said: str
    inputs: str
    outcome: str


@dataclass(frozen=True, slots=True)
class NightView:
    """A night as people read it: a heading, steps, and sentences on what was decided."""

    facts: Mapping[str, Plain]
    heading: str
    steps: tuple[NightStepRow, ...]
    verdict: str
    why: tuple[str, ...]


def night_report(of: NightView) -> Report[NightStepRow]:
    """Write a night: a table of its steps, all else beside it."""
    return Report(
        schema="gpubroker.night/1",
        name="steps",
        row_type=NightStepRow,
        rows=of.steps,
        columns=(
            Column("step", lambda row: row.step),
            Column("took", lambda row: _took(row.elapsed_s), "right"),
            Column("what it came to", lambda row: row.said, fit=Fit.WRAP),
        ),
        facts=of.facts,
    )


def night_text(of: NightView) -> Text:
    """Lay out what was decided, and why, as paragraphs."""
    return Text("\n".join((of.verdict, *(f"- {why}" for why in of.why))))


def _took(elapsed_s: float | None) -> str:
    return "" if elapsed_s is None else f"{elapsed_s:.1f} s"
