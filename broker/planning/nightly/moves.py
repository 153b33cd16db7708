"""What a change of plans disturbs, and the change told as moves that stand for themselves.

A node is disturbed if it comes, goes, or carries other work. Lines that have a workload in common
change together, so they are one move with one saving; the savings of all moves add up to the
whole.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from broker.domain.plan import NodeStep, Plan, Purchase, RunStep, ServingStep
from broker.exports.lines import lines
from broker.planning.differences.handover import handed_over
from broker.planning.differences.lines import Window
from broker.planning.nightly.data_window import workloads_of_data
from broker.planning.nightly.window import Costs

_SHOWN = 3
_SECONDS_PER_DAY = 86_400


Held = Mapping[tuple[str, str], Sequence[NodeStep]]
"""Counts over time by machine and item: nodes of a line, or GPUs of a kind of work."""


@dataclass(frozen=True, slots=True)
class Move:
    """A part of the change that stands for itself, and what it saves in the window."""

    text: str
    usd: Decimal


@dataclass(frozen=True, slots=True)
class Disturbed:
    """How many nodes a change disturbs, of how many that the plan in force has."""

    nodes: int
    of_nodes: int

    @property
    def share(self) -> float:
        """Give the part of the nodes that is disturbed; all, where more come than there were."""
        return min(1.0, self.nodes / self.of_nodes) if self.of_nodes else 1.0


def disturbed_by(in_force: Plan, made: Plan, window: Window) -> Disturbed:
    """Count the nodes that come or go, or of which the work changes, the larger of both ways."""
    in_force = handed_over(in_force, made)
    before, after = _nodes_by_line(in_force, window), _nodes_by_line(made, window)
    work_before, work_after = _gpus_by_work(in_force, window), _gpus_by_work(made, window)
    per_node = _gpus_per_node(in_force) | _gpus_per_node(made)
    going = _by_machine(_less(before, after), _less(work_before, work_after), per_node)
    coming = _by_machine(_less(after, before), _less(work_after, work_before), per_node)
    return Disturbed(max(going, coming), sum(_most(counts) for counts in before.values()))


def days_apart(in_force: Plan, made: Plan, window: Window) -> Decimal:
    """Measure the part of the window in which the plans have other nodes, or other work on them."""
    in_force = handed_over(in_force, made)
    old = _nodes_by_line(in_force, window), _gpus_by_work(in_force, window)
    new = _nodes_by_line(made, window), _gpus_by_work(made, window)
    held = [steps for of in (*old, *new) for steps in of.values()]
    ends = sorted({at for steps in held for one in steps for at in (one.from_at, one.to_at)})
    seconds = sum(
        Decimal((to_at - from_at).total_seconds())
        for from_at, to_at in pairwise(ends)
        if any(_differ_at(before, after, from_at) for before, after in zip(old, new, strict=True))
    )
    return Decimal(seconds) / _SECONDS_PER_DAY


def moves_between(
    in_force: Plan | None, made: Plan, costs: Costs, window: Window
) -> tuple[Move, ...]:
    """Tell the change as moves, the one that saves or costs most first."""
    in_force = handed_over(in_force, made) if in_force else None
    old = {one.id: one for one in in_force.purchases} if in_force else {}
    new = {one.id: one for one in made.purchases}
    ids = dict.fromkeys((*old, *new, *costs.before, *costs.after))
    changed = [one for one in ids if costs.saved(one) or _differs(old, new, one, window)]
    work = _work_by_item([plan for plan in (in_force, made) if plan])
    moves = [
        Move(
            _told(group, names, old=old, new=new, window=window),
            sum((costs.saved(one) for one in group), Decimal(0)),
        )
        for group, names in _groups(changed, work)
    ]
    return tuple(sorted(moves, key=lambda move: (-abs(move.usd), move.text)))


def _nodes_by_line(plan: Plan, window: Window) -> Held:
    machines = {offer.key: offer.machine for offer in plan.offers}
    return {(machines[one.offer], one.id): window.clipped(one.steps) for one in plan.purchases}


def _gpus_by_work(plan: Plan, window: Window) -> Held:
    found: defaultdict[tuple[str, str], list[NodeStep]] = defaultdict(list)
    for one in plan.serving:
        name = f"{one.service} {one.user_region} {one.candidate.id} {one.on_spot}"
        gpus = one.candidate.gpus
        found[one.machine, name] += [
            _held(step, math.ceil(step.replicas * gpus)) for step in one.steps
        ]
    per_node = _gpus_per_node(plan)
    for run in plan.training:
        name = f"{run.run} {run.candidate.id} {run.on_spot}"
        gpus = math.ceil(run.candidate.nodes * per_node[run.machine])
        found[run.machine, name] += [_held(step, gpus) for step in run.steps]
    return {key: window.clipped(steps) for key, steps in found.items()}


def _held(step: ServingStep | RunStep, count: int) -> NodeStep:
    return NodeStep(from_at=step.from_at, to_at=step.to_at, nodes=count)


def _gpus_per_node(plan: Plan) -> dict[str, Fraction]:
    return {offer.machine: offer.hardware.shape.gpu_count for offer in plan.offers}


def _less(before: Held, after: Held) -> dict[str, int]:
    """Add up by machine the most that each item has less than it had."""
    found: defaultdict[str, int] = defaultdict(int)
    for (machine, name), counts in before.items():
        others = after.get((machine, name), ())
        ends = sorted({at for step in (*counts, *others) for at in (step.from_at, step.to_at)})
        gaps = [_at(counts, at) - _at(others, at) for at in ends]
        found[machine] += max(0, *gaps, 0)
    return found


def _differ_at(before: Held, after: Held, at: datetime) -> bool:
    return any(
        _at(before.get(name, ()), at) != _at(after.get(name, ()), at) for name in {*before, *after}
    )


def _by_machine(
    nodes: Mapping[str, int], gpus: Mapping[str, int], per_node: Mapping[str, Fraction]
) -> int:
    return sum(
        max(nodes.get(machine, 0), math.ceil(gpus.get(machine, 0) / per_node[machine]))
        for machine in sorted({*nodes, *gpus})
    )


def _at(counts: Iterable[NodeStep], at: datetime) -> int:
    return sum(one.nodes for one in counts if one.from_at <= at < one.to_at)


def _most(counts: Iterable[NodeStep]) -> int:
    return max((one.nodes for one in counts), default=0)


def _differs(
    old: Mapping[str, Purchase], new: Mapping[str, Purchase], item: str, window: Window
) -> bool:
    steps = (window.clipped(of[item].steps) if item in of else () for of in (old, new))
    before, after = steps
    return before != after


def _work_by_item(plans: Iterable[Plan]) -> dict[str, set[str]]:
    """Name the workloads on each line, and the one whose data an item is."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for plan in plans:
        for line in lines(plan):
            found[line.id] |= {share.assignment.service for share in line.serving}
            found[line.id] |= {share.assignment.run for share in line.training}
        for item, workload in workloads_of_data(plan):
            found[item].add(workload)
    return found


def _groups(
    items: Sequence[str], work: Mapping[str, set[str]]
) -> Iterator[tuple[list[str], list[str]]]:
    """Put items together that share a workload, directly or through others."""
    left = list(items)
    while left:
        group, names = [left.pop(0)], set[str]()
        names |= work.get(group[0], set())
        while more := [one for one in left if work.get(one, set()) & names]:
            group += more
            names = names.union(*(work[one] for one in more))
            left = [one for one in left if one not in more]
        yield group, sorted(names)


def _told(
    group: Sequence[str],
    names: Sequence[str],
    *,
    old: Mapping[str, Purchase],
    new: Mapping[str, Purchase],
    window: Window,
) -> str:
    """Say it as people do: move chat from 2 × this to 3 × that."""
    less = [_counted(old[one], window) for one in group if one in old and one not in new]
    more = [_counted(new[one], window) for one in group if one in new and one not in old]
    both = [one for one in group if one in old and one in new]
    parts = [_way(less, more)] if less or more else []
    if both:
        parts.append(_listed([_recounted(old[one], new[one], window) for one in both]))
    if not parts:
        parts.append("; ".join(group))
    return f"{_listed(names)}: {'; '.join(parts)}" if names else "; ".join(parts)


def _way(less: Sequence[str], more: Sequence[str]) -> str:
    if less and more:
        return f"from {_listed(less)} to {_listed(more)}"
    return f"give up {_listed(less)}" if less else f"add {_listed(more)}"


def _counted(purchase: Purchase, window: Window) -> str:
    return f"{_most(window.clipped(purchase.steps))} × {purchase.id}"


def _recounted(old: Purchase, new: Purchase, window: Window) -> str:
    before, after = (_most(window.clipped(one.steps)) for one in (old, new))
    if before != after:
        return f"{after} × {new.id} instead of {before}"
    return f"{after} × {new.id} at other hours"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
