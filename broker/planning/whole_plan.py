"""Plan files whose parts fit together, for all that reads a plan without checking it first.

A plan that was changed by hand may name an offer or a workload that is not in it, or dates outside
its horizon. `verify` says all that is wrong with it; a report or an export would only stumble over
it.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path

from broker.domain.candidate import MemoryUse
from broker.domain.errors import ConfigurationError
from broker.domain.pauses import Step
from broker.domain.plan import LONGEST_BLOCK_H, Plan, ServingAssignment
from broker.planning.given_plan import given_plan
from broker.settings import Settings

_LONGEST_BLOCK = timedelta(hours=LONGEST_BLOCK_H)
_MOST_GIB = 1e6
"""No GPU has so much memory."""


def read_whole_plan(given: Path, settings: Settings) -> Plan:
    """Read a plan that names no offer and no workload which it lacks: a file, or a kept one's hash.

    Raises:
        ConfigurationError: there is no such plan, it is of another version, or lacks a part, or
            the database cannot be used.
    """
    plan = given_plan(given, settings)
    for fault in chain(_faults(plan), _wrong_figures(plan)):
        raise ConfigurationError(
            f"{str(given)!r} was changed: {fault}",
            hint="a plan is what `gpubroker plan --out` wrote, unchanged; `gpubroker verify` says "
            "what else is wrong with this one",
        )
    return plan


def _faults(plan: Plan) -> Iterator[str]:
    offers = {one.key for one in plan.offers}
    for one in plan.purchases:
        if one.offer not in offers:
            yield f"the offer {one.offer!r} of {one.id} is not among its offers"
    sizes = {one.name: len(one.sizes) for one in plan.workloads.services}
    for share in plan.serving:
        if share.service not in sizes:
            yield f"the service {share.service!r} is not among its workloads"
        elif any(count != sizes[share.service] for count in _counts(share)):
            yield f"{share.service} has {sizes[share.service]} size classes; rates and steps differ"
    runs = {one.name for one in plan.workloads.runs}
    for run in plan.training:
        if run.run not in runs:
            yield f"the run {run.run!r} is not among its workloads"


def _wrong_figures(plan: Plan) -> Iterator[str]:
    """Name dates outside the horizon, steps that do not follow on each other, and absurd sizes."""
    horizon = plan.workloads.horizon
    inside = (horizon.start, horizon.end)
    near = (horizon.start - _LONGEST_BLOCK, horizon.end + _LONGEST_BLOCK)
    for one in plan.purchases:
        yield from _misplaced(one.id, one.steps, near)
        if one.block is not None and not near[0] <= one.block.starts_at <= near[1]:
            yield f"the block of {one.id} starts {one.block.starts_at:%Y-%m-%d %H:%M}"
        for covers in one.savings.covers if one.savings is not None else ():
            yield from _misplaced(f"what {one.id} covers", covers.steps, near)
    for share in plan.serving:
        name = f"{share.service} on {share.machine}"
        yield from _misplaced(name, share.steps, inside)
        yield from _oversized(name, share.candidate.memory)
    for run in plan.training:
        name = f"{run.run} on {run.machine}"
        yield from _misplaced(name, run.steps, inside)
        yield from _oversized(name, run.candidate.memory)


def _oversized(name: str, memory: MemoryUse) -> Iterator[str]:
    if not all(0 <= gib <= _MOST_GIB for gib in memory.model_dump().values()):
        yield f"the memory of {name} is no size that a GPU has"


def _misplaced(
    name: str, steps: Sequence[Step], within: tuple[datetime, datetime]
) -> Iterator[str]:
    at, last = within
    for step in steps:
        if not at <= step.from_at < step.to_at <= last:
            yield (
                f"{name} has a step from {step.from_at:%Y-%m-%d %H:%M} to "
                f"{step.to_at:%Y-%m-%d %H:%M}, which is not after the one before, or not in "
                "the time that is planned"
            )
        at = step.to_at


def _counts(share: ServingAssignment) -> Iterator[int]:
    yield len(share.candidate.rates)
    yield from (len(step.requests_per_s) for step in share.steps)
