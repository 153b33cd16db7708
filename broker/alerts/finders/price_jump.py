"""A price jump: what the plan in force rents has become dearer."""

from collections.abc import Iterator
from decimal import Decimal

from broker.alerts.night import Night, PriceMove
from broker.alerts.phrases import adopt, command, dollars, highest, one_line
from broker.domain.alert import Alert, AlertKind
from broker.domain.quantities import quantize_usd

_RISES = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Shares of the old price; a rise that reaches the next one is told again."""

_HOURS_PER_DAY = 24


def price_jump(night: Night) -> Iterator[Alert]:
    """Tell of each offer in use that costs a tenth more than it did, or more still.

    A rise that costs less a day than the floor is in the nature of a spot market, and a fall costs
    nobody anything: what can be won by it is in tonight's plan.
    """
    for move in night.price_moves:
        if move.usd_per_hour_before <= 0:
            continue
        rise = move.usd_per_hour_now / move.usd_per_hour_before - 1
        reached = highest(float(rise), _RISES)
        if reached is not None and _usd_per_day(move) >= night.price_floor_usd_per_day:
            yield _alert(night, move, rise, reached)


def _usd_per_day(move: PriceMove) -> Decimal:
    return _usd_per_node_day(move) * Decimal(str(move.nodes))


def _usd_per_node_day(move: PriceMove) -> Decimal:
    return (move.usd_per_hour_now - move.usd_per_hour_before) * _HOURS_PER_DAY


def _alert(night: Night, move: PriceMove, rise: Decimal, reached: float) -> Alert:
    before, now = f"{move.usd_per_hour_before:f}", f"{move.usd_per_hour_now:f}"
    return Alert(
        kind=AlertKind.PRICE_JUMP,
        scope=night.workloads,
        subject=move.offer,
        state=f"up by {reached:.0%} or more",
        title=f"{one_line(move.offer)} costs {rise:.0%} more",
        since=move.seen_at,
        usd_per_day=quantize_usd(_usd_per_day(move)),
        facts=(
            f"{now} USD per node-hour; it was {before}",
            f"the plan in force uses {move.nodes:g} of its nodes",
            f"each node costs {dollars(_usd_per_node_day(move))} more a day",
        ),
        action=_action(night, move),
    )


def _action(night: Night, move: PriceMove) -> str:
    """Take tonight's plan, if it is worth it; else see the past of the price."""
    return adopt(night) if night.made and night.adopted else command("history", move.offer)
