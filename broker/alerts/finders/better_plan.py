"""A better plan: tonight's is worth the change, and these are its dearest steps."""

from collections.abc import Iterator
from decimal import Decimal

from broker.alerts.night import Night
from broker.alerts.phrases import adopt, counted, dollars, doubling, one_line
from broker.domain.alert import Alert, AlertKind
from broker.domain.plan import Plan
from broker.domain.quantities import quantize_usd

_TOP = 3


def better_plan(night: Night) -> Iterator[Alert]:
    """Tell of tonight's plan if it is to be acted on: the first one, or one that saves.

    The state names the offers that it buys and the power of two that it saves: node counts and
    prices that move a little are no news.
    """
    if night.made is None or not night.adopted:
        return
    saving = _saving(night)
    per_day = quantize_usd(saving / _days(night, night.made)) if saving else None
    yield Alert(
        kind=AlertKind.BETTER_PLAN,
        scope=night.workloads,
        subject=night.workloads,
        state=f"{'needed, ' * bool(night.needed)}{_state(night.made, per_day)}",
        title=_title(night, night.made, saving),
        since=night.now,
        usd_per_day=per_day,
        facts=tuple(_facts(night, night.made)),
        action=adopt(night),
    )


def _saving(night: Night) -> Decimal | None:
    """Add up the steps; no saving is above what is spent at present, so such a sum is not told."""
    if night.in_force is None:
        return None
    saving = sum((change.usd for change in night.changes), Decimal(0))
    return saving if 0 < saving <= night.in_force.total_usd else None


def _days(night: Night, made: Plan) -> Decimal:
    """Give the days over which the saving comes: those in which the plans differ."""
    return night.days_apart or Decimal(made.workloads.horizon.days)


def _title(night: Night, made: Plan, saving: Decimal | None) -> str:
    days = made.workloads.horizon.days
    if night.in_force is None:
        return f"The first plan of {night.workloads}: {dollars(made.billed_usd)} for {days} days"
    if night.needed:
        return f"The plan in force of {night.workloads} cannot go on: there is a new one"
    apart = counted(_days(night, made), "day")
    worth = f"saves {dollars(saving)} in {apart}" if saving else "is worth the change"
    return f"A better plan of {night.workloads} {worth}"


def _facts(night: Night, made: Plan) -> Iterator[str]:
    if night.needed:
        yield one_line(night.needed)
    for number, change in enumerate(night.changes[:_TOP], start=1):
        worth = "saves" if change.usd >= 0 else "costs"
        yield f"{number}. {one_line(change.text)}: {worth} {dollars(abs(change.usd))}"
    rest = night.changes[_TOP:]
    if rest:
        usd = sum((change.usd for change in rest), Decimal(0))
        worth = "saving" if usd >= 0 else "costing"
        yield f"{counted(len(rest), 'more step')}, {worth} {dollars(abs(usd))} in all"
    if night.in_force is not None:
        before = dollars(night.in_force.billed_usd)
        yield f"{dollars(made.billed_usd)} in all; the plan in force was made for {before}"
    yield f"no plan can be more than {made.gap_fraction:.1%} cheaper than this one"


def _state(made: Plan, per_day: Decimal | None) -> str:
    offers = ", ".join(sorted({purchase.offer for purchase in made.purchases}))
    return f"saves {doubling(per_day) if per_day else 'unknown'} a day with {offers}"
