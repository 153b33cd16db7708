"""Searches that wait for child processes and run side by side in one thread.

A search yields what it waits for, and goes on when that is done; so all share the processes, and
none of them needs a lock.
"""

import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, TypeVar

from broker.domain.case import Case
from solver.milp.optimize import Optimum, optimize
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


def run_all(
    searches: Sequence[Search[_ResultT]], on_done: Callable[[_ResultT], None]
) -> list[_ResultT]:
    """Run searches to their ends; the results are in the order of the searches."""
    results: dict[int, _ResultT] = {}
    waiting: dict[Pending, int] = {}

    def advance(number: int) -> None:
        try:
            waiting[next(searches[number])] = number
        except StopIteration as end:
            results[number] = end.value
            on_done(results[number])

    for number in range(len(searches)):
        advance(number)
    while waiting:
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=waiting.__getitem__):
            advance(waiting.pop(future))
    return [results[number] for number in range(len(searches))]
