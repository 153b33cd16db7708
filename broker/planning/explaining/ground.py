"""What every answer rests on: the plan, its case, the catalog, and the processes that plan anew."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Self, TypeVar

from broker.domain.case import Case
from broker.domain.in_force import weighed_against
from broker.domain.plan import LineInForce, Plan
from broker.domain.workload import Workloads
from broker.planning.case import CaseReport
from broker.planning.catalog_view import CatalogView
from broker.planning.plans import case_of
from broker.settings import Settings
from broker.specs.load import Specs
from solver.milp.pool import SolverPool
from solver.milp.solve import Limits
from solver.milp.start import NOWHERE, Start

Progress = Callable[[str], None]
WORKERS = 2
_SHORTEST_S = 1.0
GRACE_S = 5.0
"""How long a solve that has begun may go on after the time is up: one of a second ends in it."""
_ResultT = TypeVar("_ResultT")


@dataclass(frozen=True, slots=True)
class Sources:
    """What a case is built from anew where options have to be sized anew.

    `in_force` are the nodes that the plan was weighed against, where it was.
    """

    view: CatalogView
    specs: Specs
    settings: Settings
    in_force: tuple[LineInForce, ...] | None = None

    def case_of(self, workloads: Workloads) -> Case:
        """Build the case of other workloads over the same catalog."""
        case = case_of(workloads, self.view, self.specs, self.settings).case
        return weighed_against(case, self.in_force)

    def without_offers(self) -> Self:
        """Keep what says how old prices may be, but none of the catalog's offers."""
        view = replace(self.view, offers=(), quarantined=(), rejections=())
        return replace(self, view=view)


@dataclass(frozen=True, slots=True)
class Ground:
    """The plan that is asked about, all that it was made from, and the time there is."""

    plan: Plan
    report: CaseReport
    sources: Sources
    pool: SolverPool
    ends_at_s: float
    progress: Progress
    clock: Callable[[], float] = time.monotonic

    @property
    def case(self) -> Case:
        """Give the case of the plan."""
        return self.report.case

    @property
    def left_s(self) -> float:
        """Give the seconds that are left."""
        return max(0.0, self.ends_at_s - self.clock())

    def limits(self, share: float = 1.0) -> Limits:
        """Give each solve the gap of the plan, a share of the time that is left, and a start."""
        settings = self.plan.settings
        time_limit_s = max(_SHORTEST_S, self.left_s * min(1.0, share))
        start = Start.of(self.plan) if self.plan.purchases else NOWHERE
        return Limits(settings.gap_fraction, time_limit_s, settings.seed, start)

    def exact_limits(self, share: float = 1.0) -> Limits:
        """Give a solve a share of the time to close the gap."""
        return replace(self.limits(share), gap_fraction=0.0)

    def all_of(self, pending: Sequence[Future[_ResultT]]) -> list[_ResultT | None]:
        """Wait for solves; those not done soon after the time is up are given up: None."""
        return waited(pending, self.ends_at_s, self.clock)


def waited(
    pending: Sequence[Future[_ResultT]], ends_at_s: float, clock: Callable[[], float]
) -> list[_ResultT | None]:
    """Wait for solves until an instant, and for those that have begun a little longer."""

    def result(future: Future[_ResultT]) -> _ResultT | None:
        if clock() >= ends_at_s and future.cancel():
            return None
        try:
            return future.result(timeout=max(0.0, ends_at_s + GRACE_S - clock()))
        except TimeoutError:
            return None

    return [result(future) for future in pending]
