"""The joint plan's search while it goes on: its best plan, bound and gap, and Ctrl-C to end it."""

import math
import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from solver.milp.pool import Watcher

Progress = Callable[[str], None]


class Watched:
    """Tells what a search finds; the first Ctrl-C ends it with the best plan so far.

    A second one, or one before there is any plan, ends all, as anywhere else. `watcher` is the
    child's side.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._told, tell = multiprocessing.Pipe(duplex=False)
        ended, self._end = multiprocessing.Pipe(duplex=False)
        self.watcher = Watcher(tell, ended)
        self.was_ended = False
        self.on_end: Callable[[], None] = _nothing
        self.has_plan = False
        self._follower = threading.Thread(target=self._follow, daemon=True)
        self._follower.start()

    def _follow(self) -> None:
        """Read what the child sends until nothing more comes."""
        while (found := self._told.recv()) is not None:
            best_usd, bound_usd = found
            self.has_plan = self.has_plan or best_usd < math.inf
            self._progress(standing(best_usd, bound_usd))

    def end(self) -> None:
        """End the search with what it has."""
        self.was_ended = True
        self._end.send(True)
        self.on_end()
        self._progress("ending with the best plan so far; Ctrl-C again ends without one")

    def close(self) -> None:
        """Stop following, and let go of the pipes."""
        self.watcher.tell.send(None)
        self._follower.join()
        for one in (self._told, self._end, self.watcher.tell, self.watcher.ended):
            one.close()

    @contextmanager
    def interrupts(self) -> Iterator[None]:
        """Take the first Ctrl-C of the main thread as the wish to end the search."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.getsignal(signal.SIGINT)

        def first(number: int, frame: FrameType | None) -> None:
            signal.signal(signal.SIGINT, before)
            if self.has_plan:
                self.end()
            elif callable(before):
                before(number, frame)

        signal.signal(signal.SIGINT, first)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def _nothing() -> None:
    """Do nothing more."""


def standing(best_usd: float, bound_usd: float) -> str:
    """Say how far a search is: the best plan, the bound, and the gap between them."""
    if best_usd == math.inf:
        return f"no plan costs less than {bound_usd:,.2f} USD"
    gap = max(0.0, 1 - bound_usd / best_usd) if best_usd else 0.0
    return f"best {best_usd:,.2f} USD, bound {bound_usd:,.2f}, gap {gap:.2%}"
