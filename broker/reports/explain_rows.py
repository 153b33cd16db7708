"""An explanation as rows, for CSV: one kind of row for each thing that can be asked."""

from dataclasses import dataclass
from decimal import Decimal

from broker.domain.explanation import Explanation, LineReason, NearPlan, OtherPlan, WhyNot
from broker.reports.formats import Column, FlatRow, Format, Report, as_text


@dataclass(frozen=True, slots=True)
class LineRow:
    """A line of the plan, and the best plan without it; differences are at least and at most."""

    line: str
    usd: Decimal
    workloads: tuple[str, ...]
    why: str
    binding: tuple[str, ...]
    runner_up: str
    runner_up_total_usd: Decimal | None
    runner_up_dearer_least_usd: Decimal | None
    runner_up_dearer_most_usd: Decimal | None
    runner_up_buys: tuple[str, ...]
    rank_count: int | None
    rivals_count: int


@dataclass(frozen=True, slots=True)
class WhyNotRow:
    """An offer that is not in the plan, what its use costs, and the price at which it enters."""

    offer: str
    verdict: str
    reason: str
    details: tuple[str, ...]
    could_do: tuple[str, ...]
    dearer_least_usd: Decimal | None
    dearer_most_usd: Decimal | None
    now_usd_per_hour: Decimal | None
    enters_least_usd_per_hour: Decimal | None
    enters_most_usd_per_hour: Decimal | None


@dataclass(frozen=True, slots=True)
class NearRow:
    """A plan that is nearly as good."""

    total_usd: Decimal | None
    dearer_least_usd: Decimal | None
    dearer_most_usd: Decimal | None
    buys: tuple[str, ...]
    drops: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One change of a way out; those of one `way` belong together."""

    way: int
    rule: str
    value: str
    enough: str
    one_step_less: str | None
    is_least: bool
    total_usd: Decimal
    bound_usd: Decimal


def explanation_csv(explanation: Explanation) -> str:
    """Write what was asked as CSV: an offer, near plans, ways out, else the lines."""
    if explanation.why_not is not None:
        return _csv(WhyNotRow, (_why_not_row(explanation.why_not),))
    if explanation.near:
        return _csv(NearRow, tuple(_near_row(one) for one in explanation.near))
    if explanation.relaxing is not None:
        return _csv(ChangeRow, _change_rows(explanation))
    return _csv(LineRow, tuple(_line_row(one) for one in explanation.lines))


def _csv(row_type: type[FlatRow], rows: tuple[FlatRow, ...]) -> str:
    columns: tuple[Column[FlatRow], ...] = ()
    report = Report(schema="", name="rows", row_type=row_type, rows=rows, columns=columns, facts={})
    return as_text(report, Format.CSV)


def _dearer(other: OtherPlan | None) -> tuple[Decimal | None, Decimal | None]:
    if other is None or other.dearer is None:
        return None, None
    return other.dearer.least_usd, other.dearer.most_usd


def _line_row(line: LineReason) -> LineRow:
    least, most = _dearer(line.runner_up)
    return LineRow(
        line=line.line,
        usd=line.usd,
        workloads=line.workloads,
        why=line.why,
        binding=line.binding,
        runner_up=line.runner_up.outcome.value,
        runner_up_total_usd=line.runner_up.total_usd,
        runner_up_dearer_least_usd=least,
        runner_up_dearer_most_usd=most,
        runner_up_buys=line.runner_up.buys,
        rank_count=line.rank_count,
        rivals_count=line.rivals_count,
    )


def _why_not_row(asked: WhyNot) -> WhyNotRow:
    least, most = _dearer(asked.instead)
    entry = asked.entry
    return WhyNotRow(
        offer=asked.offer,
        verdict=asked.verdict.value,
        reason=asked.reason,
        details=asked.details,
        could_do=asked.could_do,
        dearer_least_usd=least,
        dearer_most_usd=most,
        now_usd_per_hour=entry.now_usd_per_hour if entry else None,
        enters_least_usd_per_hour=entry.least_usd_per_hour if entry else None,
        enters_most_usd_per_hour=entry.most_usd_per_hour if entry else None,
    )


def _near_row(near: NearPlan) -> NearRow:
    least, most = _dearer(near.plan)
    return NearRow(
        total_usd=near.plan.total_usd,
        dearer_least_usd=least,
        dearer_most_usd=most,
        buys=near.plan.buys,
        drops=near.plan.drops,
        reasons=near.reasons,
    )


def _change_rows(explanation: Explanation) -> tuple[ChangeRow, ...]:
    ways = explanation.relaxing.relaxations if explanation.relaxing is not None else ()
    return tuple(
        ChangeRow(
            way=number,
            rule=one.rule,
            value=one.value,
            enough=one.enough,
            one_step_less=one.one_step_less,
            is_least=one.is_least,
            total_usd=way.total_usd,
            bound_usd=way.bound_usd,
        )
        for number, way in enumerate(ways, 1)
        for one in way.changes
    )
