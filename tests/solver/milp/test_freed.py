"""Machines of a plan that are freed: what is on them is chosen anew, and nothing else changes."""

import math
import random
import time
from collections.abc import Sequence

import numpy as np
import pytest
from drawn_programs import drawn, with_drawn_answers
from solving import EXACT, objective_usd

from solver.milp import answered_better as answering
from solver.milp import placed_better as placing
from solver.milp.answered_better import answered_better
from solver.milp.churn import churn_lines
from solver.milp.drafted import holds
from solver.milp.first_plan import is_plan
from solver.milp.freed import Freed, PlanInHand
from solver.milp.known import Known
from solver.milp.leaves import Leaf, Leaves
from solver.milp.parts import arrays_of
from solver.milp.placed_better import placed_better
from solver.milp.program import Program
from solver.milp.questions import questions_of
from solver.milp.sets import Floats
from solver.milp.solve import Limits, Outcome, Solution, solve_model
from solver.milp.watch import Watch

SAME = 1e-6
NO_END = 1e9


def chosen(freed: Freed) -> Floats | None:
    found = solve_model(
        freed.model.proto.SerializeToString(), EXACT, freed.model.hint(freed.before)
    )
    return found.values if is_plan(found) else None


def dear_plans() -> list[tuple[Program, float, PlanInHand]]:
    """Give programs, what their cheapest plan costs, and a plan with drawn answers."""
    plans = []
    for number, (program, solution) in enumerate(drawn()):
        dear = with_drawn_answers(program, number)
        if dear is not None:
            best = objective_usd(program, solution)
            plans.append((program, best, PlanInHand(program, dear.values)))
    return plans


def test_with_all_machines_freed_a_dear_plan_becomes_the_cheapest() -> None:
    better = 0
    for program, best, plan in dear_plans():
        was = plan.usd
        freed = plan.freed(range(len(program.sets.machines)))
        found = chosen(freed)
        assert found is not None
        assert plan.take(freed, found) == (plan.usd < was)
        assert plan.usd == pytest.approx(best, rel=SAME)
        assert holds(program, plan.values)
        better += plan.usd < was * (1 - SAME)
    assert better > 12


def test_with_some_machines_freed_the_rest_stays_and_every_rule_is_kept() -> None:
    better = 0
    for number, (program, best, plan) in enumerate(dear_plans()):
        draw = random.Random(number)  # noqa: S311 - a test's draw, not a secret
        machines = range(len(program.sets.machines))
        for _ in range(3):
            some = draw.sample(machines, min(2, len(machines)))
            freed, was = plan.freed(some), plan.values
            found = chosen(freed)
            assert found is not None
            if not plan.take(freed, found):
                continue
            better += 1
            changed = np.flatnonzero(plan.values != was)
            assert np.isin(changed, freed.columns).all()
            assert not _on_others(program, changed, some)
            assert plan.holds()
            assert holds(program, plan.values)
            assert plan.usd >= best * (1 - SAME)
    assert better > 12


def _on_others(program: Program, changed: np.typing.NDArray[np.int64], some: list[int]) -> bool:
    """Say whether replicas, gangs or nodes of other machines are among what has changed."""
    sets, columns = program.sets, program.columns
    is_changed = np.zeros(columns.size, dtype=bool)
    is_changed[changed] = True
    on = [(columns.replicas, [one.machine for one in sets.groups])]
    on += [(one, [at.machine for at in sets.run_options]) for one in (columns.gang_up,)]
    nodes = (columns.on_demand_nodes, columns.spot_nodes)
    on += [(one, list(range(len(sets.machines)))) for one in nodes]
    on.append((columns.committed_nodes, [one.machine for one in sets.committed]))
    return any(
        bool(of_one.any()) and machine not in some
        for block, machines in on
        if block.size
        for machine, of_one in zip(machines, block.of(is_changed), strict=True)
    )


def test_what_was_found_for_a_plan_that_has_changed_since_is_not_taken() -> None:
    refused = 0
    for program, _, plan in dear_plans():
        every = range(len(program.sets.machines))
        first, second = plan.freed(every), plan.freed(every)
        found = chosen(first)
        assert found is not None
        if plan.take(first, found):
            refused += 1
            usd = plan.usd
            assert not plan.take(second, found)
            assert plan.usd == usd
    assert refused > 12


def test_a_plan_that_breaks_a_row_is_told_from_one_that_keeps_all() -> None:
    for program, solution in drawn()[::4]:
        assert PlanInHand(program, solution.values).holds()
        assert not PlanInHand(program, np.zeros(program.columns.size)).holds()


def test_with_other_answers_a_dear_plan_becomes_cheaper_and_mostly_the_cheapest() -> None:
    ends = []
    for program, best, plan in dear_plans():
        known = _known(program, plan)
        found = answered_better(known, EXACT, Watch())
        assert found.usd <= known.usd * (1 + SAME)
        assert found.usd >= best * (1 - SAME)
        assert holds(program, found.solution.values)
        if known.usd > best * (1 + 1e-3):
            ends.append(found.usd <= best * (1 + 1e-3))
    assert sum(ends) > 0.6 * len(ends) > 10


def test_steps_that_find_nothing_end_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no patience at all the plan's own answers are placed, and nothing else is looked at."""
    looked_at = list[Sequence[tuple[int, ...]]]()
    step = answering._Search._step

    def told(
        self: answering._Search, some: Sequence[tuple[int, ...]], chosen: tuple[int, ...]
    ) -> tuple[int, ...]:
        looked_at.append(some)
        return step(self, some, chosen)

    monkeypatch.setattr(answering._Search, "_step", told)
    counts = []
    for patience in (0, 1, 10):
        looked_at.clear()
        monkeypatch.setattr(answering, "_PATIENCE", patience)
        for program, _, plan in dear_plans():
            answered_better(_known(program, plan), EXACT, Watch())
        counts.append(len(looked_at))
    assert counts[0] == 0 < counts[1] <= counts[2]


def test_a_plan_is_placed_better_until_it_costs_enough_or_nothing_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(placing, "_MOST_ENTRIES", 0)
    monkeypatch.setattr(placing, "_PATIENCE", 4)
    ends = []
    for program, best, plan in dear_plans():
        known = _known(program, plan)
        found = placed_better(known, EXACT, Watch())
        assert holds(program, found.solution.values)
        assert best * (1 - SAME) <= found.usd <= known.usd
        assert placed_better(known, EXACT, Watch(), known.usd) is known
        assert answered_better(known, EXACT, Watch(), known.usd) is known
        if known.usd > best * (1 + 1e-3):
            ends.append(found.usd <= best * (1 + 1e-3))
    assert sum(ends) > 0.9 * len(ends) > 10


def test_much_that_is_freed_is_chosen_in_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placing, "_MOST_COLUMNS", 1)
    fewer = 0
    for program, _, plan in dear_plans():
        every = range(len(program.sets.machines))
        chosen = placing._Step(plan, EXACT, Watch(), NO_END).taken(every)
        assert chosen is not None
        assert list(chosen.machines) == list(every[:2])
        assert len(chosen.freed.columns) == plan.count(every[:2]) <= plan.count(every)
        fewer += len(every) > 2
    assert fewer > 12


def test_the_longer_nothing_is_found_the_more_may_be_chosen_and_a_find_ends_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(placing, "_MOST_COLUMNS", 1)
    program, _, plan = next(one for one in dear_plans() if len(one[0].sets.machines) > 2)
    draw, workloads = placing._Draw(plan, 0), len(program.sets.demands) + len(program.sets.runs)
    efforts = [draw.effort]
    for _ in range(4 * workloads):
        draw.learn(is_done=True, is_cheaper=False)
        efforts.append(draw.effort)
    assert efforts == sorted(efforts)
    assert (efforts[0], efforts[2 * workloads], efforts[-1]) == (1, 2, 3)
    draw.learn(is_done=True, is_cheaper=True)
    assert draw.effort == 1
    every = range(len(program.sets.machines))
    larger = placing._Step(plan, EXACT, Watch(), NO_END).taken(every, effort=plan.count(every))
    assert larger is not None
    assert list(larger.machines) == list(every)


def test_no_step_is_taken_once_the_time_is_up_or_whoever_watches_ends_it() -> None:
    program, _, plan = dear_plans()[0]
    known, ended = _known(program, plan), Watch(is_ended=lambda: True)
    assert placing._Step(plan, EXACT, ended, NO_END).taken([0]) is None
    assert placing._Step(plan, EXACT, Watch(), time.monotonic()).taken([0]) is None
    assert placing._Step(plan, EXACT, Watch(), NO_END).taken([0]) is not None
    assert placed_better(known, EXACT, ended).usd == known.usd
    assert answered_better(known, EXACT, ended) is known
    assert answered_better(known, Limits(0.0, 0.0), Watch()) is known


def test_nothing_is_known_of_leaves_that_there_is_no_time_for() -> None:
    program, _, plan = dear_plans()[0]
    arrays, questions = arrays_of(program), questions_of(program)
    answers = np.concatenate([own for one in questions for own in one.answers])
    leaf = Leaf(arrays.upper, (), 10, plan.values)
    assert Leaves(arrays, answers, EXACT, Watch()).bounded([leaf], lambda: 0.0) == [math.inf]
    (usd,) = Leaves(arrays, answers, EXACT, Watch()).bounded([leaf], lambda: NO_END)
    assert 0 < usd <= plan.usd


def test_nodes_that_are_moved_are_free_with_their_machine() -> None:
    seen = 0
    for program, _, plan in dear_plans():
        moved = program.columns.moved_nodes
        if not moved.size:
            continue
        none, one = plan.freed([]).columns, plan.freed([0]).columns
        lines = churn_lines(program.sets)
        free = {at - moved.start for at in one.tolist() if moved.start <= at} - {
            at - moved.start for at in none.tolist()
        }
        own = {at for at, line in enumerate(lines) if line.machine == 0 and not line.committed}
        assert free == own
        seen += bool(own)
    assert seen > 3


def _known(program: Program, plan: PlanInHand) -> Known:
    return Known(program, Solution(Outcome.FEASIBLE, plan.values, 0.0))
