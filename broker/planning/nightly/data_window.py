"""What data costs in a part of a plan's time: moved where work begins, kept while it goes on."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from broker.domain.plan import CostLine, Plan, RunStep, ServingStep, Term
from broker.domain.quantities import quantize_usd
from broker.planning.differences.lines import Window

EGRESS = "egress of "
"""Begins the name of an item that is the one-time egress of a workload."""
STORAGE = "storage of "
"""Begins the name of an item that is what a workload keeps in one place."""


def workloads_of_data(plan: Plan) -> Iterator[tuple[str, str]]:
    """Pair the items of a plan that are egress or storage with their workloads."""
    prefixes = {Term.EGRESS: EGRESS, Term.STORAGE: STORAGE}
    for line in plan.cost_lines:
        if line.term in prefixes:
            yield f"{prefixes[line.term]}{line.subject}", line.workload


def storage_lines(plan: Plan, window: Window) -> Iterator[CostLine]:
    """Give the lines of storage with their part in a window, by the time at work in it."""
    for line in plan.cost_lines:
        if line.term is Term.STORAGE:
            part = _part(plan, line.workload, window)
            usd = quantize_usd(line.usd * part.numerator / part.denominator)
            yield line.model_copy(update={"usd": usd})


def storage(plan: Plan, window: Window) -> dict[str, Decimal]:
    """Charge what is kept in a window."""
    return {f"{STORAGE}{line.subject}": line.usd for line in storage_lines(plan, window)}


def egress(plan: Plan, window: Window) -> dict[str, Decimal]:
    """Charge the data of what begins in the window, once, and results of runs that end in it."""
    begun, ended = begun_before(plan, window), _ended_before(plan, window)
    return {
        f"{EGRESS}{line.subject}": line.usd
        for line in plan.cost_lines
        if line.term is Term.EGRESS and line.subject not in begun and line.workload not in ended
    }


def egress_after(in_force: Plan, made: Plan, window: Window) -> dict[str, Decimal]:
    """Charge the data of tonight's plan, but for what works on where its data is already."""
    at, later = _places(in_force), _places(made)
    begun = begun_before(in_force, window)
    stays = {name for name, places in later.items() if name in begun and places <= at[name]}
    charged = egress(made, Window(made.workloads.horizon.start, window.to_at))
    return {name: usd for name, usd in charged.items() if name.removeprefix(EGRESS) not in stays}


def begun_before(plan: Plan, window: Window) -> frozenset[str]:
    """Name the workloads that were at work before the window."""
    return frozenset(
        name for name, steps in _steps(plan) if any(step.from_at < window.from_at for step in steps)
    )


def _ended_before(plan: Plan, window: Window) -> frozenset[str]:
    return frozenset(
        one.run for one in plan.training if one.steps and one.steps[-1].to_at <= window.from_at
    )


def _places(plan: Plan) -> dict[str, set[str]]:
    places: dict[str, set[str]] = {}
    for group in plan.serving:
        places.setdefault(group.service, set()).add(group.machine)
    for run in plan.training:
        places.setdefault(run.run, set()).add(run.machine)
    return places


def _part(plan: Plan, workload: str, window: Window) -> Fraction:
    inside = every = Fraction(0)
    for name, steps in _steps(plan):
        if name == workload:
            for step in steps:
                replicas = step.replicas if isinstance(step, ServingStep) else 1
                every += replicas * round((step.to_at - step.from_at).total_seconds())
                from_at, to_at = max(step.from_at, window.from_at), min(step.to_at, window.to_at)
                inside += replicas * max(0, round((to_at - from_at).total_seconds()))
    return inside / every if every else Fraction(0)


def _steps(plan: Plan) -> Iterator[tuple[str, tuple[ServingStep, ...] | tuple[RunStep, ...]]]:
    yield from ((one.service, one.steps) for one in plan.serving)
    yield from ((one.run, one.steps) for one in plan.training)
