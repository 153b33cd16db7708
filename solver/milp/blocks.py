"""Which windows of capacity blocks a plan may book: few of them, each of use to some workload.

Where a provider sells one start, that is the start. Where the buyer chooses, blocks start at day
boundaries: whole days after the horizon's start, no later than may be booked ahead of the price's
date. Of those, only some are looked at, as all days and lengths would be far too many:

- for services, blocks that follow each other from the horizon's start on, each as long as is sold
  and fits before its end; where none fits, the shortest, from the start;
- for each run and gang of the machine, blocks that begin on one of a few days of the run's window,
  each as short as is sold among those in which the run can be done whole, else the longest.

A block that ends after the horizon is paid whole.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from broker.domain.candidate import GangCandidate
from broker.domain.case import Case
from broker.domain.horizon import Slot
from broker.domain.offer import Block, Offer, PriceKind
from broker.domain.policy import Sharing
from broker.domain.quantities import HOURS_PER_MONTH
from broker.domain.workload import Run
from solver.milp.demands import ROUNDING

MOST_STARTS = 10
"""A run's window is tried from no more days than this, evenly spread."""

_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class BlockWindow:
    """From when and for how long a block may be booked, and for which side where sides are apart.

    `for_runs` is None where training and serving share nodes.
    """

    starts_at: datetime
    length_h: int
    for_runs: bool | None = None

    @property
    def ends_at(self) -> datetime:
        """Give the first instant after it."""
        return self.starts_at + self.length_h * _HOUR

    def covers(self, slot: Slot) -> bool:
        """Say whether its nodes are there for the whole slot."""
        return self.starts_at <= slot.start_at and slot.end_at <= self.ends_at

    def touches(self, slot: Slot) -> bool:
        """Say whether its nodes are there for some part of the slot."""
        return self.starts_at < slot.end_at and slot.start_at < self.ends_at

    def overlaps(self, run: Run) -> bool:
        """Say whether a run may work in some of it."""
        return run.window.earliest < self.ends_at and self.starts_at < run.window.deadline


def block_windows(case: Case, offer: Offer) -> tuple[BlockWindow, ...]:
    """List the windows of an offer that a plan may book, in order; none if it is no block."""
    if offer.block is None or offer.price_kind is not PriceKind.CAPACITY_BLOCK:
        return ()
    users = _Users.of(case, offer.machine)
    horizon = case.workloads.horizon
    found = {
        one
        for one in _of_use(case, offer.block, users)
        if horizon.start <= one.starts_at < horizon.end and _can_be_booked(offer, one)
    }
    slots = horizon.slots()
    usable = [
        one
        for one in sorted(found, key=lambda one: (one.starts_at, one.length_h))
        if any(one.covers(slot) for slot in slots) and users.sides(one)
    ]
    if case.workloads.policy.sharing is not Sharing.SPLIT:
        return tuple(usable)
    return tuple(replace(one, for_runs=side) for one in usable for side in users.sides(one))


@dataclass(frozen=True, slots=True)
class _Users:
    """Who may work on firm nodes of a machine: services or not, and runs with their gangs."""

    serves: bool
    gangs: tuple[tuple[Run, GangCandidate], ...]

    @classmethod
    def of(cls, case: Case, machine: str) -> "_Users":
        runs = {run.name: run for run in case.workloads.runs}
        return cls(
            any(one.machine == machine and not one.on_spot for one in case.serving),
            tuple(
                (runs[one.run], one.candidate)
                for one in case.training
                if one.machine == machine and not one.candidate.on_spot
            ),
        )

    def sides(self, window: BlockWindow) -> list[bool]:
        """List who may use a window: services as False, runs as True."""
        has_run = any(window.overlaps(run) for run, _ in self.gangs)
        return [False] * self.serves + [True] * has_run


def _of_use(case: Case, block: Block, users: _Users) -> Iterator[BlockWindow]:
    longest_h = case.workloads.policy.commitments.max_term_months * HOURS_PER_MONTH
    lengths = sorted({one for one in block.lengths_h if Decimal(one) <= longest_h})
    if not lengths:
        return
    if block.starts_at is not None:
        yield from (BlockWindow(block.starts_at, length) for length in lengths)
        return
    if users.serves:
        yield from _one_after_the_other(case, lengths)
    for run, candidate in users.gangs:
        yield from _for_run(case, lengths, run, candidate)


def _can_be_booked(offer: Offer, window: BlockWindow) -> bool:
    if offer.block is None or offer.block.book_ahead_days is None:
        return True
    last_at = offer.provenance.observed_at + offer.block.book_ahead_days * _DAY
    return window.starts_at <= last_at


def _one_after_the_other(case: Case, lengths: Sequence[int]) -> Iterator[BlockWindow]:
    horizon = case.workloads.horizon
    start, left_h = horizon.start, horizon.hours
    if lengths[0] > left_h:
        yield BlockWindow(start, lengths[0])
        return
    while lengths[0] <= left_h:
        length = max(one for one in lengths if one <= left_h)
        yield BlockWindow(start, length)
        days = math.ceil(length / 24)
        start, left_h = start + days * _DAY, left_h - days * 24


def _for_run(
    case: Case, lengths: Sequence[int], run: Run, candidate: GangCandidate
) -> Iterator[BlockWindow]:
    horizon = case.workloads.horizon
    needed_s = run.tokens / candidate.tokens_per_s + candidate.startup_s
    slots = max(1, math.ceil(needed_s / horizon.slot.total_seconds() * (1 - ROUNDING)))
    if slots > (run.window.deadline - run.window.earliest) // horizon.slot:
        return
    work = slots * horizon.slot
    first = max(0, (run.window.earliest - horizon.start) // _DAY)
    last = (min(run.window.deadline, horizon.end) - work - horizon.start) // _DAY
    days = range(first, max(first, last) + 1)
    for day in days[:: math.ceil(len(days) / MOST_STARTS)]:
        start = horizon.start + day * _DAY
        wait = max(run.window.earliest - start, timedelta(0))
        enough = [one for one in lengths if one * _HOUR >= wait + work]
        yield BlockWindow(start, enough[0] if enough else lengths[-1])
