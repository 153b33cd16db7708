"""A known plan made cheaper step by step, where the market is too large to prove it best.

Each step frees a few machines of the plan (see `freed`), those that a workload is on and others
that it may go to, and HiGHS chooses anew what is on them. How many are freed follows how soon that
is done. Steps are taken a few at once from one plan, and what came of them is taken in together.
Where small steps find nothing for a while, larger ones are taken, which have longer.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from solver.milp.answered_better import answered_better
from solver.milp.beside import WORKERS, shared
from solver.milp.first_plan import is_plan
from solver.milp.freed import Freed, PlanInHand
from solver.milp.known import Known
from solver.milp.memory import give_back
from solver.milp.sets import Floats
from solver.milp.solve import Limits, Outcome, Solution, solve_model
from solver.milp.watch import Watch

_MOST_ENTRIES = 5_000_000
"""Of more coefficients than this no other program is made beside."""
_ANSWERS_SHARE = 0.8
"""So much of the time is for other answers; few machines at a time go on from what that finds."""
_AT_ONCE = 2 * WORKERS
_FIRST_SIZE, _LEAST_SIZE, _MOST_SIZE = 4.0, 2.0, 14.0
_LARGER, _SMALLER = 0.1, -0.2
_ALREADY_USED = 0.6
_MOST_COLUMNS = 5_000
_FEWEST = 2
"""So many machines at least are freed, however many columns they have."""
_NODES = 10
_STEP_S = 5.0
_PATIENCE = 10
"""So many steps for each workload that find nothing end it."""
_SOON_LARGER = 2
"""After so many for each workload that found nothing, steps are larger: twice, thrice ..."""
_GAP = 5e-4
_GAIN = 1e-6
_SHORTEST_S = 1.0


def placed_better(known: Known, limits: Limits, watch: Watch, enough_usd: float = 0.0) -> Known:
    """Change a plan of one kind a demand until it costs no more than enough, or the time is up.

    It ends sooner where many steps one after the other have found nothing.
    """
    ends_at = time.monotonic() + limits.time_limit_s
    if known.program.entries <= _MOST_ENTRIES:
        part = replace(limits, time_limit_s=limits.time_limit_s * _ANSWERS_SHARE)
        known = answered_better(known, part, watch, enough_usd)
    plan = PlanInHand(known.program, known.solution.values)
    step = _Step(plan, limits, watch, ends_at)
    draw = _Draw(plan, limits.seed)
    if not plan.holds():
        return known
    while step.has_time and plan.usd > enough_usd and draw.may_find:
        taken = partial(step.taken, effort=draw.effort)
        choices = [draw.machines() for _ in range(_AT_ONCE)]
        for asked, one in zip(choices, shared(choices, taken), strict=True):
            if one is None:
                continue
            is_cheaper = one.values is not None and plan.take(one.freed, one.values)
            is_done = one.is_done and len(one.machines) == len(asked)
            draw.learn(is_done=is_done, is_cheaper=is_cheaper)
        give_back()
        watch.saw(best_usd=plan.usd)
    return _known(known, plan)


def _known(known: Known, plan: PlanInHand) -> Known:
    if plan.usd >= known.usd or not plan.holds():
        return known
    return replace(known, solution=Solution(Outcome.FEASIBLE, plan.values, 0.0))


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What was free, the values that were found, and whether HiGHS was done with it."""

    machines: Sequence[int]
    freed: Freed
    values: Floats | None
    is_done: bool


@dataclass(frozen=True, slots=True)
class _Step:
    """A plan as it is, of which several threads free some machines each, until when."""

    plan: PlanInHand
    limits: Limits
    watch: Watch
    ends_at: float

    @property
    def has_time(self) -> bool:
        """Say whether there is time for one more."""
        return not self.watch.is_ended() and self.ends_at - time.monotonic() > _SHORTEST_S

    def taken(self, machines: Sequence[int], effort: int = 1) -> _Chosen | None:
        """Let HiGHS choose anew what is on some machines, on fewer of them if that is much.

        None where there is no time for it. `effort` is how many times as much may be chosen, and
        as long be looked, as in a small step.
        """
        if not self.has_time:
            return None
        most_columns = effort * _MOST_COLUMNS
        while len(machines) > _FEWEST and self.plan.count(machines) > most_columns:
            machines = machines[:-1]
        freed = self.plan.freed(machines)
        model = freed.model
        left_s = self.ends_at - time.monotonic()
        limits = replace(
            self.limits,
            gap_fraction=_GAP,
            time_limit_s=max(min(effort * _STEP_S, left_s), _SHORTEST_S),
            most_nodes=effort * _NODES,
        )
        found = solve_model(
            model.proto.SerializeToString(),
            limits,
            model.hint(freed.before),
            Watch(is_ended=self.watch.is_ended),
            below_usd=freed.usd * (1 - _GAIN),
        )
        is_done = found.outcome in (Outcome.OPTIMAL, Outcome.INFEASIBLE)
        return _Chosen(machines, freed, found.values if is_plan(found) else None, is_done)


class _Draw:
    """Draws which machines are freed next."""

    def __init__(self, plan: PlanInHand, seed: int) -> None:
        self._plan, self._size, self._in_vain = plan, _FIRST_SIZE, 0
        self._draw = random.Random(seed)  # noqa: S311 - a search, not a secret
        sets = plan.program.sets
        self._of_demand = [set[int]() for _ in sets.demands]
        self._of_run = [set[int]() for _ in sets.runs]
        for group in sets.groups:
            self._of_demand[group.demand].add(group.machine)
        for option in sets.run_options:
            self._of_run[option.run].add(option.machine)
        self._workloads = len(self._of_demand) + len(self._of_run)

    @property
    def may_find(self) -> bool:
        """Say whether anything was found in the last steps."""
        return self._in_vain < _PATIENCE * self._workloads

    @property
    def effort(self) -> int:
        """Say how large the next steps are: the longer nothing was found, the larger."""
        return 1 + self._in_vain // (_SOON_LARGER * self._workloads)

    def learn(self, *, is_done: bool, is_cheaper: bool) -> None:
        """Free more machines where HiGHS was done, fewer where it was not."""
        self._in_vain = 0 if is_cheaper else self._in_vain + 1
        size = self._size + (_LARGER if is_done else _SMALLER)
        self._size = min(max(size, _LEAST_SIZE), self.effort * _MOST_SIZE)

    def machines(self) -> list[int]:
        """Draw a workload, some of the machines that it is on, and others that it may go to."""
        number = self._draw.randrange(self._workloads)
        demands = len(self._of_demand)
        if number < demands:
            own, others = self._plan.machines_of_demand(number), self._of_demand[number]
        else:
            run = number - demands
            own, others = self._plan.machines_of_run(run), self._of_run[run]
        size = max(int(self._size + 2 * self._draw.random() - 0.5), int(_LEAST_SIZE))
        chosen = self._draw.sample(sorted(own), min(len(own), size))
        used = self._plan.machines() & others - own
        return [*chosen, *self._some(used, others - own - used, size - len(chosen))]

    def _some(self, used: set[int], unused: set[int], most: int) -> list[int]:
        """Draw some of two sets of machines, mostly of the first."""
        sides = [self._draw.sample(sorted(one), len(one)) for one in (used, unused)]
        chosen: list[int] = []
        while len(chosen) < most and any(sides):
            is_first = not sides[1] or (bool(sides[0]) and self._draw.random() < _ALREADY_USED)
            chosen.append(sides[0 if is_first else 1].pop())
        return chosen
