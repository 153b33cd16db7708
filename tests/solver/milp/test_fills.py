"""Whole nodes: rounding what blocks of replicas fill cuts off parts of nodes, and no plan."""

import itertools
import math
import random
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from gang_cases import gang_case
from inline_snapshot import snapshot
from one_kind_sets import one_kind_sets
from rows_text import rows_text
from solving import objective_usd, same_cost, solution_of
from two_by_two import two_by_two

from solver.milp.alike_periods import clusters_of
from solver.milp.build import build_sets
from solver.milp.fills import Fill, Floats, Owned, Rounded, joined, rounded
from solver.milp.market import Market
from solver.milp.program import build_program
from solver.milp.restrict import restricted
from solver.milp.tighten import tighter_fills

ONE_OF_BOTH = Fill((0, 1), 2, False, (0, 1), ((0, (0, 1, 2)),), is_together=False)


def test_rows_of_whole_nodes() -> None:
    """Three blocks of one GPU fill one and a half nodes of two: two nodes, or one and a single."""
    sets = build_sets(two_by_two(max_groups=1))
    program = build_program(replace(sets, fills=(ONE_OF_BOTH,)))
    assert rows_text(program, "whole_nodes") == snapshot("""\
whole_nodes[0,0]: -1 <= +1 on_demand_nodes[0,0] +1 committed_nodes[0] +1 committed_nodes[1]
    +1 on_demand_nodes[1,0] -2 gang_up[0,0] -1 gang_up[1,0] +1 kind_used[0] -1 replicas[0,0]
    -1 replicas[0,1] -1 replicas[0,2] -1 replicas[2,0] -1 replicas[2,1] -1 replicas[2,2]
whole_nodes[0,1]: 0 <= +1 on_demand_nodes[0,1] +1 committed_nodes[0] +1 committed_nodes[1]
    +1 on_demand_nodes[1,1] -2 gang_up[0,1] -1 gang_up[1,1] +1 kind_used[0] -1 replicas[0,0]
    -1 replicas[0,1] -1 replicas[0,2] -1 replicas[2,0] -1 replicas[2,1] -1 replicas[2,2]
""")


def test_rows_of_owned_nodes() -> None:
    """One of the two nodes that the blocks need is owned: by the kind alone, or by `tune`."""
    sets = build_sets(two_by_two(max_groups=1))
    of_kind = replace(ONE_OF_BOTH, machines=(0,), periods=(0,), owned=Owned.BY_KINDS)
    of_tune = replace(of_kind, owned=Owned.BY_RUN, run=0)
    alone = replace(of_tune, parts=())
    program = build_program(replace(sets, fills=(of_kind, of_tune, alone)))
    assert rows_text(program, "whole_nodes") == snapshot("""\
whole_nodes[0,0]: 0 <= +1 on_demand_nodes[0,0] +1 committed_nodes[0] +1 committed_nodes[1]
    +2 kind_used[0] -1 replicas[0,0] -1 replicas[0,1] -1 replicas[0,2]
whole_nodes[1,0]: -1 <= +1 on_demand_nodes[0,0] +1 committed_nodes[0] +1 committed_nodes[1]
    -1 gang_up[1,0] +1 kind_used[0] -1 replicas[0,0] -1 replicas[0,1] -1 replicas[0,2]
whole_nodes[2,0]: 0 <= +1 on_demand_nodes[0,0] +1 committed_nodes[0] +1 committed_nodes[1]
""")


@pytest.mark.parametrize("seed", range(40))
def test_no_whole_fleet_is_cut_off(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - a draw, not a secret
    sizes = tuple(draw.choice((0.25, 0.5, 1.0, 2.0)) for _ in range(draw.choice((1, 2))))
    parts = tuple(
        np.array(
            [[draw.choice((0.125, 0.25, 0.5, 1.0, 1.25))] for _ in range(draw.choice((1, 2, 3)))]
        )
        for _ in range(draw.choice((1, 2)))
    )
    for is_together in (True, False):
        need = rounded(parts, sizes, is_together=is_together)
        for used, up, nodes in _fleets(parts, sizes, one_kind=not is_together):
            assert _missed(need, used, up, nodes) <= 1e-9


def test_a_relaxed_fleet_that_holds_part_of_a_node_is_cut_off() -> None:
    """Five blocks of a quarter are 1.25 nodes: 2, less one for each block that is elsewhere."""
    need = rounded((np.full((5, 1), 0.25),), (1.0,), is_together=False)
    assert (need.used[0][0], need.blocks[0][0, 0]) == (-3.0, 1.0)
    assert _missed(need, [1.0], [np.ones(5)], [1.25]) == pytest.approx(0.75)


@pytest.mark.parametrize("clusters", [None, 2])
def test_fills_change_no_optimal_cost(clusters: int | None) -> None:
    changed = found = 0
    owned: set[Owned] = set()
    for sets in one_kind_sets():
        program = build_program(sets)
        added_up = None if clusters is None else clusters_of(sets, clusters)
        fills = tighter_fills(program, time.monotonic() + 60, clusters=added_up)
        with_fills = build_program(replace(sets, fills=fills))
        usd = objective_usd(program, solution_of(program))
        least_usd = objective_usd(with_fills, solution_of(with_fills))
        found += bool(fills)
        changed += usd != least_usd and not same_cost(usd, least_usd)
        owned |= {fill.owned for fill in fills}
    assert found > 10
    assert owned == (set(Owned) if clusters is None else {Owned.BY_ALL, Owned.BY_KINDS})
    assert changed == 0


def test_every_fill_of_owned_nodes_holds_in_every_plan() -> None:
    """Also those that no relaxed plan misses: each run's, with the blocks of each kind or none."""
    changed = tried = 0
    for seed in range(30):
        sets = build_sets(gang_case(seed))
        periods = tuple(range(len(sets.periods)))
        blocks = [tuple(range(kind.blocks)) for kind in sets.kinds]
        parts = [(), *(((number, own),) for number, own in enumerate(blocks))]
        empty = Fill((0,), sets.machines[0].gpus, False, periods, (), is_together=False)
        fills = [
            replace(empty, parts=own, owned=Owned.BY_RUN, run=run)
            for own in parts
            for run in range(len(sets.runs))
        ] + [replace(empty, parts=own, owned=Owned.BY_KINDS) for own in parts[1:]]
        usd, least_usd = (
            objective_usd(program, solution_of(program))
            for program in (build_program(sets), build_program(replace(sets, fills=tuple(fills))))
        )
        tried += usd < math.inf
        changed += usd != least_usd and not same_cost(usd, least_usd)
    assert tried > 20
    assert changed == 0


def test_fills_of_one_look_are_joined_by_their_periods() -> None:
    early, late = (replace(ONE_OF_BOTH, periods=own) for own in ((0, 2), (1, 2)))
    assert joined((early, late)) == (replace(ONE_OF_BOTH, periods=(0, 1, 2)),)


def test_a_fill_moves_with_what_is_still_there() -> None:
    assert ONE_OF_BOTH.moved({1: 0}, {0: 3}) == replace(
        ONE_OF_BOTH, machines=(0,), parts=((3, (0, 1, 2)),)
    )


def _fleets(
    parts: tuple[Floats, ...], sizes: tuple[float, ...], *, one_kind: bool
) -> Iterator[tuple[list[float], list[Floats], list[float]]]:
    """List fleets of whole nodes that hold what is up."""
    blocks = [len(own) for own in parts]
    for flat in itertools.product((0.0, 1.0), repeat=sum(blocks)):
        up = np.split(np.array(flat), np.cumsum(blocks)[:-1])
        if one_kind and sum(bool(own.any()) for own in up) > 1:
            continue
        taken = sum(float(x @ own[:, 0]) for x, own in zip(up, parts, strict=True))
        for nodes in itertools.product(range(6), repeat=len(sizes)):
            if np.dot(nodes, sizes) >= taken:
                yield [float(own.any()) for own in up], up, [float(one) for one in nodes]


def _missed(need: Rounded, used: list[float], up: list[Floats], nodes: list[float]) -> float:
    held = sum(share[0] * one for share, one in zip(need.nodes, nodes, strict=True))
    asked = float(need.constant[0])
    for one, own, x, blocks in zip(used, need.used, up, need.blocks, strict=True):
        asked += float(own[0]) * one + float(x @ blocks[:, 0])
    return asked - float(held)


def test_rounding_up_a_part_of_the_market_forgets_nothing() -> None:
    """Fills stay with all their kinds, machines and periods; those of the part come to them."""
    known = more = 0
    for sets in one_kind_sets():
        fills = tighter_fills(build_program(sets), time.monotonic() + 60)
        firsts = {kind.demand: at for at, kind in reversed(list(enumerate(sets.kinds)))}
        market = Market(replace(sets, fills=fills))
        part = [at for at, one in enumerate(sets.groups) if one.kind in firsts.values()]
        program = build_program(restricted(market.sets, part, range(len(sets.run_options))))
        is_new = market.round_up(program, time.monotonic() + 60, time.monotonic)
        after = {fill.what: set(fill.periods) for fill in market.sets.fills}
        assert all(set(fill.periods) <= after[fill.what] for fill in fills)
        assert is_new == (set(market.sets.fills) != set(fills))
        known += len(fills)
        more += is_new
    assert known > 20
    assert more > 3
