"""Whether there is a plan under looser rules: questions to child processes, each asked once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from broker.domain.case import Case
from broker.domain.errors import BrokerError
from broker.domain.plan import Status
from broker.domain.workload import Workloads
from broker.planning.bare_plan import violations
from broker.planning.explaining.ground import Ground, Sources
from broker.planning.explaining.rules import Rule
from broker.planning.searches import Search, outcome
from solver.milp.elastic import Raisable, Raised, least_raise
from solver.milp.optimize import optimize
from solver.milp.optimum import Optimum
from solver.milp.solve import Limits

_ANY_PLAN = 0.999
"""The gap at which a search ends with the first plan that it finds."""

_CHECK_SHARE = 0.35
_LONGEST_CHECK_S = 60.0

Steps = Mapping[str, int]
"""How many steps of which rules are taken, the rules by their names; the others stay."""


@dataclass(frozen=True, slots=True)
class Job:
    """Workloads to plan: a case that only has to take them over, or what to build it from."""

    workloads: Workloads
    source: Case | Sources

    def built(self) -> Case:
        """Give the case."""
        if isinstance(self.source, Sources):
            return self.source.case_of(self.workloads)
        return replace(self.source, workloads=self.workloads)


def planned(job: Job, limits: Limits) -> Optimum:
    """Plan a job in the process that calls it."""
    return optimize(job.built(), limits)


def checked(job: Job, limits: Limits) -> Optimum:
    """Plan a job in the process that calls it, and hold the plan to the independent check.

    Raises:
        BrokerError: the check refuses the plan, which is a bug of ours.
    """
    case = job.built()
    optimum = optimize(case, limits)
    if optimum.status is not Status.INFEASIBLE:
        found = violations(optimum, case)
        if found:
            raise BrokerError(
                f"a plan under looser rules failed its independent check: {found[0].rule} of "
                f"{found[0].subject}: {found[0].message}",
                hint="this is a bug; please report it with the workloads file",
            )
    return optimum


def raised(job: Job, may: Raisable, limits: Limits) -> Raised | None:
    """Find the least raising of a job's numbers in the process that calls it."""
    return least_raise(job.built(), may, limits)


@dataclass(slots=True)
class Prober:
    """Asks whether rules with so many steps taken let a plan exist."""

    ground: Ground
    rules: Mapping[str, Rule]
    known: dict[tuple[tuple[str, int], ...], Optimum] = field(default_factory=dict)

    def exists(self, steps: Steps) -> Search[bool | None]:
        """Say whether there is a plan; None is that the time was up before one was found."""
        optimum = yield from self.first_plan(steps)
        if optimum is None:
            return None
        if optimum.status is not Status.INFEASIBLE:
            return True
        return None if optimum.ran_out_of_time else False

    def first_plan(self, steps: Steps) -> Search[Optimum | None]:
        """Find any plan; None where the time is up."""
        name = tuple(sorted((rule, step) for rule, step in steps.items() if step))
        if name not in self.known:
            if not self.ground.left_s:
                return None
            time_limit_s = min(_LONGEST_CHECK_S, self.ground.limits(_CHECK_SHARE).time_limit_s)
            limits = Limits(_ANY_PLAN, time_limit_s, self.ground.plan.settings.seed)
            pending = self.ground.pool.submit(planned, self.job(steps), limits)
            yield pending
            optimum = outcome(pending)
            if optimum is None:
                return None
            self.known[name] = optimum
        return self.known[name]

    def whole_plan(self, steps: Steps) -> Search[Optimum | None]:
        """Find a plan to the gap of the plan that was asked for, checked independently.

        None where the time is up.
        """
        limits = self.ground.limits(_CHECK_SHARE)
        pending = self.ground.pool.submit(checked, self.job(steps), limits)
        yield pending
        return outcome(pending)

    def least_raise(self, steps: Steps, may: Raisable) -> Search[Raised | None]:
        """Find the least raising of numbers under rules with so many steps taken."""
        limits = Limits(0.0, self.ground.limits(_CHECK_SHARE).time_limit_s)
        pending = self.ground.pool.submit(raised, self.job(steps), may, limits)
        yield pending
        return outcome(pending)

    def job(self, steps: Steps) -> Job:
        """Take the steps, in the order of the rules."""
        workloads = self.ground.plan.workloads
        is_sized = False
        for name, rule in self.rules.items():
            step = steps.get(name, 0)
            if step:
                workloads = rule.at(workloads, step)
                is_sized = is_sized or rule.is_sized
        return Job(workloads, self.ground.sources if is_sized else self.ground.case)

    def with_rule(self, name: str, rule: Rule) -> "Prober":
        """Put another rule in the place of one."""
        return Prober(self.ground, {**self.rules, name: rule})


def loosest(rules: Mapping[str, Rule], names: Sequence[str]) -> dict[str, int]:
    """Take all steps of some rules."""
    return {name: rules[name].steps for name in names}
