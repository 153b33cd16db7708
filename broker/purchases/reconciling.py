"""Planned against billed, line by line: what each cost, what it should have, and what is neither.

A charge belongs to a line by its tag (`gpubroker-line`, which the exports set), else by the
provider's id that was noted when the line was executed. Tags come with prefixes of providers
(`user:`, `user_`, `resourceTags/`), and with dashes or underscores.

List, contracted and effective cost count what was used: a commitment's purchase has no cost in
effect, and its list price would count twice. What is billed counts everything. The effective
savings rate is the part of the list cost that is saved: 1 − effective / list.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from broker.purchases.bill import BillRow, Costs

_PURCHASE = "Purchase"


class Rest(StrEnum):
    """Why a charge belongs to no line."""

    UNTAGGED = "without a tag of ours"
    UNKNOWN = "of a line that this plan does not have"
    OUTSIDE = "outside the time of the plan"


@dataclass(frozen=True, slots=True)
class PlannedLine:
    """What a line should cost in the time that the bill is of.

    `references` are the ids that the provider gave, where somebody noted them.
    """

    id: str
    label: str
    provider: str
    costs: Costs
    is_executed: bool = False
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BilledLine:
    """A line as planned and as billed; `rows` counts its charges."""

    planned: PlannedLine
    billed: Costs
    rows: int


@dataclass(frozen=True, slots=True)
class Unexplained:
    """Charges that belong to no line, of one provider's service; `first_line` is in the file."""

    why: Rest
    provider: str
    service: str
    label: str
    costs: Costs
    rows: int
    first_line: int


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """All lines of the plan, and all of the bill that is of none of them."""

    lines: tuple[BilledLine, ...]
    rest: tuple[Unexplained, ...]

    @property
    def planned(self) -> Costs:
        """Add up what was planned."""
        return total(one.planned.costs for one in self.lines)

    @property
    def explained(self) -> Costs:
        """Add up what was billed for lines of the plan."""
        return total(one.billed for one in self.lines)

    @property
    def unexplained(self) -> Costs:
        """Add up what was billed for anything else."""
        return total(one.costs for one in self.rest)


def reconcile(
    planned: Sequence[PlannedLine],
    bill: Iterable[BillRow],
    *,
    tag: str,
    within: tuple[datetime, datetime],
) -> Reconciliation:
    """Share the charges of a bill out to the lines of a plan; none is dropped.

    `tag` is the name that carries a line's label, `within` the time of the plan.
    """
    labels = {one.label for one in planned}
    by_reference = {reference: one.label for one in planned for reference in one.references}
    billed: dict[str, list[BillRow]] = {}
    rest: dict[tuple[Rest, str, str, str], list[BillRow]] = {}
    for row in bill:
        label = _label(row, tag, by_reference)
        why = _rest(row, label, labels, within)
        if why is None:
            billed.setdefault(label, []).append(row)
        else:
            rest.setdefault((why, row.provider, row.service, label), []).append(row)
    return Reconciliation(
        lines=tuple(
            BilledLine(one, *_summed(billed.get(one.label, ())))
            for one in sorted(planned, key=lambda one: (-one.costs.effective_usd, one.id))
        ),
        rest=tuple(
            Unexplained(*key, *_summed(rows), min(row.line for row in rows))
            for key, rows in sorted(rest.items())
        ),
    )


def total(costs: Iterable[Costs]) -> Costs:
    """Add costs up."""
    return sum(costs, Costs())


def savings_rate(costs: Costs) -> Decimal | None:
    """Give the part of the list cost that is saved, None where nothing is listed."""
    if costs.list_usd <= 0:
        return None
    return 1 - costs.effective_usd / costs.list_usd


def _label(row: BillRow, tag: str, by_reference: Mapping[str, str]) -> str:
    wanted = _plain(tag)
    for name, value in row.tags.items():
        if _plain(name).endswith(wanted):
            return value
    for reference in (row.commitment, row.resource):
        if reference and reference in by_reference:
            return by_reference[reference]
    return ""


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def _rest(
    row: BillRow, label: str, labels: set[str], within: tuple[datetime, datetime]
) -> Rest | None:
    if not label:
        return Rest.UNTAGGED
    if label not in labels:
        return Rest.UNKNOWN
    return None if within[0] <= row.from_at < within[1] else Rest.OUTSIDE


def _summed(rows: Sequence[BillRow]) -> tuple[Costs, int]:
    return total(_counted(row) for row in rows), len(rows)


def _counted(row: BillRow) -> Costs:
    if row.category != _PURCHASE:
        return row.costs
    return Costs(effective_usd=row.costs.effective_usd, billed_usd=row.costs.billed_usd)
