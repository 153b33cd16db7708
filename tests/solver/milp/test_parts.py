"""Programs with chosen answers: their parts, hours that are one, and what an answer costs alone."""

import math
from dataclasses import replace

import numpy as np
from drawn_programs import dearer, drawn
from solving import EXACT, objective_usd, same_cost

from solver.milp.alone import Alone
from solver.milp.drafted import holds
from solver.milp.known import Known
from solver.milp.leaves import Leaf, Leaves, Searched
from solver.milp.part_model import part_model
from solver.milp.parts import Arrays, arrays_of, parts_of
from solver.milp.program import Program, to_proto
from solver.milp.questions import Question, questions_of
from solver.milp.refined import refined
from solver.milp.sets import Floats
from solver.milp.solve import Limits, Outcome, solve_model
from solver.milp.watch import Watch

NO_END = 1e9


def answers_of(questions: tuple[Question, ...]) -> np.typing.NDArray[np.int64]:
    return np.concatenate([own for one in questions for own in one.answers])


def leaf_of(arrays: Arrays, questions: tuple[Question, ...], values: Floats) -> Floats:
    """Say what columns are at most where each question has the answer of a plan."""
    upper = arrays.upper.copy()
    for one in questions:
        chosen = int(np.argmax(one.shares(values)))
        for number, columns in enumerate(one.answers):
            if number != chosen:
                upper[columns] = 0.0
    return upper


def searched(
    arrays: Arrays, program: Program, leaf: Leaf, enough_usd: float = math.inf
) -> Searched:
    search = Leaves(arrays, answers_of(questions_of(program)), EXACT, Watch())
    (found,) = search.searched([leaf], enough_usd, lambda: NO_END)
    return found


def test_the_parts_of_a_leaf_cost_together_what_it_costs() -> None:
    split = 0
    for program, solution in drawn():
        arrays = arrays_of(program)
        upper = leaf_of(arrays, questions_of(program), solution.values)
        parts = parts_of(arrays, upper)
        assert parts is not None
        found = searched(arrays, program, Leaf(upper, (), 1_000_000))
        assert found.is_done
        assert found.values is not None
        assert holds(program, found.values)
        usd = objective_usd(program, solution)
        assert same_cost(float(program.cost @ found.values), usd)
        assert same_cost(found.bound_usd, usd)
        split += len(parts) > 1
    assert split > 10


def test_hours_that_are_alike_are_one_at_no_other_cost() -> None:
    fewer = 0
    for program, solution in drawn():
        arrays = arrays_of(program)
        upper = leaf_of(arrays, questions_of(program), solution.values)
        for part in parts_of(arrays, upper) or []:
            model = part_model(arrays, part)
            plain = part_model(replace(arrays, is_hourly=np.zeros_like(arrays.is_hourly)), part)
            of, alike = (
                solve_model(one.proto.SerializeToString(), EXACT) for one in (plain, model)
            )
            assert alike.outcome is of.outcome
            if of.outcome is Outcome.OPTIMAL:
                assert same_cost(model.usd(alike.values), plain.usd(of.values))
                paid = float(arrays.usd[part.columns] @ model.values(alike.values))
                assert same_cost(paid, model.usd(alike.values))
                assert (model.hint(model.values(alike.values)) == alike.values).all()
            fewer += len(model.proto.variables.ids) < len(part.columns)
    assert fewer > 20


def test_a_leaf_without_a_plan_is_told() -> None:
    program, solution = drawn()[0]
    arrays, questions = arrays_of(program), questions_of(program)
    upper = leaf_of(arrays, questions, solution.values)
    upper[np.concatenate(questions[0].answers)] = 0.0
    assert parts_of(arrays, upper) is None
    assert searched(arrays, program, Leaf(upper, (), 1)).bound_usd == math.inf


def test_a_leaf_that_costs_enough_is_not_searched_for_more() -> None:
    for program, solution in drawn()[::4]:
        arrays = arrays_of(program)
        upper = leaf_of(arrays, questions_of(program), solution.values)
        usd = objective_usd(program, solution)
        found = searched(arrays, program, Leaf(upper, (), 1_000_000), 0.9 * usd)
        assert 0.9 * usd * (1 - 1e-6) <= found.bound_usd <= usd * (1 + 1e-6)


def test_what_is_known_of_parts_is_a_plan_where_there_is_no_time() -> None:
    for program, solution in drawn()[::4]:
        arrays = arrays_of(program)
        upper = leaf_of(arrays, questions_of(program), solution.values)
        search = Leaves(arrays, answers_of(questions_of(program)), EXACT, Watch())
        leaf = Leaf(upper, (), 1, solution.values)
        (found,) = search.searched([leaf], math.inf, lambda: 0.0)
        assert found.values is not None
        assert same_cost(float(program.cost @ found.values), objective_usd(program, solution))
        assert found.bound_usd <= objective_usd(program, solution) * (1 + 1e-6)


def test_no_plan_with_an_answer_pays_less_than_it_costs_alone() -> None:
    tried = 0
    for program, _ in drawn()[::2]:
        arrays, questions = arrays_of(program), questions_of(program)
        alone = Alone(arrays, questions, EXACT, Watch())
        for number, question in enumerate(questions):
            for answer, columns in enumerate(question.answers):
                if question.is_run or not len(columns):
                    continue
                least = alone.cost_of(number, answer, lambda: NO_END)
                paid = cheapest_usd(program, arrays, columns, least.columns)
                assert least.usd <= paid + 1e-6 * max(1.0, paid)
                tried += least.usd > 0 and paid < math.inf
    assert tried > 40


def cheapest_usd(
    program: Program, arrays: Arrays, answer: Floats, paid: np.typing.NDArray[np.int64]
) -> float:
    """Give the least that a plan with an answer pays for some columns; infinity for no plan."""
    proto = to_proto(program)
    lower = np.array(proto.variables.lower_bounds)
    lower[answer] = 1.0
    proto.variables.lower_bounds[:] = lower.tolist()
    del proto.objective.linear_coefficients.ids[:]
    del proto.objective.linear_coefficients.values[:]
    proto.objective.linear_coefficients.ids.extend(paid.tolist())
    proto.objective.linear_coefficients.values.extend(arrays.usd[paid].tolist())
    found = solve_model(proto.SerializeToString(), EXACT)
    return found.bound_usd if found.outcome is Outcome.OPTIMAL else math.inf


def test_plans_keep_the_cuts_of_answers_and_relaxed_ones_miss_some() -> None:
    missed = 0
    for program, solution in drawn():
        arrays, questions = arrays_of(program), questions_of(program)
        alone = Alone(arrays, questions, EXACT, Watch())
        assert alone.missed(solution.values, lambda: NO_END) is None
        proto = to_proto(program)
        proto.variables.integers[:] = [False] * len(proto.variables.ids)
        relaxed = solve_model(proto.SerializeToString(), EXACT)
        rows = alone.missed(relaxed.values, lambda: NO_END)
        if rows is None:
            continue
        missed += 1
        for values, keeps in ((solution.values, True), (relaxed.values, False)):
            own = rows.entries
            sums = np.bincount(own.row, own.coefficient * values[own.column])
            assert (sums >= rows.lower - 1e-6).all() == keeps
    assert missed > 10


def test_a_plan_is_refined_with_its_kinds_and_places() -> None:
    for program, solution in drawn()[::3]:
        known = Known(program, solution)
        found = refined(known, program.sets, EXACT, Watch())
        assert same_cost(found.usd, known.usd)
        assert holds(found.program, found.solution.values)


def test_a_dear_plan_is_refined_to_what_its_leaf_costs() -> None:
    better = 0
    for program, solution in drawn()[::3]:
        dear = solve_model(dearer(program, solution), Limits(gap_fraction=0.0, time_limit_s=30))
        if dear.outcome is not Outcome.OPTIMAL:
            continue
        known = Known(program, dear)
        found = refined(known, program.sets, EXACT, Watch())
        assert found.usd <= known.usd * (1 + 1e-6)
        assert holds(found.program, found.solution.values)
        better += found.usd < known.usd * (1 - 1e-3)
    assert better > 5


def test_nothing_is_said_of_answers_once_the_time_is_up() -> None:
    program, solution = drawn()[0]
    alone = Alone(arrays_of(program), questions_of(program), EXACT, Watch())
    assert alone.missed(2 * solution.values, lambda: 0.0) is None
    assert alone.cost_of(0, 0, lambda: 0.0).usd == 0.0
    assert alone.cost_of(0, 0, lambda: NO_END).usd > 0.0
