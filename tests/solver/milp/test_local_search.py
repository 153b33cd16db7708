"""The search for a first plan: what it finds is a plan, at the price that the program would pay."""

import itertools
import math
import random

import numpy as np
import pytest
from random_cases import random_case
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from broker.domain.policy import Sharing
from solver.milp import local_search
from solver.milp.build import build_sets
from solver.milp.cheapest import cheapest_groups
from solver.milp.draft import Bench, Found
from solver.milp.drafted import holds, values_of
from solver.milp.local_search import search
from solver.milp.machine_costs import MachineCosts, Usage
from solver.milp.pairs import ways_by_demand
from solver.milp.program import Program, build_program, to_proto
from solver.milp.run_slots import run_ways
from solver.milp.sets import Sets
from solver.milp.solve import Limits, Outcome, solve_model

EXACT = Limits(gap_fraction=1e-7, time_limit_s=30)
SEEDS = [
    seed
    for seed in range(160)
    if random_case(seed).workloads.policy.max_groups == 1
    and random_case(seed).workloads.policy.sharing is not Sharing.SPLIT
]


def found_in(sets: Sets, seed: int = 0) -> Found | None:
    return search(sets, ways_by_demand(sets), seed=seed, ends_at=math.inf)


def with_choice_of(program: Program, found: Found) -> float:
    """Cost the cheapest nodes for a draft, as the program would buy them."""
    values, proto = values_of(program, found), to_proto(program)
    columns = program.columns
    for block in (columns.replicas, columns.gang_up, columns.gang_start, columns.option_used):
        part = slice(block.start, block.start + block.size)
        proto.variables.lower_bounds[part] = values[part].tolist()
        proto.variables.upper_bounds[part] = values[part].tolist()
    solution = solve_model(proto.SerializeToString(), EXACT)
    assert solution.outcome is Outcome.OPTIMAL
    return float(program.cost @ solution.values)


@pytest.mark.parametrize("seed", SEEDS[:16])
def test_nodes_are_bought_as_the_program_would(seed: int) -> None:
    program = build_program(build_sets(random_case(seed)))
    found = found_in(program.sets)
    if found is None or not holds(program, values_of(program, found)):
        return  # a rule that several machines share: the program has to plan it
    usd = float(program.cost @ values_of(program, found))
    assert usd == pytest.approx(with_choice_of(program, found), rel=1e-6, abs=1e-6)


def test_most_small_cases_are_planned_to_the_optimum() -> None:
    optimal = planned = 0
    for seed in SEEDS[:16]:
        program = build_program(build_sets(random_case(seed)))
        solution = solve_model(to_proto(program).SerializeToString(), EXACT)
        found = found_in(program.sets)
        if solution.outcome is not Outcome.OPTIMAL or found is None:
            continue
        values = values_of(program, found)
        if holds(program, values):
            planned += 1
            best = float(program.cost @ solution.values)
            assert float(program.cost @ values) >= best * (1 - 1e-6) - 1e-6
            optimal += float(program.cost @ values) <= best * (1 + 1e-6) + 1e-6
    assert planned > 8
    assert optimal >= 0.9 * planned


def test_one_seed_gives_one_plan() -> None:
    sets = build_sets(random_case(SEEDS[3]))
    one, two = found_in(sets, seed=7), found_in(sets, seed=7)
    assert one is not None
    assert two is not None
    assert (one.usd, one.draft) == (two.usd, two.draft)


def test_a_plan_that_breaks_a_row_does_not_hold() -> None:
    program = build_program(build_sets(shared()))
    found = found_in(program.sets)
    assert found is not None
    values = values_of(program, found)
    assert holds(program, values)
    rented = program.columns.on_demand_nodes
    values[rented.start : rented.start + rented.size] = 0.0
    assert not holds(program, values)


def shared() -> Case:
    """Serve by day and train by night on one machine, a year of which costs half."""
    box = offer("4.00", gpus=1)
    year = offer("2.00", gpus=1, kind=PriceKind.RESERVED, term_months=12)
    file = workloads(
        services=[service_entry(1.0, 2.0, min_replicas=1)],
        training=[run_entry(8 * 3600)],
    )
    return case(file, [box, year], serving=[serving(box, [1.0])], training=[training(box)])


def test_layers_are_rented_or_committed_whichever_is_cheaper() -> None:
    sets = build_sets(shared())
    costs = MachineCosts(sets)
    periods = len(sets.periods)
    nothing = np.zeros(periods)
    most = np.full(periods, 2.0)
    most[0] = 1.0
    kept = Usage(most, nothing, nothing, nothing, base=np.full(1, 1.0))
    hours = sets.hours
    # one node all day under the commitment, the second by the hour: only one is kept up
    assert costs.usd(0, kept) == pytest.approx(2.0 * 24 + 4.0 * hours[1:].sum())
    unkept = Usage(most, nothing, nothing, nothing, base=np.zeros(1))
    assert costs.usd(0, unkept) == pytest.approx(4.0 * (24 + hours[1:].sum()))
    nodes = costs.nodes(0, kept)
    assert nodes.committed == {0: 1}
    assert nodes.on_demand.tolist() == [0.0, *[1.0] * (periods - 1)]


def test_a_run_takes_the_cheapest_slots_in_one_piece_or_several() -> None:
    sets = build_sets(shared())
    window = len(sets.run_options[0].window)
    usd = np.array([1.0, 5.0, 1.0][:window])
    ways = list(run_ways(sets).periods(0, usd))
    assert all(len(way) == sets.run_options[0].slots_needed for way in ways)


@pytest.mark.parametrize("seed", SEEDS[:12])
def test_a_draft_costs_what_the_program_says_however_it_came_about(seed: int) -> None:
    program = build_program(build_sets(random_case(seed)))
    sets = program.sets
    hopes = ways_by_demand(sets)
    draw = random.Random(seed)  # noqa: S311 - a test's draws, no secret
    bench = Bench(sets)
    if not all(bench.serve(demand, ways[0]) for demand, ways in hopes.items()):
        return
    if not all(bench.do(run) for run in range(len(sets.runs))) or program.columns.over_usd.size:
        return  # a search looks at no budget
    for _ in range(20):
        before = bench.saved()
        for demand in hopes:
            bench.remove(demand)
            assert bench.serve(demand, draw.choice(hopes[demand]), noise=draw.random)
            bench.move(demand, slice(0, 1), draw.choice(bench.members[bench.draft.kinds[demand]]))
        for run in range(len(sets.runs)):
            bench.undo(run)
            bench.do(run, noise=draw.random)
        if draw.random() < 0.5 or not math.isfinite(bench.usd):
            bench.restore(before)
    values = values_of(program, bench.found())
    assert float(program.cost @ values) == pytest.approx(bench.usd, rel=1e-6, abs=1e-6)


def test_the_cheapest_of_each_size_and_way_to_pay_are_looked_at() -> None:
    hourly = {
        "small": ("2.00", 1),
        "middling": ("2.10", 1),
        "dear": ("2.20", 1),
        "big": ("9.00", 8),
    }
    offers = [offer(usd, name=name, gpus=gpus) for name, (usd, gpus) in hourly.items()]
    offers.append(offer("0.90", name="dear", kind=PriceKind.SPOT))
    year = offer("1.00", name="late", kind=PriceKind.RESERVED, term_months=12)
    offers += [offer("5.00", name="late"), year]
    mine = offer("6.00", name="mine")
    file = workloads(services=[service_entry(1.0, 2.0, spot={"max_share": 0.5})])
    options = [serving(one, [1.0]) for one in (*offers[:4], year, mine)]
    options.append(serving(offers[4], [1.0], on_spot=True))
    sets = build_sets(case(file, [*offers, mine], serving=options, owned=[(mine, 1)]))
    chosen = {
        (sets.machines[group.machine].key.split("/")[1], group.on_spot)
        for group in (sets.groups[number] for number in cheapest_groups(sets, 1))
    }
    assert chosen == {
        ("small", False),
        ("big", False),
        ("dear", True),
        ("late", False),
        ("mine", False),
    }


def test_a_search_that_has_little_time_ends_in_it_with_a_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_search, "_STEPS_A_CHOICE", 1000)
    monkeypatch.setattr(local_search, "_LOOKS_EVERY", 50)
    sets = build_sets(random_case(SEEDS[3]))
    ticks = itertools.count()

    def clock() -> float:
        return next(ticks) / 1000

    assert local_search._steps(sets) > 5000
    found = search(sets, ways_by_demand(sets), seed=0, ends_at=0.7, clock=clock)
    whole = found_in(sets)
    assert next(ticks) / 1000 < 0.75
    assert found is not None
    assert whole is not None
    assert found.usd == pytest.approx(whole.usd, rel=0.02)
