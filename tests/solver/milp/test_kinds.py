"""Kinds of replica: how many are up when, in which blocks, and which are their busy periods."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.candidate import Layout
from broker.domain.case import Case
from broker.domain.gpu import Precision
from broker.domain.offer import Limits, Offer
from solver.milp.build import build_sets
from solver.milp.fleet_blocks import MOST_BLOCKS, cut_fleet
from solver.milp.sets import Configuration, Kind

CONFIGURATION = Configuration("H100-SXM", Precision.BF16, Layout(tensor=1))
FLEETS = st.lists(st.integers(0, 30), min_size=1, max_size=8).filter(any)


def kind(replicas: list[int], blocks: tuple[int, ...] = (), firm: list[int] | None = None) -> Kind:
    return Kind(
        demand=0,
        configuration=CONFIGURATION,
        rates=(1.0,),
        replicas_alone=tuple(replicas),
        firm_alone=tuple(firm or replicas),
        block_sizes=blocks,
    )


def test_the_first_blocks_are_up_first_and_the_last_one_in_part() -> None:
    up = kind([1, 4, 7], blocks=(3, 3, 1)).up()
    assert up.tolist() == [[1, 3, 3], [0, 1, 3], [0, 0, 1]]


@given(FLEETS, st.integers(1, 9))
def test_the_blocks_that_are_up_are_the_fleet_and_smaller_fleets_are_part_of_larger(
    replicas: list[int], size: int
) -> None:
    whole, rest = divmod(max(replicas), size)
    up = kind(replicas, (size,) * whole + ((rest,) if rest else ())).up()
    assert up.sum(axis=0).tolist() == replicas
    order = np.argsort(replicas, kind="stable")
    assert (np.diff(up[:, order], axis=1) >= 0).all()


def test_without_blocks_each_period_counts_its_own_replicas() -> None:
    assert kind([2, 0, 5]).up().tolist() == np.eye(3).tolist()
    assert kind([2, 0, 5]).most_of_block().tolist() == [2, 0, 5]
    assert kind([2, 0, 5], (3, 2)).most_of_block().tolist() == [1, 1]


@pytest.mark.parametrize(
    ("share", "busy"),
    [
        (0.1, [1]),
        (0.2, [1]),
        (0.21, [3, 1]),
        (0.5, [3, 1]),
        (0.51, [0, 2, 3, 1]),
        (1, [0, 2, 3, 1]),
    ],
)
def test_busy_periods_are_the_largest_fleets_that_make_up_the_share(
    share: float, busy: list[int]
) -> None:
    # 7 for 2 hours of 10, 5 for 3, and 4 for the rest, in two periods that are in together.
    hours = np.array([2.0, 2.0, 3.0, 3.0])
    assert kind([4, 7, 4, 5]).busy_periods(hours, share).tolist() == busy


def test_of_fleets_of_one_size_the_one_with_more_firm_replicas_is_larger() -> None:
    some = kind([4, 4, 4], firm=[2, 3, 2])
    assert some.busy_periods(np.ones(3), 1 / 3).tolist() == [1]
    assert some.busy_periods(np.ones(3), 0.5).tolist() == [0, 2, 1]


@given(FLEETS, st.floats(0.01, 1.0))
def test_in_busy_periods_no_fleet_is_smaller_than_in_others_and_none_is_needless(
    replicas: list[int], share: float
) -> None:
    hours = np.arange(1.0, len(replicas) + 1)
    busy = kind(replicas).busy_periods(hours, share).tolist()
    others = [one for at, one in enumerate(replicas) if at not in busy]
    least = replicas[busy[0]]
    assert least == min(replicas[at] for at in busy)
    assert all(one < least for one in others)
    assert hours[busy].sum() >= share * hours.sum() * (1 - 1e-6)
    larger = [at for at in busy if replicas[at] > least]
    assert hours[larger].sum() < share * hours.sum()


def fleet(replicas: int, *boxes: Offer, gpus: int = 1, max_groups: int = 1) -> Case:
    """Ask for so many replicas all day, each of so many GPUs, on any of the boxes."""
    file = workloads(
        services=[service_entry(replicas, replicas)], policy={"max_groups": max_groups}
    )
    options = [serving(one, [1.0], gpus=gpus) for one in boxes]
    return case(file, list(boxes), serving=options)


def block_sizes(of: Case) -> list[int]:
    (found,) = build_sets(of).kinds
    return list(found.block_sizes)


@pytest.mark.parametrize("replicas", [1, 3, MOST_BLOCKS])
def test_a_small_fleet_is_cut_into_single_replicas(replicas: int) -> None:
    assert block_sizes(fleet(replicas, offer("1", gpus=8))) == [1] * replicas


@pytest.mark.parametrize("replicas", [25, 40, 99, 100, 1000])
@pytest.mark.parametrize("gpus", [1, 2, 8])
def test_a_large_fleet_is_cut_into_whole_nodes_and_single_replicas(
    replicas: int, gpus: int
) -> None:
    sizes = block_sizes(fleet(replicas, offer("1", gpus=8), gpus=gpus))
    assert sum(sizes) == replicas
    assert len(sizes) <= MOST_BLOCKS
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1
    assert all(size * gpus % 8 == 0 for size in sizes if size > 1)


@pytest.mark.parametrize(
    ("replicas", "per_node", "sizes"),
    [
        (30, 8, [8] + [1] * 22),
        (40, 8, [8] * 3 + [1] * 16),
        (30, 1, [2] * 6 + [1] * 18),
        (47, 1, [3] * 5 + [2] * 13 + [1] * 6),
        (1000, 8, [64] * 12 + [56] * 4 + [1] * 8),
        (60, 32, [8] * 6 + [1] * 12),
    ],
)
def test_as_many_replicas_are_single_as_there_are_blocks_for(
    replicas: int, per_node: int, sizes: list[int]
) -> None:
    assert list(cut_fleet(replicas, per_node)) == sizes


def test_every_fleet_is_cut_into_all_of_itself() -> None:
    for replicas in range(1, 400):
        for per_node in (0, 1, 2, 3, 4, 7, 8, 16, 28, 32, 56):
            sizes = cut_fleet(replicas, per_node)
            assert sum(sizes) == replicas
            assert len(sizes) <= MOST_BLOCKS
            assert min(sizes) >= 1


def test_whole_nodes_are_those_of_the_largest_machine() -> None:
    sizes = block_sizes(fleet(40, offer("1", name="a", gpus=2), offer("1", name="b", gpus=8)))
    assert sizes == [8] * 3 + [1] * 16


def test_blocks_are_smaller_where_the_machines_could_not_hold_them() -> None:
    # Of 40 replicas on nodes of 1 GPU, single ones fill what blocks of 2 leave of a machine.
    assert block_sizes(fleet(40, *_few([4] * 14))) == [2] * 16 + [1] * 8
    assert block_sizes(fleet(40, *_few([3] * 8 + [2] * 8))) == [2] * 16 + [1] * 8
    assert block_sizes(fleet(40, *_few([3] * 14))) == [1] * 40
    assert block_sizes(fleet(40, *_few([1] * 40))) == [1] * 40


def _few(nodes: Sequence[int]) -> list[Offer]:
    return [
        offer("1", name=f"m{number}").model_copy(update={"limits": Limits(max_nodes=most)})
        for number, most in enumerate(nodes)
    ]


def test_where_several_kinds_may_serve_there_are_no_blocks() -> None:
    assert block_sizes(fleet(40, offer("1"), max_groups=2)) == []


def test_a_fast_machine_counts_as_slow_beside_a_slow_one_and_as_fast_alone() -> None:
    slow, fast = offer("1", name="slow"), offer("2", name="fast")
    file = workloads(services=[service_entry(6, 6)], policy={"max_groups": 1})
    options = [serving(slow, [2.0]), serving(fast, [3.0])]
    sets = build_sets(case(file, [slow, fast], serving=options))
    groups = {
        one.rates: [sets.machines[group.machine].key for group in sets.groups if group.kind == at]
        for at, one in enumerate(sets.kinds)
    }
    assert groups == {(2.0,): [fast.machine, slow.machine], (3.0,): [fast.machine]}
    assert [max(one.replicas_alone) for one in sets.kinds] == [3, math.ceil(6 / 3)]
