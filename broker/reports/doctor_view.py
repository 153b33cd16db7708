"""What a doctor found: each check with its state, what it saw, and what to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from broker.reports.formats import Column, Plain, Report
from broker.reports.layout import Fit

_SCHEMA = "gpubroker.doctor/1"


class State(StrEnum):
    """How a check ended; only what is broken must be mended."""

    OK = "ok"
    LOOK = "look"
    BROKEN = "broken"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check: its name, how it ended, what was found, and what to do about it."""

    check: str
    state: State
    found: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """What a provider needs, what the settings have of it, and whether its hosts answer.

    `keys` are the names of keys that it can use, `present` those that are set. `answers_in_s` is
    the slowest first answer of its hosts; None where none was asked or one did not answer.
    """

    provider: str
    state: State
    keys: tuple[str, ...]
    present: tuple[str, ...]
    hosts: tuple[str, ...]
    answers_in_s: float | None
    found: str
    remedy: str = ""


def doctor_report(
    checks: tuple[CheckRow, ...],
    providers: tuple[ProviderRow, ...],
    facts: Mapping[str, Plain],
) -> Report[CheckRow]:
    """Show the checks; for machines the providers stand beside them."""
    return Report(
        schema=_SCHEMA,
        name="checks",
        row_type=CheckRow,
        rows=checks,
        columns=(
            Column[CheckRow]("check", lambda row: row.check),
            Column[CheckRow]("state", lambda row: row.state),
            Column[CheckRow]("found", lambda row: row.found, fit=Fit.WRAP),
            Column[CheckRow]("what to do", lambda row: row.remedy, fit=Fit.WRAP),
        ),
        facts=facts,
        beside={"providers": providers},
    )


def providers_table(providers: tuple[ProviderRow, ...]) -> Report[ProviderRow]:
    """Show each provider: its keys, and whether it answers."""
    return Report(
        schema=_SCHEMA,
        name="providers",
        row_type=ProviderRow,
        rows=providers,
        columns=(
            Column[ProviderRow]("provider", lambda row: row.provider),
            Column[ProviderRow]("state", lambda row: row.state),
            Column[ProviderRow]("found", lambda row: row.found, fit=Fit.WRAP),
            Column[ProviderRow]("what to do", lambda row: row.remedy, fit=Fit.WRAP),
        ),
        facts={},
    )
