"""The budget is nearly used: what the plan in force costs at today's prices, against it."""

from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal

from broker.alerts.night import Night
from broker.alerts.phrases import adopt, dollars, highest, replan
from broker.domain.alert import Alert, AlertKind
from broker.domain.plan import Plan
from broker.domain.quantities import HOURS_PER_MONTH, quantize_usd

_NEARLY = (0.9, 1.0)
_HOURS_PER_DAY = 24
_ROUND_USD = 100
_MORE = Decimal("1.1")


def budget_nearly_used(night: Night) -> Iterator[Alert]:
    """Tell when the plan takes nine tenths of the budget, and when it takes more than all of it.

    Both are compared as the program does: the budget of a month of 730 hours, for the hours of the
    plan's horizon. Prices that moved since the plan was made are counted as they are now.
    """
    plan, demand = night.acted_on, night.demand
    if plan is None or demand is None or not demand.policy.budget_usd_per_month:
        return
    hours = Decimal(plan.workloads.horizon.days) * _HOURS_PER_DAY
    per_month = _cost_usd(night, plan) * HOURS_PER_MONTH / hours
    budget = demand.policy.budget_usd_per_month
    used = per_month / budget
    over = per_month > budget
    reached = 1.0 if over else highest(float(used), _NEARLY[:1])
    if reached is None:
        return
    per_day = (per_month - budget) * _HOURS_PER_DAY / HOURS_PER_MONTH
    yield Alert(
        kind=AlertKind.BUDGET_NEARLY_USED,
        scope=night.workloads,
        subject=night.workloads,
        state="above the budget" if over else f"{reached:.0%} or more",
        title=f"The plan of {night.workloads} takes {used:.0%} of its budget",
        since=night.now,
        usd_per_day=quantize_usd(per_day) if over else None,
        facts=(
            f"{dollars(per_month)} a month at today's prices; the budget is {dollars(budget)}",
            f"{dollars(abs(budget - per_month))} a month {'too much' if over else 'are left'}",
        ),
        action=_action(night, per_month),
    )


def _cost_usd(night: Night, plan: Plan) -> Decimal:
    """Take what the plan pays, and what its prices rose or fell by since it was made."""
    hours = {purchase.offer: purchase.node_hours for purchase in plan.purchases}
    moved = (
        (move.usd_per_hour_now - move.usd_per_hour_before) * hours.get(move.offer, Decimal(0))
        for move in night.price_moves
    )
    return plan.billed_usd + sum(moved, Decimal(0))


def _action(night: Night, per_month: Decimal) -> str:
    """Take tonight's plan, or see what another budget would give: a tenth above what it costs."""
    if night.in_force is not None and night.made is not None and night.adopted:
        return adopt(night)
    hundreds = (per_month * _MORE / _ROUND_USD).to_integral_value(ROUND_CEILING)
    room = hundreds * _ROUND_USD
    return replan(night, f"policy.budget_usd_per_month={room:f}")
