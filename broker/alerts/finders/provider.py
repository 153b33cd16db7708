"""A provider's catalog has shrunk, is stale, or cannot be read."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

from broker.alerts.night import Night, ProviderState
from broker.alerts.phrases import command, counted, dollars, highest, instant, one_line, span
from broker.domain.alert import Alert, AlertKind

_LOST = (0.3, 0.6, 1.0)
"""Shares of a provider's offers; below the first, the change is in the nature of a market."""

_FAILING_H = (0.0, 24.0, 72.0, 336.0)
_STALE_H = (72.0, 336.0)
"""Three nights without a new price; and the fourteen days after which none is planned with."""

_HOUR = timedelta(hours=1)


def provider(night: Night) -> Iterator[Alert]:
    """Tell of each provider what is wrong with it: one thing, the cause before its effects."""
    for state in night.providers:
        if state.failing_since is not None:
            yield _failing(night, state)
        elif state.before and state.offers <= state.before * (1 - _LOST[0]):
            yield _shrunk(night, state)
        elif state.newest_observed_at is not None:
            yield from _stale(night, state)


def _failing(night: Night, state: ProviderState) -> Alert:
    since = state.failing_since or night.now
    reached = highest((night.now - since) / _HOUR, _FAILING_H) or 0
    stand = f"{state.offers:,} old offers stand"
    age = f", the newest of {instant(state.newest_observed_at)}" if state.newest_observed_at else ""
    return Alert(
        kind=AlertKind.PROVIDER_FAILING,
        subject=state.name,
        state=f"failing for {reached:.0f} h or more",
        title=f"{state.name} cannot be read since {instant(since)}",
        since=since,
        facts=(one_line(state.error) or "no reason is known", f"{stand}{age}", _use(night, state)),
        action=command("refresh", "--provider", state.name),
    )


def _shrunk(night: Night, state: ProviderState) -> Alert:
    lost = 1 - state.offers / state.before
    return Alert(
        kind=AlertKind.PROVIDER_SHRUNK,
        subject=state.name,
        state=f"lost {highest(lost, _LOST) or _LOST[0]:.0%} or more",
        title=f"{state.name} lists {lost:.0%} fewer offers than a day ago",
        since=state.newest_observed_at or night.now,
        facts=(f"{state.offers:,} offers; there were {state.before:,}", _use(night, state)),
        action=command("status", "--provider", state.name),
    )


def _stale(night: Night, state: ProviderState) -> Iterator[Alert]:
    newest = state.newest_observed_at or night.now
    age = night.now - newest
    reached = highest(age / _HOUR, _STALE_H)
    if reached is None:
        return
    usable = "still" if reached < _STALE_H[-1] else "no longer"
    yield Alert(
        kind=AlertKind.PROVIDER_STALE,
        subject=state.name,
        state=f"older than {reached:.0f} h",
        title=f"The prices of {state.name} are {span(age)} old",
        since=newest,
        facts=(f"at this age its offers are {usable} planned with", _use(night, state)),
        action=command("refresh", "--provider", state.name),
    )


def _use(night: Night, state: ProviderState) -> str:
    """Say what depends on the provider."""
    plan = night.acted_on
    if plan is None:
        return "there is no plan yet that uses it"
    keys = {offer.key for offer in plan.offers if offer.provider == state.name}
    bought = [purchase for purchase in plan.purchases if purchase.offer in keys]
    if not bought:
        return "the plan in force buys nothing of it"
    usd = sum((purchase.usd for purchase in bought), Decimal(0))
    per_day = dollars(usd / plan.workloads.horizon.days)
    return f"the plan in force buys {counted(len(bought), 'line')} of it, for {per_day} a day"
