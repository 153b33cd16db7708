"""Where every question has one answer: the plans of a leaf, searched part by part.

A part is the same wherever the same answers meet, in a leaf or in the next one, so what is known
of it is kept. A leaf costs at least what its parts do, and a plan of each is a plan of the leaf.
HiGHS is told what a part may cost to be of interest: what a plan may cost, less what the other
parts do. Mostly it then has to say that there is none.

Of all leaves that are searched at once each asks for one part at a time, the dearest that is not
done, and for more where there are fewer leaves than threads. So the same leaves come to the same
end, however fast each part was.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from solver.milp.beside import WORKERS, shared
from solver.milp.first_plan import is_plan
from solver.milp.linear import LinearProgram
from solver.milp.part_model import PartModel, part_model
from solver.milp.parts import Arrays, Part, parts_of
from solver.milp.rows import Rows
from solver.milp.sets import Floats
from solver.milp.solve import Limits, Outcome, Solution, solve_model
from solver.milp.variables import Ints
from solver.milp.watch import Watch

_SHORTEST_S = 0.1
_SHARE = 0.6
"""So much of the time left may be for one part of a leaf, where others are to be searched."""
_ROUNDING = 1e-9

_Name = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """What columns are at most, cuts that hold there, and how many nodes HiGHS looks at a part.

    `values` are those of a plan that is known.
    """

    upper: Floats
    cuts: tuple[Rows, ...]
    nodes: int
    values: Floats | None = None


@dataclass(frozen=True, slots=True)
class Searched:
    """What a leaf costs at least, its best plan, and whether no other is cheaper by the gap."""

    bound_usd: float
    values: Floats | None = None
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a part: the least that it costs, and its best plan.

    `nodes` are how many HiGHS has looked at; `is_done` where no plan is cheaper by the gap.
    """

    bound_usd: float
    usd: float = math.inf
    values: Floats | None = None
    nodes: int = 0
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class _Task:
    """A part to be searched: so many nodes, a share of the time, for plans below so much."""

    name: _Name
    arrays: Arrays
    part: Part
    nodes: int
    below_usd: float
    share: float


@dataclass(slots=True)
class _Open:
    """A leaf in work: its parts by name, and those that it has asked for."""

    leaf: Leaf
    arrays: Arrays
    parts: dict[_Name, Part]
    asked: set[_Name] = field(default_factory=set)


class Leaves:
    """Searches leaves of one program; `answers` are the columns of all answers."""

    def __init__(
        self,
        arrays: Arrays,
        answers: Ints,
        limits: Limits,
        watch: Watch,
    ) -> None:
        self._arrays, self._answers = arrays, answers
        self._limits, self._watch = limits, watch
        self._known: dict[_Name, _Known] = {}

    def searched(
        self, leaves: Sequence[Leaf], enough_usd: float, left_s: Callable[[], float]
    ) -> list[Searched]:
        """Search leaves for plans that cost less than enough; give what came of each."""
        works = [self._opened(one) for one in leaves]
        self._relax(works, left_s)
        for work in works:
            self._recall(work)
        while left_s() > 0 and not self._watch.is_ended():
            tasks = list(self._asked(works, enough_usd))
            if not tasks:
                break
            found = shared(tasks, lambda one: self._solved(one, left_s))
            self._known.update(zip((one.name for one in tasks), found, strict=True))
        return [Searched(math.inf) if one is None else self._result(one) for one in works]

    def bounded(self, leaves: Sequence[Leaf], left_s: Callable[[], float]) -> list[float]:
        """Give what the relaxed programs of the parts of each leaf cost; if none, infinity.

        So it is of those that there is no time for.
        """
        works = shared(leaves, lambda one: self._opened(one) if left_s() > 0 else None)
        self._relax(works, left_s)
        return [math.inf if one is None else self._bound_usd(one) for one in works]

    def _bound_usd(self, work: _Open) -> float:
        return sum(self._known[name].bound_usd for name in work.parts)

    def _opened(self, leaf: Leaf) -> _Open | None:
        """Split a leaf; None where it has no plan."""
        arrays = self._arrays.beside(leaf.cuts)
        parts = parts_of(arrays, leaf.upper)
        if parts is None:
            return None
        return _Open(leaf, arrays, {self._name(one): one for one in parts})

    def _name(self, part: Part) -> _Name:
        own = self._answers[np.isin(self._answers, part.columns)]
        return (int(part.columns[0]), *own.tolist())

    def _relax(self, works: Iterable[_Open | None], left_s: Callable[[], float]) -> None:
        """Bound the parts that nothing is known of."""
        new = {
            name: (one.arrays, part)
            for one in works
            if one is not None
            for name, part in one.parts.items()
            if name not in self._known
        }
        found = shared(list(new.values()), lambda one: _relaxed(*one, left_s()))
        self._known.update(zip(new, found, strict=True))

    def _recall(self, work: _Open | None) -> None:
        """Take what a known plan has of each part for the best plan of it."""
        if work is None or work.leaf.values is None:
            return
        for name, part in work.parts.items():
            values = work.leaf.values[part.columns]
            usd = float(self._arrays.usd[part.columns] @ values)
            if usd < self._known[name].usd:
                self._known[name] = replace(self._known[name], usd=usd, values=values)

    def _asked(self, works: Iterable[_Open | None], enough_usd: float) -> Iterator[_Task]:
        """Give the next part of each leaf that may hold a plan of interest, each part once."""
        tasks: dict[_Name, _Task] = {}
        asking = [one for one in works if one is not None]
        if len(asking) < WORKERS:
            asking = asking * WORKERS
        for work in asking:
            task = self._next(work, enough_usd)
            if task is not None:
                before = tasks.get(task.name, task)
                most = max(before.below_usd, task.below_usd)
                nodes = max(before.nodes, task.nodes)
                tasks[task.name] = replace(before, below_usd=most, nodes=nodes)
        yield from tasks.values()

    def _next(self, work: _Open, enough_usd: float) -> _Task | None:
        known = {name: self._known[name] for name in work.parts}
        bound_usd = sum(one.bound_usd for one in known.values())
        if bound_usd >= enough_usd * (1 - _ROUNDING):
            return None
        left = [
            name
            for name, one in known.items()
            if not (one.is_done or name in work.asked or one.nodes >= work.leaf.nodes)
        ]
        if not left:
            return None
        name = max(left, key=lambda one: (known[one].bound_usd, one))
        work.asked.add(name)
        below_usd = enough_usd - bound_usd + known[name].bound_usd
        share = _SHARE if len(left) > 1 else 1.0
        return _Task(name, work.arrays, work.parts[name], work.leaf.nodes, below_usd, share)

    def _solved(self, task: _Task, left_s: Callable[[], float]) -> _Known:
        """Let HiGHS search a part."""
        known = self._known[task.name]
        limits = replace(
            self._limits,
            time_limit_s=max(left_s() * task.share, _SHORTEST_S),
            most_nodes=task.nodes,
        )
        ends = Watch(is_ended=self._watch.is_ended)
        model = part_model(task.arrays, task.part)
        of = model.proto.SerializeToString()
        hint = None if known.values is None else model.hint(known.values)
        found = solve_model(of, limits, hint, ends, below_usd=task.below_usd)
        return self._learned(known, task, found, model)

    def _learned(self, known: _Known, task: _Task, found: Solution, model: PartModel) -> _Known:
        """Take in what HiGHS found; of what costs as much as its cutoff it proves no more."""
        least_usd = min(found.bound_usd, task.below_usd)
        if found.outcome is Outcome.INFEASIBLE:
            least_usd = task.below_usd
        usd = model.usd(found.values) if is_plan(found) else math.inf
        if usd < known.usd:
            known = replace(known, usd=usd, values=model.values(found.values))
        bound_usd = max(known.bound_usd, least_usd)
        is_through = found.outcome in (Outcome.OPTIMAL, Outcome.INFEASIBLE)
        is_solved = found.outcome is Outcome.OPTIMAL and usd < task.below_usd
        is_near = bound_usd >= known.usd * (1 - self._limits.gap_fraction)
        return replace(
            known,
            bound_usd=bound_usd,
            nodes=known.nodes if is_through else task.nodes,
            is_done=is_solved or is_near,
        )

    def _result(self, work: _Open) -> Searched:
        known = {name: self._known[name] for name in work.parts}
        bound_usd = sum(one.bound_usd for one in known.values())
        if any(one.values is None for one in known.values()):
            return Searched(bound_usd)
        values = np.zeros(len(self._arrays.upper))
        for name, one in known.items():
            values[work.parts[name].columns] = one.values
        return Searched(bound_usd, values, all(one.is_done for one in known.values()))


def _relaxed(arrays: Arrays, part: Part, left_s: float) -> _Known:
    if left_s <= 0:
        return _Known(0.0)
    result = LinearProgram(part_model(arrays, part).proto).solve(left_s, may_stall=False)
    if result.is_infeasible:
        return _Known(math.inf)
    return _Known(0.0 if result.plan is None else result.plan.usd)
