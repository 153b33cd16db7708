"""The door to plans that are set side by side: strategies, what-ifs, sweeps over one catalog."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from broker.domain.plan import Plan, SolveSettings
from broker.planning.catalog_view import CatalogSource
from broker.planning.executor import Executor, LocalProcesses
from broker.planning.planner import Progress, make_plan
from broker.planning.plans import case_of, catalog_of
from broker.planning.points import plan_points
from broker.planning.service import PlanningService
from broker.planning.strategies import strategies
from broker.planning.sweep import Axis, Sweep, plan_sweep
from broker.planning.what_if import Change, Inputs, changed
from broker.planning.workloads_file import check_names, read_workloads

_WORKERS = 2
_JOINT_SHARE = 0.5
"""The part of the time of a comparison that the search of the joint plan may take."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The plan of the files as they are, and that with the changes made."""

    changes: tuple[Change, ...]
    base: Plan
    changed: Plan


class ScenarioService:
    """Plans the same workloads in several ways; the catalog is the planning service's."""

    def __init__(self, planning: PlanningService, executor: Executor | None = None) -> None:
        self._planning = planning
        self._executor = executor or LocalProcesses(_WORKERS)

    def compare(
        self, workloads: Path, source: CatalogSource, solve: SolveSettings, progress: Progress
    ) -> Plan:
        """Make the joint plan, with what each narrower strategy costs as its comparisons.

        The time limit is that of all searches together; the plan tells what its own search had.

        Raises:
            ConfigurationError: the file or the catalog cannot be used.
        """
        specs = self._planning.specs
        inputs = self._inputs(workloads, source)
        check_names(inputs.workloads, specs)
        progress("sizing every workload on every machine")
        report = case_of(inputs.workloads, inputs.view, specs, self._planning.settings)
        own = solve.model_copy(update={"time_limit_s": solve.time_limit_s * _JOINT_SHARE})
        return make_plan(
            report,
            catalog_of(inputs.view),
            own,
            progress,
            beside=strategies(report.case, specs.gpus),
            gap=solve.gap_fraction,
            budget_s=solve.time_limit_s,
        )

    def what_if(
        self,
        workloads: Path,
        source: CatalogSource,
        solve: SolveSettings,
        changes: Sequence[Change],
        *,
        progress: Progress,
    ) -> WhatIf:
        """Plan the files as they are and with changes, side by side.

        Raises:
            ConfigurationError: the file or the catalog cannot be used, or a change makes no sense.
        """
        inputs = self._inputs(workloads, source)
        progress("solving as it is and as it would be")
        names = ("as it is", "what if")
        points = (inputs, changed(inputs, changes))
        base, other = plan_points(
            points,
            solve,
            self._executor,
            specs=self._planning.specs,
            settings=self._planning.settings,
            on_done=lambda at: progress(f"solved: {names[at]}"),
        )
        return WhatIf(tuple(changes), base, other)

    def sweep(
        self,
        workloads: Path,
        source: CatalogSource,
        solve: SolveSettings,
        axes: Sequence[Axis],
        *,
        on_done: Callable[[str], None],
    ) -> Sweep:
        """Plan every combination of the values of one or two keys.

        Raises:
            ConfigurationError: the file or the catalog cannot be used, or a value makes no sense.
        """
        return plan_sweep(
            self._inputs(workloads, source),
            axes,
            solve,
            self._executor,
            specs=self._planning.specs,
            settings=self._planning.settings,
            on_done=on_done,
        )

    def _inputs(self, workloads: Path, source: CatalogSource) -> Inputs:
        today = (source.as_of or self._planning.clock()).date()
        return Inputs(read_workloads(workloads, today), self._planning.view(source))
