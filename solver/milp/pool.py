"""Child processes that solve: they can be stopped at any moment, and use the other cores."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import ParamSpec, Self, TypeVar

from broker.domain.case import Case
from solver.milp.optimize import optimize, relaxed_bound_usd
from solver.milp.optimum import Optimum
from solver.milp.solve import Limits
from solver.milp.watch import Watch

_P = ParamSpec("_P")
_ResultT = TypeVar("_ResultT")


@dataclass(frozen=True, slots=True)
class Watcher:
    """The ends of two pipes for who follows a search in a child process.

    Each better plan and bound, in dollars, goes to `tell`; whatever comes from `ended` ends it.
    """

    tell: Connection
    ended: Connection


class SolverPool:
    """A fixed number of child processes; one case a process at a time."""

    def __init__(self, workers: int, watcher: Watcher | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(
            max_workers=workers, mp_context=context, initializer=_begin, initargs=(watcher,)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def optimize(self, case: Case, limits: Limits, *, is_watched: bool = False) -> Future[Optimum]:
        """Start to plan a case; a watched one tells the pool's watcher how far it is."""
        return self.submit(_watched if is_watched else optimize, case, limits)

    def relaxed_bound_usd(self, case: Case) -> Future[float]:
        """Start to compute what a case costs at least; infinity where it has no plan."""
        return self.submit(relaxed_bound_usd, case)

    def submit(
        self, job: Callable[_P, _ResultT], *args: _P.args, **kwargs: _P.kwargs
    ) -> Future[_ResultT]:
        """Start any work: a function of a module, with values that can be pickled."""
        with _deaf_to_interrupts():
            return self._pool.submit(job, *args, **kwargs)

    def stop(self) -> None:
        """End all child processes, also in the middle of a solve."""
        for process in list((self._pool._processes or {}).values()):  # noqa: SLF001 - no public way
            process.terminate()
        self._pool.shutdown(wait=False, cancel_futures=True)


@dataclass(slots=True)
class _Child:
    """What a child process was given when it began."""

    watcher: Watcher | None = None


_CHILD = _Child()
"""Pipes reach a child only as it begins: one that is sent later would need a socket."""


def _watched(case: Case, limits: Limits) -> Optimum:
    watcher = _CHILD.watcher
    if watcher is None:
        return optimize(case, limits)
    watch = Watch(lambda best, bound: watcher.tell.send((best, bound)), watcher.ended.poll)
    return optimize(case, limits, watch=watch)


def _begin(watcher: Watcher | None) -> None:
    """Keep off stdout, which is for data, what the solver's own code prints; end with the parent.

    A parent that is killed ends no child, and a worker would wait for its next case for ever.
    """
    _CHILD.watcher = watcher
    os.dup2(sys.stderr.fileno(), 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)  # nobody is left to hand a result to


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Start a child with a mask without Ctrl-C, and put off our own Ctrl-C until it has started.

    A terminal sends Ctrl-C to all processes: ours ends its children, which would print tracebacks,
    as would one whose start is broken off half way. The mask is for the child: another thread of
    ours may still take the signal, hence the handler that waits.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    can_mask = hasattr(signal, "pthread_sigmask")  # not on Windows
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if can_mask else set()
    try:
        yield
    finally:
        if can_mask:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, handler)
    if came:
        raise KeyboardInterrupt
