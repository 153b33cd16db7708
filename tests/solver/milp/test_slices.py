"""Replicas on slices of a GPU: costs worked out by hand, rows, and the same as trying everything.

A quarter carries 1 request/s and a half 2, where nothing else is said.
"""

from dataclasses import replace

import pytest
from both_ways import both_ways, cost_what_enumeration_finds, exact_optimum, exact_usd
from changed_cases import with_workloads
from priced_out import same_bound
from random_cases import random_case
from slice_cases import HALF, QUARTER, cuttable, on_slices, slice_case, sliced
from solving import EXACT, program_of, same_cost, solved
from tiny_cases import case, offer, run_entry, service_entry, training, workloads
from wide_cases import wide_case

from broker.domain.case import Case, OwnedNodes, ServingOption
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Status
from broker.planning.bare_plan import violations
from solver.milp.build import build_sets
from solver.milp.dump import lines
from solver.milp.forced import forced_optimum
from solver.milp.prune import prune
from solver.milp.sets import has_hopeless_workload

_HOURS = 24
_MOST_OPTIONS = 6
"""Trying everything takes long with more."""
_MANY_OPTIONS = 50
"""Proving a plan to the last digit takes a minute with more."""
BOX, PAIR = cuttable(offer("4")), cuttable(offer("8", name="pair", gpus=2))


def test_four_quarters_are_a_gpu() -> None:
    assert exact_usd(_of([BOX], [sliced(BOX, [1], QUARTER)], load=4)) == 4 * _HOURS
    assert exact_usd(_of([BOX], [sliced(BOX, [1], QUARTER)], load=4.1)) == 8 * _HOURS
    assert exact_usd(_of([PAIR], [sliced(PAIR, [1], QUARTER)], load=8)) == 8 * _HOURS


def test_a_half_and_two_quarters_of_two_services_fill_a_gpu() -> None:
    options = [sliced(BOX, [2], HALF), sliced(BOX, [1], QUARTER, service="code")]
    assert exact_usd(_two_services(options)) == 4 * _HOURS


def test_a_spare_is_all_that_a_gpu_holds() -> None:
    """Beside two quarters four more are up, on a second GPU: the loss of either leaves two."""
    quarters, halves = [sliced(BOX, [1], QUARTER)], [sliced(BOX, [2], HALF)]
    optimum = exact_optimum(_of([BOX], quarters, load=2, spares=1))
    assert float(optimum.total_usd) == 2 * 4 * _HOURS
    assert {step.replicas for group in optimum.serving for step in group.steps} == {6}
    halved = exact_optimum(_of([BOX], halves, load=2, spares=1))
    assert {step.replicas for group in halved.serving for step in group.steps} == {3}


@pytest.mark.parametrize("max_groups", [1, 2])
def test_a_part_of_a_gpu_justifies_a_commitment(max_groups: int) -> None:
    """A quarter is up all the time, so one node of four is needed whole, and no more."""
    bound = cuttable(offer("1", kind=PriceKind.RESERVED, term_months=12))
    policy = {"max_groups": max_groups}
    of = _of([BOX, bound], [sliced(BOX, [1], QUARTER)], load=1, policy=policy)
    assert exact_usd(of) == 1 * _HOURS
    assert [one.price_kind for one in exact_optimum(of).purchases] == [PriceKind.RESERVED]


def test_a_gang_shares_no_gpu_with_slices() -> None:
    box = cuttable(offer("4"))
    file = workloads(
        services=[service_entry(1, 1, mig=True)], training=[run_entry(24 * 3600, restartable=True)]
    )
    of = case(file, [box], serving=[sliced(box, [1], QUARTER)], training=[training(box)])
    assert exact_usd(of) == 2 * 4 * _HOURS


def test_a_quarter_beyond_an_owned_gpu_is_use_of_a_rented_one() -> None:
    of = _of([BOX], [sliced(BOX, [1], QUARTER)], load=5)
    forced = forced_optimum(replace(of, owned=(OwnedNodes(BOX.machine, 1, None),)), BOX.key, EXACT)
    assert forced.total_usd == 4 * _HOURS
    enough = _of([BOX], [sliced(BOX, [1], QUARTER)], load=4)
    owned = replace(enough, owned=(OwnedNodes(BOX.machine, 1, None),))
    assert forced_optimum(owned, BOX.key, EXACT).status is Status.INFEASIBLE


@pytest.mark.parametrize("seed", [2, 4, 10, 15, 25, 45])
def test_a_plan_that_must_use_an_offer_keeps_every_rule(seed: int) -> None:
    of = slice_case(seed)
    best = solved(of)
    for one in of.offers:
        forced = forced_optimum(of, one.key, EXACT)
        if forced.status is not Status.INFEASIBLE:
            assert violations(forced, of) == ()
            assert float(forced.total_usd) >= float(best.total_usd) * (1 - 5e-6)


def test_rows_of_a_machine_with_slices() -> None:
    bound = cuttable(offer("5", name="pair", gpus=2, kind=PriceKind.RESERVED, term_months=12))
    program = program_of(_of([PAIR, bound], [sliced(PAIR, [1], QUARTER)], load=2))
    up = "{0}0.125 replicas[0,0] {0}0.125 replicas[0,1]".format
    assert list(lines(program, "firm_capacity")) == [
        f"firm_capacity[0,0]: {up('+')} -1 on_demand_nodes[0,0] -1 committed_nodes[0] <= 0"
    ]
    assert list(lines(program, "steady_level")) == [
        f"steady_level[0]: +1 committed_nodes[0] {up('-')} +0 level_used[0] <= 0.875"
    ]


@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 60))]
)
def test_slices_cost_what_enumeration_finds(seed: int) -> None:
    of = slice_case(seed)
    if len(of.serving) > _MOST_OPTIONS:
        of = replace(of, serving=of.serving[:_MOST_OPTIONS])
    cost_what_enumeration_finds(of, most_committed=4)


@pytest.mark.long
def test_some_slices_are_used_alone_mixed_and_beside_whole_gpus() -> None:
    used = [{one.candidate.gpus for one in solved(slice_case(seed)).serving} for seed in range(60)]
    assert {QUARTER} in used
    assert {HALF} in used
    assert any({QUARTER, HALF} <= one for one in used)
    assert any(min(one, default=1) >= 1 for one in used)


@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 60))]
)
def test_pruning_never_changes_the_optimal_cost(seed: int) -> None:
    of = slice_case(seed)
    whole, pruned = solved(of), solved(prune(of).case)
    assert pruned.status is whole.status
    assert same_cost(float(pruned.total_usd), float(whole.total_usd))


@pytest.mark.usefixtures("start_with_one_of_each")
@pytest.mark.long
def test_pricing_out_gives_the_bound_of_the_whole_relaxed_program() -> None:
    compared = 0
    for of in map(_many_machines, range(12)):
        sets = build_sets(with_workloads(of, {"policy.max_groups": 1}))
        if not has_hopeless_workload(sets) and (both := same_bound(sets)):
            compared += len(both[0].groups or ()) < len(sets.groups)
    assert compared > 2


@pytest.mark.parametrize(
    "seeds", [range(2), pytest.param(range(2, 30), marks=pytest.mark.long)], ids=["few", "many"]
)
def test_step_by_step_costs_what_the_whole_program_does(seeds: range) -> None:
    for of in map(_many_machines, seeds):
        if len(of.serving) < _MANY_OPTIONS:
            both_ways(of)


def _many_machines(seed: int) -> Case:
    drawn = wide_case(seed) if seed % 2 else random_case(seed, machines=(4, 6))
    return on_slices(drawn, seed)


def _of(
    offers: list[Offer],
    options: list[ServingOption],
    *,
    load: float,
    spares: int = 0,
    policy: dict[str, object] | None = None,
) -> Case:
    service = service_entry(load, load, mig=True, availability={"spare_replicas": spares})
    return case(workloads(services=[service], policy=policy or {}), offers, serving=options)


def _two_services(options: list[ServingOption]) -> Case:
    services = [service_entry(2, 2, mig=True), service_entry(2, 2, mig=True, name="code")]
    return case(workloads(services=services), [BOX], serving=options)
