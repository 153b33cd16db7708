"""Searches that wait for child processes and run side by side in one thread.

A search yields what it waits for, and goes on when that is done; so all share the processes, and
none of them needs a lock. When the time is up they go on without what they wait for.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import Any, TypeVar

from broker.domain.case import Case
from solver.milp.optimize import optimize
from solver.milp.optimum import Optimum
from solver.milp.solve import Limits

_ResultT = TypeVar("_ResultT")


@dataclass(frozen=True, slots=True)
class Timed:
    """A solved case, and how long that took, without the wait for a free process."""

    optimum: Optimum
    elapsed_s: float


Pending = Future[Any]
"""What a search waits for: it knows of what type the result is, who runs it need not."""

Search = Generator[Pending, None, _ResultT]


def timed_optimize(
    case: Case, limits: Limits, clock: Callable[[], float] = time.monotonic
) -> Timed:
    """Solve a case in the process that calls it."""
    started_s = clock()
    optimum = optimize(case, limits)
    return Timed(optimum, clock() - started_s)


@dataclass(slots=True)
class Budget:
    """The time that several searches share, and the processes in which they take turns.

    Each search takes one share, when it begins: what earlier ones did not use is the later ones'.
    """

    ends_at_s: float
    workers: int
    searches: int
    clock: Callable[[], float] = time.monotonic
    _busy: int = 0
    _queue: deque[Future[None]] = field(default_factory=deque)

    @property
    def left_s(self) -> float:
        """Give the seconds that are left to all."""
        return max(0.0, self.ends_at_s - self.clock())

    def end(self) -> None:
        """Leave no time to those that have not begun."""
        self.ends_at_s = min(self.ends_at_s, self.clock())

    def take_share_s(self) -> float:
        """Give a search its part of what is left, as the ones still to come take theirs."""
        share_s = self.left_s * min(1.0, self.workers / max(1, self.searches))
        self.pass_on()
        return share_s

    def pass_on(self) -> None:
        """Leave the share of a search that needs none to the others."""
        self.searches -= 1

    def in_turn(self, begin: Callable[[], Future[_ResultT] | None]) -> Search[_ResultT | None]:
        """Wait for a free process, then for what is begun in it; None where nothing came of it."""
        if self._busy == self.workers:
            turn: Future[None] = Future()
            self._queue.append(turn)
            yield turn  # who ends hands the turn over
            if not turn.done():
                return None
        else:
            self._busy += 1
        pending = begin()
        if pending is not None:
            yield pending
        if self._queue:
            self._queue.popleft().set_result(None)
        else:
            self._busy -= 1
        return None if pending is None else outcome(pending)


@dataclass(slots=True)
class Share:
    """What one search has of a budget, from its first look at it; it counts its own solves."""

    budget: Budget
    used_s: float = 0.0
    _whole_s: float | None = None

    @property
    def left_s(self) -> float:
        """Give the seconds that are left to the search."""
        if self._whole_s is None:
            self._whole_s = self.budget.take_share_s()
        return min(self.budget.left_s, self._whole_s - self.used_s)


def outcome(pending: Future[_ResultT]) -> _ResultT | None:
    """Give the result of what a search waited for; None where the time was up before."""
    return pending.result() if pending.done() else None


def run_all(
    searches: Sequence[Search[_ResultT]],
    on_done: Callable[[_ResultT], None],
    gives_up_at_s: Callable[[], float] = lambda: math.inf,
    clock: Callable[[], float] = time.monotonic,
) -> list[_ResultT]:
    """Run searches to their ends; the results are in the order of the searches.

    From `gives_up_at_s()` on nothing is waited for: every search goes on with what there is.
    """
    results: dict[int, _ResultT] = {}
    waiting: dict[Pending, list[int]] = {}  # several may wait for one thing

    def advance(number: int) -> None:
        try:
            waiting.setdefault(next(searches[number]), []).append(number)
        except StopIteration as end:
            results[number] = end.value
            on_done(results[number])

    for number in range(len(searches)):
        advance(number)
    while waiting:
        left_s = gives_up_at_s() - clock()
        timeout_s = None if math.isinf(left_s) else max(0.0, left_s)
        done, _ = wait(waiting, timeout=timeout_s, return_when=FIRST_COMPLETED)
        for future in sorted(done or waiting, key=waiting.__getitem__):
            for number in waiting.pop(future):
                advance(number)
    return [results[number] for number in range(len(searches))]
