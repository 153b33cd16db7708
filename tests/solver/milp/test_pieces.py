"""Runs in one piece: rows that hold in every plan, and the stretches in which they may begin."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from gang_cases import gang_case
from one_kind_sets import one_kind_sets
from solving import EXACT, solution_of
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case
from solver.milp.build import build_sets
from solver.milp.linear import LinearProgram
from solver.milp.pieces import contested, pieces, stretches, times_to_begin
from solver.milp.program import Program, build_program, to_proto
from solver.milp.questions import questions_of, split
from solver.milp.sets import Floats, Sets
from solver.milp.solve import solve_model


def with_pieces(program: Program) -> Program:
    return replace(program, families=(*program.families, *pieces(program)))


def drawn() -> Iterator[Sets]:
    """Give sets in which some run is in one piece and has the time for it."""
    yield from (own for own in one_kind_sets() if times_to_begin(own))
    gangs = (build_sets(gang_case(seed)) for seed in range(20, 40))
    yield from (own for own in gangs if times_to_begin(own))


def plans() -> Iterator[tuple[Program, Floats]]:
    """Give the programs of those sets that have a plan, and the values of the cheapest."""
    for sets in drawn():
        program = build_program(sets)
        values = solution_of(program).values
        if len(values):
            yield program, values


def test_no_plan_breaks_the_rows() -> None:
    checked = 0
    for program, values in plans():
        for rows in pieces(program):
            sums = np.bincount(
                rows.entries.row,
                rows.entries.coefficient * values[rows.entries.column],
                minlength=len(rows.keys),
            )
            assert (sums >= rows.lower - 1e-6).all()
            checked += len(sums)
    assert checked > 100


def test_with_the_rows_the_cheapest_plan_costs_the_same() -> None:
    changed = 0
    for sets in list(drawn())[::3]:
        program = build_program(sets)
        tighter = with_pieces(program)
        before, after = (
            solve_model(to_proto(one).SerializeToString(), EXACT) for one in (program, tighter)
        )
        assert after.bound_usd == pytest.approx(before.bound_usd, rel=1e-6)
        loose, tight = (LinearProgram(to_proto(one)).solve(60).plan for one in (program, tighter))
        if loose is not None and tight is not None:
            assert tight.usd >= loose.usd - 1e-6
            changed += tight.usd > loose.usd * (1 + 1e-6)
    assert changed > 0


def test_stretches_are_all_periods_of_a_window_once() -> None:
    for sets in drawn():
        windows = [
            one.window
            for run in times_to_begin(sets)
            for one in [next(own for own in sets.run_options if own.run == run)]
        ]
        own = sorted(np.concatenate(list(stretches(sets))).tolist())
        assert own == sorted(period for window in windows for period in window)


def test_a_run_begins_in_one_of_its_stretches() -> None:
    asked = 0
    for program, values in plans():
        for question in questions_of(program, times_to_begin(program.sets)):
            if question.when is not None:
                assert question.shares(values).round(6).tolist().count(1.0) == 1
                asked += 1
    assert asked > 5


def test_when_a_run_begins_is_halved_and_need_not_be_asked() -> None:
    program = build_program(next(own for own in drawn() if _has_a_choice_of_times(own)))
    questions = questions_of(program, times_to_begin(program.sets))
    at = next(number for number, one in enumerate(questions) if one.when is not None)
    own = questions[at].answers
    values = np.zeros(program.columns.size)
    for answer in own:
        values[answer[0]] = 1 / len(own)
    left = tuple(
        frozenset(range(len(one.answers))) if number == at else frozenset({0})
        for number, one in enumerate(questions)
    )
    found = split(left, questions, values)
    assert found is not None
    first, second = (sorted(one[at]) for one in found.answers)
    assert [*first, *second] == list(range(len(own)))
    assert abs(len(first) - len(second)) <= 1
    assert split(left, questions, values, never={at}) is None


def _has_a_choice_of_times(sets: Sets) -> bool:
    return any(len(own) > 1 for own in times_to_begin(sets).values())


def test_runs_that_owned_nodes_are_kept_for_are_asked_when_they_begin() -> None:
    """Ten slots of two owned nodes at 5 USD are worth a fifth of 500 USD, and less of more."""
    program = build_program(build_sets(_two_owned_nodes(restartable=False)))
    assert contested(program, 500.0) == {0}
    assert contested(program, 501.0) == set()
    assert contested(build_program(build_sets(_two_owned_nodes(restartable=True))), 1.0) == set()


def test_other_runs_get_no_rows() -> None:
    program = build_program(build_sets(_two_owned_nodes(restartable=False)))
    assert [len(rows.keys) for rows in pieces(program, runs=())] == [0, 0]
    assert all(len(rows.keys) for rows in pieces(program, runs={0}))
    assert times_to_begin(program.sets, runs=()) == {}
    assert not list(stretches(program.sets, runs=()))


def _two_owned_nodes(*, restartable: bool) -> Case:
    own = offer("5", name="own", gpus=1)
    return case(
        workloads(
            services=[service_entry(1, 1)],
            training=[run_entry(10 * 3600, restartable=restartable)],
            slot="1 h",
            policy={"max_groups": 1},
        ),
        [own],
        serving=[serving(own, [2.0])],
        training=[training(own, nodes=3, tokens_per_s=1.0)],
        owned=[(own, 2)],
    )
