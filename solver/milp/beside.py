"""Work on the other core while this thread solves: the solver lets Python go meanwhile.

One job beside, or many shared by as many threads as are worth it. It knows nothing of programs.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDoneError
from typing import Generic, TypeVar

WORKERS = 2

_Result = TypeVar("_Result")
_Job = TypeVar("_Job")


class Beside(Generic[_Result]):
    """One job in a thread of its own, which ends with the process where nobody waits for it."""

    def __init__(self, job: Callable[[], _Result]) -> None:
        self._job = job
        self._future: Future[_Result] = Future()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        try:
            result = self._job()
        except BaseException as error:  # noqa: BLE001 - it is raised again where the result is asked for
            self._future.set_exception(error)
        else:
            self._future.set_result(result)

    def result(self, wait_s: float | None = None) -> _Result | None:
        """Wait for the job; give None where it is not done in the time: it goes on by itself."""
        try:
            return self._future.result(wait_s)
        except NotDoneError:
            return None


def shared(jobs: Sequence[_Job], work: Callable[[_Job], _Result]) -> list[_Result]:
    """Do jobs with some threads, each the next one that is not begun; give what came of them."""
    done: dict[int, _Result] = {}
    left = iter(list(enumerate(jobs)))

    def some() -> bool:
        for at, job in left:
            done[at] = work(job)
        return True

    others = [Beside(some) for _ in range(min(WORKERS, len(jobs)) - 1)]
    some()
    for one in others:
        one.result()
    return [done[at] for at in range(len(jobs))]
