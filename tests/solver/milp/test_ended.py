"""A relaxed program that grew goes on from where it ended, to the optimum that it has anew."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from one_kind_sets import one_kind_sets
from solving import same_cost

from solver.milp.alike_periods import clusters_of
from solver.milp.coarse import coarse
from solver.milp.column_names import NAMELESS, column_names
from solver.milp.ended import Ended, Named, carried, ended
from solver.milp.linear import PRIMAL_SIMPLEX, LinearPlan, LinearProgram
from solver.milp.program import build_program
from solver.milp.relax import solve_grown, solve_relaxed
from solver.milp.restrict import restricted
from solver.milp.sets import Sets
from solver.milp.variables import Ints

Inside = tuple[Sequence[int], Sequence[int]]


@dataclass(frozen=True)
class Solved:
    """A part of a market, named, and its relaxed plan."""

    named: Named
    plan: LinearPlan

    @property
    def ended(self) -> Ended:
        assert self.plan.basis is not None
        return ended(self.named, self.plan.basis)


def named(sets: Sets, inside: Inside) -> Named:
    program = build_program(restricted(sets, *inside))
    assert sets.clusters is not None
    smaller = coarse(program, sets.clusters)
    _, first = np.unique(smaller.column_of, return_index=True)
    names = column_names(program, first, sets, inside)
    return Named(smaller.copy(), names, smaller.family_of(program))


def solved(sets: Sets, inside: Inside) -> Solved | None:
    of = named(sets, inside)
    plan = LinearProgram(of.proto).solve(60).plan
    return None if plan is None else Solved(of, plan)


def everything(sets: Sets) -> Inside:
    return range(len(sets.groups)), range(len(sets.run_options))


def without_some(sets: Sets) -> Inside:
    """Leave every third group and run option out, of those that are not the first of their own."""
    groups = [one.kind for one in sets.groups]
    options = [one.run for one in sets.run_options]
    return tuple(
        [at for at, of in enumerate(own) if at % 3 != 1 or of not in own[:at]]
        for own in (groups, options)
    )


def markets() -> Iterator[Sets]:
    for sets in one_kind_sets():
        yield replace(sets, clusters=clusters_of(sets, 3))


def grown() -> Iterator[tuple[Sets, Solved]]:
    """Give markets with a part of each that has a plan, and is not all of it."""
    for sets in markets():
        inside = without_some(sets)
        if sum(map(len, inside)) < sum(map(len, everything(sets))):
            part = solved(sets, inside)
            if part is not None:
                yield sets, part


def test_what_grew_goes_on_to_the_optimum_that_it_has_anew() -> None:
    tried = 0
    for sets, part in grown():
        whole = named(sets, everything(sets))
        basis = carried(part.ended, whole)
        assert basis is not None
        linear = LinearProgram(whole.proto, presolves=False)
        plan = linear.solve(60, PRIMAL_SIMPLEX, basis=basis).plan
        anew = solved(sets, everything(sets))
        assert plan is not None
        assert anew is not None
        assert same_cost(plan.usd, anew.plan.usd)
        tried += 1
    assert tried > 20


def test_the_basis_of_a_program_that_is_as_it_was_needs_no_step() -> None:
    for sets, part in list(grown())[:10]:
        again = named(sets, without_some(sets))
        basis = carried(part.ended, again)
        linear = LinearProgram(again.proto, presolves=False)
        plan = linear.solve(60, PRIMAL_SIMPLEX, basis=basis).plan
        assert plan is not None
        assert basis is not None
        assert plan.basis is not None
        assert plan.basis.variable_status == basis.variable_status
        assert plan.basis.constraint_status == basis.constraint_status


def test_nothing_is_carried_over_to_what_lost_columns_of_the_basis() -> None:
    lost = 0
    for sets, part in grown():
        whole = solved(sets, everything(sets))
        assert whole is not None
        own = set(part.named.names.tolist())
        used = whole.named.names[whole.plan.values > 0].tolist()
        if not own.issuperset(used):
            lost += carried(whole.ended, part.named) is None
    assert lost > 5


def test_names_stay_and_tell_columns_apart() -> None:
    for sets in markets():
        part, whole = (all_names(sets, of) for of in (without_some(sets), everything(sets)))
        for names in (part, whole):
            assert (names != NAMELESS).all()
            assert len(np.unique(names)) == len(names)
        assert set(part.tolist()) <= set(whole.tolist())


def all_names(sets: Sets, inside: Inside) -> Ints:
    program = build_program(restricted(sets, *inside))
    return column_names(program, np.arange(program.columns.size), sets, inside)


def test_relaxing_what_grew_gives_the_same_bound() -> None:
    tried = 0
    for sets in markets():
        assert sets.clusters is not None
        before, inside = None, without_some(sets)
        for of in (inside, everything(sets)):
            program = build_program(restricted(sets, *of))
            naming = partial(column_names, program, market=sets, inside=of)
            found = solve_grown((program, sets.clusters), naming, before, 60)
            anew = solve_relaxed(program, 60, sets.clusters)
            assert (found is None) == (anew is None)
            if found is not None and anew is not None:
                assert same_cost(found.bound_usd, anew.bound_usd)
                before = found.ended
                tried += 1
    assert tried > 60
