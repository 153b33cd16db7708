"""The joint program: a program for each scenario, and what is decided before one of them comes.

Commitments, the runs' places and hours, and the kinds of replica are decided now, the same in every
scenario. Replicas, and nodes by the hour, answer to the scenario, with columns of its own.
All families hold in each scenario, but for what is asked of commitments over their whole term and
of the plan's targets: that is asked of the forecast alone, which is what is expected.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from broker.domain.case import Case
from broker.domain.robust import Measure, Robust
from solver.milp.build import build_sets
from solver.milp.program import Program, build_program
from solver.milp.prune import Pruned, prune_alike
from solver.milp.scenarios.cases import scenario_cases
from solver.milp.sets import Configuration, Floats, Sets
from solver.milp.variables import Block

FORECAST_FAMILIES = frozenset(
    {
        "kept_replicas",
        "steady_level",
        "steady_whole",
        "steady_limit",
        "savings_steady",
        "committed_share",
        "idle_nodes",
        "commitment_use",
    }
)
"""Families about what commitments are worth, or about targets: those of the forecast alone."""

Choice = tuple[str, str, bool, Configuration]
"""A configuration for a demand: service, user region, whether of its prompts alone, and it."""
Decision = tuple[object, ...]
Prune = Callable[[Sequence[Case]], Sequence[Pruned]]
"""Drops the same from the cases of all scenarios: what no plan needs."""
Build = Callable[[Sets], Program]
"""Makes the program of a scenario."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario's own program, and where its columns begin in the joint one."""

    name: str
    probability: float
    program: Program
    start: int

    def of(self, values: Floats) -> Floats:
        """Give its part of values of all columns."""
        return values[self.start : self.start + self.program.columns.size]


@dataclass(frozen=True, slots=True)
class Joint:
    """All scenarios, the forecast first, and the columns that they share.

    chosen[c] says of a configuration whether it may serve its demand, c of `choices`. For the
    measure `cvar`, value_at_risk[0] are dollars that all but the worst courses cost at most, and
    beyond_usd[s] what scenario s costs beyond them.
    """

    robust: Robust
    scenarios: tuple[Scenario, ...]
    choices: tuple[Choice, ...]
    chosen: Block
    value_at_risk: Block
    beyond_usd: Block

    @property
    def size(self) -> int:
        """Count all columns."""
        return self.beyond_usd.start + self.beyond_usd.size

    @property
    def tail_weight(self) -> float:
        """Give the part of the objective that the worst courses have."""
        return float(self.robust.weight) if self.robust.measure is Measure.CVAR else 0.0

    def blocks(self) -> Iterator[Block]:
        """List all blocks in column order, moved to where they are in the joint program."""
        for scenario in self.scenarios:
            for block in scenario.program.columns.blocks():
                yield replace(block, start=block.start + scenario.start)
        yield from (self.chosen, self.value_at_risk, self.beyond_usd)


def build_joint(
    case: Case, robust: Robust, *, prune: Prune = prune_alike, build: Build = build_program
) -> Joint:
    """Build the programs of all scenarios side by side."""
    named = scenario_cases(case, robust)
    scenarios: list[Scenario] = []
    start = 0
    for one, pruned in zip(named, prune([of.case for of in named]), strict=True):
        program = _program(build(build_sets(pruned.case)), is_forecast=not scenarios)
        scenarios.append(Scenario(one.name, float(one.probability), program, start))
        start += program.columns.size
    named_in_order = dict.fromkeys(
        one for each in scenarios for one in choices_of(each.program.sets)
    )
    choices = sorted(named_in_order, key=repr)
    has_tail = robust.measure is Measure.CVAR
    chosen = _block("chosen", start, np.ones(len(choices)), integer=True)
    at_risk = _block("value_at_risk", start + chosen.size, np.full(int(has_tail), np.inf))
    beyond = np.full(len(scenarios) * has_tail, np.inf)
    beyond_usd = _block("beyond_usd", at_risk.start + at_risk.size, beyond)
    return Joint(robust, tuple(scenarios), tuple(choices), chosen, at_risk, beyond_usd)


def choices_of(sets: Sets) -> list[Choice]:
    """Name the configuration of each kind, with the demand that it is for."""
    demands = [(one.service.name, one.user_region, one.is_prompts) for one in sets.demands]
    return [(*demands[kind.demand], kind.configuration) for kind in sets.kinds]


def decisions_of(program: Program) -> dict[Decision, int]:
    """Name the columns that must be the same in every scenario, whatever their positions."""
    sets, columns = program.sets, program.columns
    found: dict[Decision, int] = {}
    for number, one in enumerate(sets.committed):
        name = ("committed", one.id, one.block and one.block.for_runs)
        found[name] = int(columns.committed_nodes.at(number))
    for number, plan in enumerate(sets.plans):
        found["promised", plan.id] = int(columns.plan_steps.at(number))
    for number, option in enumerate(sets.run_options):
        of = option.option
        run = (of.run, of.machine, of.candidate.id)
        found["option", *run] = int(columns.option_used.at(number))
        for period in option.window:
            slot = sets.periods[period].slots[0]
            found["gang", *run, slot] = int(columns.gang_up.at(number, period))
    return found


def _program(program: Program, *, is_forecast: bool) -> Program:
    if is_forecast:
        return program
    families = tuple(one for one in program.families if one.family not in FORECAST_FAMILIES)
    steady = program.columns.steady_nodes
    none = replace(steady, upper=np.zeros_like(steady.upper))
    columns = replace(program.columns, steady_nodes=none)
    return replace(program, columns=columns, families=families)


def _block(name: str, start: int, upper: Floats, *, integer: bool = False) -> Block:
    return Block(name, start, np.zeros_like(upper), upper, integer)
