"""Gangs and replicas that are up in all of a window: a cut that drops no plan."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from gang_cases import gang_case
from solving import objective_usd, same_cost, solution_of
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case
from solver.milp.build import build_sets
from solver.milp.clashes import clashes
from solver.milp.linear import LinearProgram
from solver.milp.program import Program, build_program, to_proto
from solver.milp.questions import questions_of
from solver.milp.rows import Rows


def test_a_gang_leaves_no_owned_node_to_replicas_that_are_always_up() -> None:
    """A replica shares the one owned node with a quarter of a gang all day in a relaxed plan."""
    program = build_program(build_sets(_on_one_owned_node()))
    linear = LinearProgram(to_proto(program))
    before = linear.solve(60).plan
    assert before is not None
    rows = clashes(program, before.values)
    assert rows is not None
    linear.add(rows)
    after = linear.solve(60).plan
    exact_usd = objective_usd(program, solution_of(program))
    assert after is not None
    assert before.usd == pytest.approx(0.25 * exact_usd)
    assert after.usd == pytest.approx(exact_usd)


def test_the_row_of_that_gang() -> None:
    """Six slots of a node for the gang and six for the replica, of six that are owned."""
    program = build_program(build_sets(_on_one_owned_node()))
    plan = LinearProgram(to_proto(program)).solve(60).plan
    assert plan is not None
    rows = clashes(program, plan.values)
    assert rows is not None
    own, columns = rows.entries, program.columns
    found = dict(zip(own.column.tolist(), own.coefficient.tolist(), strict=True))
    at_own = program.sets.run_options[0].machine
    used = int(columns.option_used.at(np.array([0]))[0])
    own_node = next(at for at, group in enumerate(program.sets.groups) if group.machine == at_own)
    replica = int(columns.replicas.at(np.array([own_node]), np.array([0]))[0])
    needed = program.sets.run_options[0].slots_needed
    assert (found[used], found[replica]) == (-needed, -needed)
    assert rows.lower.tolist() == [-needed]


def test_in_one_piece_a_gang_meets_replicas_that_come_by_day() -> None:
    """It is up for sixteen hours: in pieces by night alone, in one of them for some of the day."""
    in_pieces, in_one = (
        _lifted_usd(build_program(build_sets(_by_day_on_two_owned_nodes(restartable=restartable))))
        for restartable in (True, False)
    )
    assert in_pieces == pytest.approx(0.0, abs=1e-6)
    assert in_one > 1.0


def _lifted_usd(program: Program) -> float:
    """Relax a program, and again with the cuts that are missed while there are any."""
    linear = LinearProgram(to_proto(program))
    while True:
        plan = linear.solve(60).plan
        assert plan is not None
        rows = clashes(program, plan.values)
        if rows is None:
            return plan.usd
        linear.add(rows)


def test_no_plan_is_cut_off() -> None:
    """Rows that any choice of places misses change the cost of no exact solve."""
    found = changed = 0
    for seed in range(30):
        program = build_program(build_sets(gang_case(seed)))
        cuts = tuple(_all_cuts(program))
        found += sum(len(rows.keys) for rows in cuts)
        usd, least_usd = (
            objective_usd(one, solution_of(one))
            for one in (program, replace(program, families=(*program.families, *cuts)))
        )
        changed += usd != least_usd and not same_cost(usd, least_usd)
    assert found > 20
    assert changed == 0


def _all_cuts(program: Program) -> Iterator[Rows]:
    """Give what relaxed plans miss, of every answer to every question alone."""
    questions = questions_of(program)
    for one in questions:
        every = np.concatenate(one.answers)
        for answer in one.answers:
            linear = LinearProgram(to_proto(program))
            linear.cap(every, np.isin(every, answer).astype(float))
            plan = linear.solve(60).plan
            rows = None if plan is None else clashes(program, plan.values)
            if rows is not None:
                assert _missed(rows, plan.values if plan else np.zeros(0)) > 0
                yield rows


def _missed(rows: Rows, values: np.typing.NDArray[np.float64]) -> float:
    own = rows.entries
    sums = np.bincount(own.row, own.coefficient * values[own.column], minlength=len(rows.keys))
    return float((rows.lower - sums).min(initial=math.inf))


def _on_one_owned_node() -> Case:
    """Make a case where the replica has to go to the other machine, which the gang cannot."""
    own, other = offer("10", name="own", gpus=1), offer("2", name="other", gpus=1)
    return case(
        workloads(
            services=[service_entry(1, 1)],
            training=[run_entry(6 * 3600, restartable=True)],
            slot="1 h",
            policy={"max_groups": 1},
        ),
        [own, other],
        serving=[serving(own, [2.0]), serving(other, [2.0])],
        training=[training(own, nodes=1, tokens_per_s=1.0)],
        owned=[(own, 1)],
    )


def _by_day_on_two_owned_nodes(*, restartable: bool) -> Case:
    """Make a case where one replica is always up, and another one around noon."""
    own = offer("10", name="own", gpus=1)
    return case(
        workloads(
            services=[service_entry(1.5, 2)],
            training=[run_entry(16 * 3600, restartable=restartable)],
            slot="1 h",
            policy={"max_groups": 1},
        ),
        [own],
        serving=[serving(own, [1.9])],
        training=[training(own, nodes=1, tokens_per_s=1.0)],
        owned=[(own, 2)],
    )
