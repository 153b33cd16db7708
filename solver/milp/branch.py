"""Branching by hand on what decides most: where each run is done, and which kind serves a demand.

HiGHS branches on one column at a time, and its relaxed programs mix a run over many machines. Here
a *node* says which answers each question still has: the places of a run (a machine, firm or spot),
the kinds of a demand; when a run begins, where that gains (`gains`). Nodes are bounded by the
relaxed program, the lowest bound first, with cuts that bite once a run has one place (`clashes`).
Where every question has one answer, what is left falls into parts, and HiGHS looks in each for a
plan that is better than the best (`leaves`); mostly it finds soon that there is none.
"""

import heapq
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from solver.milp.alike_periods import clusters_of
from solver.milp.alone import Alone
from solver.milp.beside import WORKERS, shared
from solver.milp.clashes import clashes
from solver.milp.coarse import Coarse, coarse
from solver.milp.constraints.whole_nodes import whole_nodes
from solver.milp.gains import Gains, Tried
from solver.milp.leaves import Leaf, Leaves, Searched
from solver.milp.linear import LinearPlan, LinearResult
from solver.milp.parts import arrays_of
from solver.milp.pieces import contested, pieces, stretches, times_to_begin
from solver.milp.program import Program
from solver.milp.questions import Answers, Question, questions_of, split
from solver.milp.rows import Rows, some_of
from solver.milp.separate import missed_fills
from solver.milp.sets import Floats
from solver.milp.solve import Limits, Outcome, Solution
from solver.milp.variables import Ints
from solver.milp.watch import Watch

Monotonic = Callable[[], float]
_Asked = tuple[Program, Coarse, tuple[Question, ...]]
_AT_ONCE = 6
_ROUNDS = 8
_ROOT_ROUNDS = 4
_GAIN = 2e-4
_BINDING = 1e-7
_OF_THE_GAP = 0.99
_ROUNDING_USD = 1e-4
"""A bound must be within the gap after it and the plan are rounded, too."""
_SAME = 1e-9
_FIRST_NODES = 50
_MORE_NODES = 10
_MANY_GROUPS = 250
_CLUSTERS, _CLUSTERS_OF_MANY = 80, 40
"""Most time goes into leaves, so closer bounds pay; of many groups, into relaxed programs."""


@dataclass(order=True, frozen=True)
class _Node:
    """The answers that each question still has, and what any plan with those costs at least.

    A leaf has one each. What HiGHS is to search has `cuts`, those that bind there; `nodes` are how
    many it looks at next, which says the same on any machine: seconds would not.
    """

    bound_usd: float
    number: int
    answers: Answers = field(compare=False)
    cuts: tuple[Rows, ...] | None = field(compare=False, default=None)
    nodes: int = field(compare=False, default=_FIRST_NODES)


@dataclass(frozen=True, slots=True)
class Branched:
    """What no plan of the program costs less than, and the best plan where one is better."""

    bound_usd: float
    solution: Solution | None


def branch(
    program: Program,
    known_usd: float,
    limits: Limits,
    watch: Watch | None = None,
    *,
    clock: Monotonic = time.monotonic,
    clusters: int | None = None,
) -> Branched:
    """Bound a program with one kind a demand until a known plan is within the gap, or time is up.

    Plans that are better by less than the gap are not looked for. Relaxed programs have about so
    many `clusters` of periods, or as many as suit the size of the program.
    """
    aim = _Aim(known_usd, limits, watch or Watch())
    if clusters is None:
        clusters = _CLUSTERS_OF_MANY if len(program.sets.groups) > _MANY_GROUPS else _CLUSTERS
    runs = contested(program, known_usd)
    program = replace(program, families=(*program.families, *pieces(program, runs)))
    smaller = coarse(program, clusters_of(program.sets, clusters, stretches(program.sets, runs)))
    questions = questions_of(program, times_to_begin(program.sets, runs))
    tree = _Tree((program, smaller, questions), aim, clock)
    tree.grow()
    return Branched(tree.bound_usd(), tree.best)


@dataclass(frozen=True, slots=True)
class _Cut:
    """Rows that hold everywhere, those of the coarse program, and which of those each is in."""

    rows: Rows
    coarse: Rows
    row_of: Ints


@dataclass(frozen=True, slots=True)
class _Aim:
    """The dollars of a known plan, when to stop, and who watches."""

    known_usd: float
    limits: Limits
    watch: Watch


@dataclass(slots=True)
class _Step:
    """What came of a node: what is left to do, the cuts and the plan that were found.

    `closed_usd` is what a plan of a part that is left as it is costs at least; `tried` which part
    of the gap was closed where questions were looked at that need not be answered.
    """

    nodes: list[_Node]
    closed_usd: float = math.inf
    solution: Solution | None = None
    cuts: list[_Cut] = field(default_factory=list)
    tried: list[tuple[Tried, float]] = field(default_factory=list)


class _Tree:
    """The open nodes and the best plan.

    A few nodes are solved at once, and what came of them is taken in together: so the same program
    gives the same plan, however fast each of them was.
    """

    def __init__(self, of: _Asked, aim: _Aim, clock: Monotonic) -> None:
        self.program, self.coarse, self.questions, self.clock = *of, clock
        self.usd, self.limits, self.watch = aim.known_usd, aim.limits, aim.watch
        self.answers = np.concatenate([own for one in self.questions for own in one.answers])
        self.arrays = arrays_of(self.program)
        self.alone = Alone(self.arrays, self.questions, self.limits, self.watch)
        self.search = Leaves(self.arrays, self.answers, self.limits, self.watch)
        self.best: Solution | None = None
        self.closed_usd = math.inf
        self.ends_at = clock() + aim.limits.time_limit_s
        self.open: list[_Node] = []
        self.leaves: list[_Node] = []
        self.count = 0
        self.gains = Gains(self.questions)

    @property
    def enough_usd(self) -> float:
        """Give the dollars from which on a plan is of no interest."""
        gap_usd = self.usd * self.limits.gap_fraction * _OF_THE_GAP
        return self.usd - max(gap_usd - _ROUNDING_USD, 0.0)

    def bound_usd(self) -> float:
        """Give what any plan costs at least: the least of all that is open, closed, or dropped."""
        firsts = [own[0].bound_usd for own in (self.open, self.leaves) if own]
        return min([self.enough_usd, self.closed_usd, *firsts])

    def left_s(self) -> float:
        """Give the seconds that are left."""
        return self.ends_at - self.clock()

    def grow(self) -> None:
        """Take nodes, the lowest bound first, until none is left or the time is up."""
        every = tuple(frozenset(range(len(one.answers))) for one in self.questions)
        root = _Worker(self)
        self._take_in([root.solved(_Node(0.0, 0, every), is_root=True)])
        workers = [root.with_binding() for _ in range(WORKERS)]
        while self.left_s() > 0 and not self.watch.is_ended():
            nodes = self._next()
            if not nodes:
                return
            self._take_in(self._solved(workers, nodes))

    def upper(self, node: _Node) -> Floats:
        """Give what the columns of all answers are at most in a node."""
        pairs = zip(self.questions, node.answers, strict=True)
        return np.concatenate(
            [
                np.full(len(own), float(number in left))
                for one, left in pairs
                for number, own in enumerate(one.answers)
            ]
        )

    def _found(self, nodes: Sequence[_Node]) -> list[Searched]:
        """Look for better plans in leaves."""
        leaves = []
        for node in nodes:
            upper = self.arrays.upper.copy()
            upper[self.answers] = self.upper(node)
            leaves.append(Leaf(upper, node.cuts or (), node.nodes))
        return self.search.searched(leaves, self.enough_usd, self.left_s)

    def _step(self, node: _Node, found: Searched) -> _Step:
        """Give a leaf again if it was not done."""
        bound_usd = max(node.bound_usd, found.bound_usd)
        step = _Step([])
        if found.values is not None:
            step.solution = Solution(Outcome.FEASIBLE, found.values, 0.0)
        if found.is_done:
            step.closed_usd = bound_usd
        elif bound_usd < self.enough_usd * (1 - _SAME):
            step.nodes = [replace(node, bound_usd=bound_usd, nodes=node.nodes * _MORE_NODES)]
        return step

    def _solved(self, workers: Sequence["_Worker"], nodes: Sequence[_Node]) -> list[_Step]:
        """Solve nodes, with all workers at once; give what came of each, in the order of nodes.

        A worker's relaxed program ends where it was with the node before: so each has its own.
        """
        if nodes[0].cuts is not None:
            found = zip(nodes, self._found(nodes), strict=True)
            return [self._step(node, one) for node, one in found]
        steps: dict[int, _Step] = {}
        every = list(enumerate(nodes))
        own = [(one, every[at::WORKERS]) for at, one in enumerate(workers)]

        def work(worker: _Worker, some: Sequence[tuple[int, _Node]]) -> None:
            steps.update((at, worker.solved(node)) for at, node in some)

        shared(own, lambda job: work(*job))
        for at, worker in enumerate(workers):
            for number, step in sorted(steps.items()):
                if number % WORKERS != at:
                    worker.add(step.cuts)
        return [step for _, step in sorted(steps.items())]

    def _next(self) -> list[_Node]:
        """Take the lowest bounds of the nodes, or of the leaves, whichever has the lowest."""
        for own in (self.open, self.leaves):
            while own and own[0].bound_usd >= self.enough_usd:
                heapq.heappop(own)
        if not (self.open or self.leaves):
            return []
        own = min((one for one in (self.open, self.leaves) if one), key=lambda one: one[0])
        return [heapq.heappop(own) for _ in range(min(_AT_ONCE, len(own)))]

    def _take_in(self, steps: Sequence[_Step]) -> None:
        for step in steps:
            self.closed_usd = min(self.closed_usd, step.closed_usd)
            for key, part in step.tried:
                self.gains.learn(key, part)
            if step.solution is not None:
                usd = float(self.program.cost @ step.solution.values)
                if usd < self.usd:
                    self.usd, self.best = usd, step.solution
            for node in step.nodes:
                self.count += 1
                own = self.open if node.cuts is None else self.leaves
                heapq.heappush(own, replace(node, number=self.count))
        self.watch.saw(best_usd=self.usd, bound_usd=self.bound_usd())


class _Worker:
    """A coarse program of its own, which goes from node to node."""

    def __init__(self, tree: _Tree) -> None:
        self.tree, self.program = tree, tree.program
        self.column_of = tree.coarse.column_of[tree.answers]
        self.cuts: list[_Cut] = []
        self.row_usd = np.zeros(0)
        self.linear = self.tree.coarse.relaxed()

    def with_binding(self) -> "_Worker":
        """Make another one with the cuts that cost something in the last node alone."""
        other = _Worker(self.tree)
        other.add([_Cut(rows, *self.tree.coarse.added(rows)) for rows in self._binding()])
        return other

    def add(self, cuts: Sequence[_Cut]) -> None:
        """Take in cuts."""
        for cut in cuts:
            self.linear.add(cut.coarse)
        self.cuts.extend(cuts)

    def solved(self, node: _Node, *, is_root: bool = False) -> _Step:
        """Bound a node, and give what is left to do: itself, its parts, or nothing.

        Where the relaxed program gives up, HiGHS is to say what is in the node.
        """
        known = len(self.cuts)
        bound_usd, plan = self._bounded(node, is_root=is_root)
        node = replace(node, bound_usd=bound_usd)
        step = _Step([], cuts=self.cuts[known:])
        if bound_usd >= self.tree.enough_usd:
            return step
        if plan is None:
            step.nodes = [replace(node, cuts=())]
            return step
        values = self.tree.coarse.spread(plan.values)
        step.nodes = self._split(node, values, step) or [replace(node, cuts=self._binding())]
        return step

    def _split(self, node: _Node, values: Floats, step: _Step) -> list[_Node] | None:
        """Split a node in two, by when a run begins only where that closes part of the gap."""
        questions = self.tree.questions
        never = self.tree.gains.vain(values)
        while (found := split(node.answers, questions, values, never=never)) is not None:
            halves = [replace(node, answers=one) for one in found.answers]
            if questions[found.question].when is None:
                return halves
            halves = [self._looked_at(one) for one in halves]
            gap_usd = self.tree.enough_usd - node.bound_usd
            part = (min(one.bound_usd for one in halves) - node.bound_usd) / gap_usd
            step.tried.append((self.tree.gains.key(found.question, values), min(part, 1.0)))
            if self.tree.gains.is_worth(part):
                return halves
            never = never | {found.question}
        return None

    def _looked_at(self, node: _Node) -> _Node:
        """Bound a node by its relaxed program as it is."""
        self._cap(node)
        result = self._solved(node)
        if result.is_infeasible:
            return replace(node, bound_usd=math.inf)
        return (
            node
            if result.plan is None
            else replace(node, bound_usd=max(node.bound_usd, result.plan.usd))
        )

    def _bounded(self, node: _Node, *, is_root: bool) -> tuple[float, LinearPlan | None]:
        """Solve the relaxed program, and again with the cuts that it misses while they gain."""
        bound_usd, plan = node.bound_usd, None
        self._cap(node)
        for _ in range(_ROOT_ROUNDS if is_root else _ROUNDS):
            result = self._solved(node)
            if result.is_infeasible:
                return math.inf, None
            if result.plan is None:
                return bound_usd, plan
            plan, self.row_usd = result.plan, result.plan.row_usd
            gained, bound_usd = plan.usd - bound_usd, max(bound_usd, plan.usd)
            is_slow = gained < _GAIN * bound_usd and not is_root
            if bound_usd >= self.tree.enough_usd or is_slow or self.tree.left_s() <= 0:
                break
            missed = self._missed(self.tree.coarse.spread(plan.values), is_root=is_root)
            if not missed:
                break
            self.add([_Cut(rows, *self.tree.coarse.added(rows)) for rows in missed])
        return bound_usd, plan

    def _missed(self, values: Floats, *, is_root: bool) -> list[Rows]:
        """Give the cuts that a relaxed plan breaks; those that take long to find at the root."""
        clashing = clashes(self.program, values)
        dear = self.tree.alone.missed(values, self.tree.left_s)
        found = [one for one in (clashing, dear) if one is not None]
        if is_root:
            clusters = self.tree.coarse.clusters
            fills = missed_fills(self.program, values, clusters=clusters)
            if fills:
                sets = replace(self.program.sets, fills=fills)
                found.append(whole_nodes(sets, self.program.columns))
        return found

    def _solved(self, node: _Node) -> LinearResult:
        """Solve from where the last solve ended, or anew where that fails."""
        result = self.linear.solve(self.tree.left_s(), may_stall=False)
        if result.plan is None and not (result.is_infeasible or result.is_out_of_time):
            self.linear = self.tree.coarse.relaxed()
            for cut in self.cuts:
                self.linear.add(cut.coarse)
            self._cap(node)
            result = self.linear.solve(self.tree.left_s(), may_stall=False)
        return result

    def _cap(self, node: _Node) -> None:
        """Leave a node's answers alone to the relaxed program."""
        upper = np.bincount(self.column_of, self.tree.upper(node))
        which = np.unique(self.column_of)
        self.linear.cap(which, upper[which])

    def _binding(self) -> tuple[Rows, ...]:
        """Give the rows of the cuts that cost something in the last relaxed plan that had them."""
        start = self.tree.coarse.rows
        binding = []
        for cut in self.cuts:
            end = start + len(cut.coarse.keys)
            if end > len(self.row_usd):
                break
            binds = np.abs(self.row_usd[start:end]) > _BINDING
            if len(which := np.flatnonzero(binds[cut.row_of])):
                binding.append(some_of(cut.rows, which))
            start = end
        return tuple(binding)
