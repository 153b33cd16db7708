import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker.clock import system_clock
from broker.domain.plan import SolveSettings
from broker.planning.catalog_view import CatalogSource
from broker.planning.explaining.ground import WORKERS, Ground, Sources
from broker.planning.plans import case_of, plan_workloads
from broker.planning.service import PlanningService
from broker.planning.workloads_file import read_workloads
from broker.settings import Settings
from solver.milp.pool import SolverPool

MakeGround = Callable[[Path, Path], Ground]
"""Plans a workloads file over a sheet, and makes ready to ask about the plan."""


@pytest.fixture(scope="session")
def service() -> PlanningService:
    return PlanningService(Settings(), system_clock)


@pytest.fixture(scope="session")
def pool() -> Iterator[SolverPool]:
    with SolverPool(workers=WORKERS) as pool:
        yield pool


@pytest.fixture
def ground(service: PlanningService, pool: SolverPool) -> MakeGround:
    def make(workloads: Path, sheet: Path) -> Ground:
        view = service.view(CatalogSource(sheet=sheet))
        demand = read_workloads(workloads)
        solve = SolveSettings(gap_fraction=0.0, time_limit_s=60, seed=0)
        specs, settings = service.specs, service.settings
        plan = plan_workloads(
            demand, view, solve, specs=specs, settings=settings, progress=lambda _: None
        )
        report = case_of(demand, view, specs, settings)
        sources = Sources(view, specs, settings)
        return Ground(plan, report, sources, pool, time.monotonic() + 300, lambda _: None)

    return make
