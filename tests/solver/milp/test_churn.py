"""Moved nodes in the program: rows and costs worked out by hand, and pruning that knows of them.

A node is one replica here and carries 1 request/s; `acme` rents at 1 USD an hour, `bolt` at 3.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from both_ways import both_ways, exact_optimum, exact_usd
from changed_cases import with_workloads
from churn_cases import (
    ACME,
    BOLT,
    beside_another,
    cheapest_beside_usd,
    churn_case,
    churn_policy,
    held,
    replicas,
)
from one_kind_sets import coarse_and_exact, one_kind_sets
from priced_out import penalties_held, same_bound
from random_cases import random_case
from solving import (
    EXACT,
    assembled,
    least_usd,
    no_dearer,
    objective_usd,
    program_of,
    same_cost,
    solution_of,
    solved,
)
from tiny_cases import (
    case,
    offer,
    run_entry,
    service_entry,
    serving,
    training,
    workloads,
)
from wide_cases import wide_case

from broker.domain.case import Case
from broker.domain.offer import Block, Limits, PriceKind
from broker.domain.plan import CostLine, Status, Term
from broker.verification.check import check
from solver.milp.branch import branch
from solver.milp.build import build_sets
from solver.milp.drafted import holds, values_of
from solver.milp.dump import lines, term_lines
from solver.milp.local_search import search
from solver.milp.pairs import ways_by_demand
from solver.milp.program import build_program
from solver.milp.sets import Sets, has_hopeless_workload

MONTH = offer("0.5", provider="acme", kind=PriceKind.RESERVED, term_months=1)
SPOT = offer("0.4", provider="acme", kind=PriceKind.SPOT)
_HOURS = 24


def test_nodes_stay_where_moving_them_counts_more_than_it_saves() -> None:
    """Acme saves 2 USD an hour of a node, 48 a day: at 47 for each node it pays, at 49 it does not.

    Of five nodes bolt has three; the other two are moved wherever they are.
    """
    moves = replicas(5, {BOLT.key: 3}, usd=47)
    assert exact_usd(moves) == 5 * 1 * _HOURS + 5 * 47
    stays = replicas(5, {BOLT.key: 3}, usd=49)
    assert exact_usd(stays) == 3 * 3 * _HOURS + 2 * 1 * _HOURS + 2 * 49


def test_a_line_says_what_is_counted_and_budgets_do_not_pay_it() -> None:
    of = replicas(5, {BOLT.key: 3}, usd=49)
    optimum = exact_optimum(of)
    counted = [one for one in optimum.cost_lines if one.term is Term.CHURN]
    assert counted == [CostLine(term=Term.CHURN, subject=ACME.key, usd=Decimal(98))]
    plan = assembled(of, optimum)
    assert plan.billed_usd == plan.total_usd - 98 == 264
    for hard in ({"usd": 264}, {"usd_per_month": 8030}):
        enough = with_workloads(of, {"policy.budgets": [hard]})
        assert solved(enough).total_usd == optimum.total_usd
    monthly = with_workloads(of, {"policy.budget_usd_per_month": 8030})
    assert exact_optimum(monthly).total_usd == optimum.total_usd


def test_without_a_plan_in_force_nothing_is_moved() -> None:
    of = replace(replicas(5, {}, usd=49), in_force=None)
    assert exact_usd(of) == 5 * _HOURS
    assert lines(program_of(of), "moved_nodes") == []
    assert assembled(of, solved(of)).in_force is None


def test_each_way_to_have_nodes_is_a_line_of_its_own() -> None:
    """To commit to the nodes that are rented counts as a move, as a night counts it, too."""
    more = {"offers": [ACME, MONTH], "days": 28, "slot": "24 h"}
    saved_usd = 28 * _HOURS * 0.5
    for usd, total in (
        (saved_usd - 1, 2 * (28 * _HOURS * 0.5 + saved_usd - 1)),
        (saved_usd + 1, 2 * 28 * _HOURS),
    ):
        assert exact_usd(replicas(2, {ACME.key: 2}, usd=usd, **more)) == total
    assert exact_usd(replicas(2, {MONTH.key: 2}, usd=500, **more)) == 28 * _HOURS


def test_owned_nodes_are_there_anyway() -> None:
    of = replicas(2, {BOLT.key: 2}, usd=49)
    assert exact_usd(replace(of, owned=replicas(1, {}, usd=0, owned=2).owned)) == 0


def test_nodes_at_other_hours_are_not_moved() -> None:
    """The plan in force has a node in some hours, the new one in others, at the same peak."""
    run = run_entry(8 * 3600, window={"earliest": "2026-12-01", "deadline": "2026-12-02"})
    file = workloads(training=[run], policy=churn_policy(1000))
    of = case(file, [ACME], training=[training(ACME)])
    assert exact_usd(replace(of, in_force=held({ACME.key: 1}))) == 8
    assert exact_usd(replace(of, in_force=())) == 1008


def test_rows_of_moved_nodes() -> None:
    block = offer("0.9", provider="acme", kind=PriceKind.CAPACITY_BLOCK).model_copy(
        update={"block": Block(lengths_h=(24,)), "limits": Limits(max_nodes=4)}
    )
    load = {"requests_per_s": {"step": "24 h", "by_size": [[1.0, 2.0]]}}
    file = workloads(
        services=[service_entry(1, 1, traffic=load, spot={"max_share": 0.5})],
        days=2,
        slot="24 h",
        policy=churn_policy(20),
    )
    options = [serving(ACME, [1.0]), serving(ACME, [1.0], on_spot=True)]
    of = case(file, [ACME, SPOT, MONTH, block], serving=options)
    of = replace(of, in_force=held({ACME.key: 2, MONTH.key: 1}))
    assert list(lines(program_of(of), "moved_nodes")) == [
        "moved_nodes[0,0]: -2 <= +1 moved_nodes[0] -1 on_demand_nodes[0,0]",
        "moved_nodes[0,1]: -2 <= +1 moved_nodes[0] -1 on_demand_nodes[0,1]",
        "moved_nodes[1,0]: 0 <= +1 moved_nodes[1] -1 spot_nodes[0,0]",
        "moved_nodes[1,1]: 0 <= +1 moved_nodes[1] -1 spot_nodes[0,1]",
        "moved_nodes[2,0]: -1 <= +1 moved_nodes[2] -1 committed_nodes[0]",
        "moved_nodes[3,0]: 0 <= +1 moved_nodes[3] -1 committed_nodes[1]",
        "moved_nodes[4,1]: 0 <= +1 moved_nodes[4] -1 committed_nodes[2]",
    ]
    assert list(term_lines(program_of(of), "churn")) == [
        f"churn: +20 moved_nodes[{line}]" for line in range(5)
    ]


def test_a_block_that_is_booked_for_either_side_is_one_line() -> None:
    block = offer("0.9", provider="acme", kind=PriceKind.CAPACITY_BLOCK).model_copy(
        update={"block": Block(lengths_h=(24,))}
    )
    file = workloads(
        services=[service_entry(1, 1)],
        training=[run_entry(8 * 3600)],
        slot="24 h",
        policy={**churn_policy(20), "sharing": "split"},
    )
    of = case(file, [ACME, block], serving=[serving(ACME, [1])], training=[training(ACME)])
    assert list(lines(program_of(replace(of, in_force=())), "moved_nodes")) == [
        "moved_nodes[0,0]: 0 <= +1 moved_nodes[0] -1 on_demand_nodes[0,0]",
        "moved_nodes[1,0]: 0 <= +1 moved_nodes[1] -1 committed_nodes[0] -1 committed_nodes[1]",
    ]


def test_nodes_of_an_isolated_workload_are_a_line_of_their_own() -> None:
    """What others have of the machine is no node of this one."""
    of = replicas(2, {ACME.key: 2}, usd=10, policy={"isolated": ["chat"]}, offers=[ACME])
    assert exact_usd(of) == 2 * _HOURS + 20
    own = replace(of, in_force=held({f"{ACME.key}#chat": 2}))
    assert exact_usd(own) == 2 * _HOURS
    both = exact_optimum(replace(of, in_force=held({f"{ACME.key}#chat": 1})))
    assert [one.subject for one in both.cost_lines if one.term is Term.CHURN] == [
        f"{ACME.key}#chat"
    ]


def test_a_plan_that_hides_what_is_moved_is_refused() -> None:
    of = replicas(5, {BOLT.key: 5}, usd=49)
    free = solved(replace(of, in_force=None))
    broken = check(assembled(of, free), of)
    assert [one.message for one in broken] == ["the churn line is missing; it is due 245.000000"]


@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 160))]
)
def test_moved_nodes_cost_what_enumeration_finds(seed: int) -> None:
    of = churn_case(seed)
    expected = cheapest_beside_usd(of, most_committed=5)
    for optimum in both_ways(of):
        if math.isinf(expected):
            assert optimum.status is Status.INFEASIBLE
        else:
            assert float(optimum.total_usd) == pytest.approx(expected, rel=1e-5, abs=1e-4)


@pytest.mark.long
def test_churn_changes_many_random_plans() -> None:
    stayed = moved = 0
    for seed in range(60):
        of = churn_case(seed)
        plan, free = solved(of), solved(replace(of, in_force=None))
        churn_usd = sum(one.usd for one in plan.cost_lines if one.term is Term.CHURN)
        stayed += not same_cost(float(plan.total_usd - churn_usd), float(free.total_usd))
        moved += churn_usd > 0
    assert stayed > 3
    assert moved > 15


@pytest.mark.parametrize(
    "seeds", [range(5), pytest.param(range(5, 100), marks=pytest.mark.long)], ids=["few", "many"]
)
def test_step_by_step_costs_what_the_whole_program_does(seeds: range) -> None:
    for of in _many_machines(seeds):
        both_ways(of)


@pytest.mark.usefixtures("start_with_one_of_each")
@pytest.mark.long
def test_pricing_out_gives_the_bound_of_the_whole_relaxed_program() -> None:
    binding = 0
    for of in _many_machines(range(40)):
        sets = build_sets(with_workloads(of, {"policy.max_groups": 1}))
        if has_hopeless_workload(sets):
            continue
        if both := same_bound(sets):
            _, whole, program = both
            rows = sum(len(one.keys) for one in program.families if one.family != "moved_nodes")
            binding += bool(np.abs(whole.row_usd[rows:]).max(initial=0.0) > 1e-6)
    assert binding > 5


@pytest.mark.long
def test_a_plan_with_a_kind_or_option_costs_its_penalty_more_than_the_bound() -> None:
    held = [
        penalties_held(build_sets(with_workloads(of, {"policy.max_groups": 1})))
        for of in _many_machines(range(12))
    ]
    assert sum(held) > 20


@pytest.mark.long
@pytest.mark.parametrize("clusters", [1, 3])
def test_the_coarse_bound_is_no_higher(clusters: int) -> None:
    lower = charged = 0
    for sets in _sets_in_force():
        program = build_program(sets)
        if both := coarse_and_exact(program, clusters):
            smaller, exact = both
            lower += smaller.usd < exact.usd - 1e-6
            charged += program.columns.moved_nodes.of(exact.values).max(initial=0.0) > 1e-6
    assert lower > 0
    assert charged > 10


@pytest.mark.long
@pytest.mark.parametrize("clusters", [1, 40])
def test_branching_finds_the_cheapest_plan_and_proves_it(clusters: int) -> None:
    tried = 0
    for sets in list(_sets_in_force())[::2]:
        program = build_program(sets)
        usd = objective_usd(program, solution_of(program))
        if not 0 < usd < math.inf:
            continue
        found = branch(program, 1.5 * usd, EXACT, clusters=clusters)
        assert found.solution is not None
        assert same_cost(objective_usd(program, found.solution), usd)
        assert same_cost(found.bound_usd, usd)
        tried += 1
    assert tried > 15


@pytest.mark.long
def test_the_search_counts_moved_nodes_as_the_program_does() -> None:
    counted = near = 0
    for of in _many_machines(range(8)):
        changes = {"policy.max_groups": 1, "policy.sharing": "converged"}
        program = program_of(with_workloads(of, changes))
        if has_hopeless_workload(program.sets):
            continue
        found = search(program.sets, ways_by_demand(program.sets), seed=0, ends_at=math.inf)
        if found is None or not holds(program, values_of(program, found)):
            continue  # a rule that several machines share: the program has to plan it
        values = values_of(program, found)
        terms = [one for one in program.terms if one.term in ("egress", "storage")]
        data_usd = sum(float(one.usd @ values[one.column]) for one in terms)
        assert float(program.cost @ values) == pytest.approx(found.usd + data_usd, rel=1e-6)
        counted += bool(program.columns.moved_nodes.of(values).max(initial=0.0) > 0)
        near += same_cost(objective_usd(program, solution_of(program)), found.usd + data_usd)
    assert counted > 1
    assert near > 3


def test_a_new_machine_never_raises_the_cost_and_free_moves_change_nothing() -> None:
    for seed in range(20):
        of = churn_case(seed)
        free = with_workloads(of, {"policy.churn.usd_per_moved_node": "0"})
        assert same_cost(least_usd(free), least_usd(replace(of, in_force=None)))
        assert no_dearer(least_usd(free), least_usd(of))
        assert no_dearer(least_usd(of), least_usd(replace(of, in_force=())) if of.in_force else 1e9)


def _sets_in_force() -> Iterator[Sets]:
    """Give sets with one kind a demand, of which a node of each other offer is in force."""
    for sets in one_kind_sets():
        lines = held({one.key: 1 for one in sets.case.offers[::2]})
        yield replace(sets, case=replace(sets.case, in_force=lines))


def _many_machines(seeds: range) -> Iterator[Case]:
    """Draw cases with many machines, each beside a plan at other prices."""
    for seed in seeds:
        drawn = (
            wide_case(seed)
            if seed % 3 == 0
            else random_case(seed, machines=(4, 6), providers=("acme", "zeta"))
        )
        yield beside_another(drawn, seed)
