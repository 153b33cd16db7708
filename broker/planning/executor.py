"""Where many independent jobs run: by default in processes of this machine.

What outgrows one machine implements `Executor` over a cluster; nothing else has to change, as a
job is a function of a module and a value, both of which can be pickled, and so is its result.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from typing import Protocol, TypeVar

from solver.milp.pool import SolverPool

_JobT = TypeVar("_JobT")
_ResultT = TypeVar("_ResultT")


class Executor(Protocol):
    """Runs one function over many jobs."""

    def run(
        self, function: Callable[[_JobT], _ResultT], jobs: Sequence[_JobT]
    ) -> Iterator[tuple[int, _ResultT]]:
        """Give each job's position and result, as they come; the first error ends all."""
        ...


@dataclass(frozen=True, slots=True)
class LocalProcesses:
    """Runs jobs in child processes of this one, so many at a time."""

    workers: int

    def run(
        self, function: Callable[[_JobT], _ResultT], jobs: Sequence[_JobT]
    ) -> Iterator[tuple[int, _ResultT]]:
        """Give each job's position and result, as they come; the first error ends all."""
        with SolverPool(workers=min(self.workers, max(1, len(jobs)))) as pool:
            position = {pool.submit(function, job): at for at, job in enumerate(jobs)}
            for future in as_completed(position):
                yield position[future], future.result()
