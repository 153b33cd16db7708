"""One plan among many that differ in a few things: made in one process, with nothing beside it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from broker.domain.plan import Plan, SolveSettings
from broker.planning.comparisons import Solved
from broker.planning.executor import Executor
from broker.planning.planner import checked_plan
from broker.planning.plans import case_of, catalog_of
from broker.planning.what_if import Inputs
from broker.planning.workloads_file import check_names
from broker.settings import Settings
from broker.specs.load import Specs
from solver.milp.optimize import optimize
from solver.milp.solve import Limits


@dataclass(frozen=True, slots=True)
class PlanJob:
    """All that one plan is made from; it may travel to another machine, so it has no keys."""

    inputs: Inputs
    solve: SolveSettings
    specs: Specs
    settings: Settings


def plan_points(
    points: Sequence[Inputs],
    solve: SolveSettings,
    executor: Executor,
    *,
    specs: Specs,
    settings: Settings,
    on_done: Callable[[int], None],
) -> tuple[Plan, ...]:
    """Make the plan of each point, each checked independently; call `on_done` as each is made.

    Raises:
        ConfigurationError: the workloads name what our tables or the catalog do not know.
    """
    without_keys = settings.model_copy(update={"keys": {}})
    for point in points:
        check_names(point.workloads, specs)
    jobs = [PlanJob(point, solve, specs, without_keys) for point in points]
    plans: dict[int, Plan] = {}
    for at, plan in executor.run(make_point, jobs):
        plans[at] = plan
        on_done(at)
    return tuple(plans[at] for at in range(len(points)))


def make_point(job: PlanJob) -> Plan:
    """Make one plan in the process that calls it."""
    report = case_of(job.inputs.workloads, job.inputs.view, job.specs, job.settings)
    solve = job.solve
    limits = Limits(solve.gap_fraction, solve.time_limit_s, solve.seed)
    solved = Solved(joint=optimize(report.case, limits))
    return checked_plan(report, catalog_of(job.inputs.view), solve, solved)
