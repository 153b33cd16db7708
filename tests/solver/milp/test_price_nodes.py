"""Prices of nodes by the duals of a smaller program, where periods are added up."""

from dataclasses import replace

import numpy as np
import pytest
from gang_cases import gang_case
from one_kind_sets import one_kind_sets

from solver.milp.alike_periods import clusters_of
from solver.milp.build import build_sets
from solver.milp.clusters import Clusters
from solver.milp.fills import Fill
from solver.milp.market import Market
from solver.milp.price_nodes import node_prices
from solver.milp.program import Program, build_program
from solver.milp.relax import Relaxed, solve_relaxed
from solver.milp.sets import Sets, has_hopeless_workload


def _rounded(sets: Sets, period: int) -> Sets:
    """Round up what fills the first machine with the first kind, in one period."""
    gpus = sets.machines[0].gpus
    fill = Fill((0,), gpus, False, (period,), ((0, (0,)),), is_together=False)
    return replace(sets, fills=(fill,))


def _with_dual(program: Program, solved: Relaxed, usd: float) -> Relaxed:
    """Give the rounded row a dual, in dollars."""
    row_usd, start = solved.row_usd.copy(), 0
    for family in program.families:
        if family.family == "whole_nodes":
            row_usd[start : start + len(family.keys)] = usd
        start += len(family.keys)
    return replace(solved, row_usd=row_usd)


def test_gangs_pay_for_whole_nodes_in_their_periods_alone() -> None:
    priced = 0
    for seed in range(6):
        together = Clusters(np.zeros(len(build_sets(gang_case(seed)).periods), dtype=np.int64))
        sets = replace(_rounded(build_sets(gang_case(seed)), 1), clusters=together)
        market = Market(sets, together)
        program = build_program(sets)
        solved = solve_relaxed(program, clusters=together)
        assert solved is not None
        plain = node_prices(sets, program, _with_dual(program, solved, 0.0), market.flat)
        prices = node_prices(sets, program, _with_dual(program, solved, 500.0), market.flat)
        assert list(prices.uneven) == [0]
        assert not plain.uneven
        usd = market.option_usd(prices.gangs, prices.spot_gangs, prices)
        before = market.option_usd(plain.gangs, plain.spot_gangs, plain)
        for number, option in enumerate(sets.run_options):
            others = len(option.window) - (1 in option.window)
            needs_it = option.machine == 0 and option.slots_needed > others
            more = 500.0 * option.nodes if needs_it else 0.0
            assert usd[number] - before[number] == pytest.approx(more, abs=1e-6)
            priced += needs_it
    assert priced > 0


def test_what_is_not_bought_is_priced_as_outside() -> None:
    repriced = 0
    for sets in one_kind_sets():
        if has_hopeless_workload(sets):
            continue
        market = Market(sets, clusters_of(sets, 2))
        program = build_program(market.sets)
        solved = solve_relaxed(program, clusters=market.sets.clusters)
        if solved is None:
            continue
        prices = node_prices(sets, program, solved, market.flat, only_used=True)
        bought = program.columns.on_demand_nodes.of(solved.values).max(axis=1)
        for one, nodes in zip(
            sets.committed, program.columns.committed_nodes.of(solved.values), strict=True
        ):
            bought[one.machine] += nodes
        for machine in prices.as_if_outside:
            assert bought[machine] <= 1e-6
            assert not any(sets.machines[machine].owned)
            assert machine not in {one.machine for one in prices.kept}
        repriced += len(prices.as_if_outside)
    assert repriced > 10
