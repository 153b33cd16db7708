"""Slots are planned alike where they ask for as much of each size, not only in all."""

import pytest
from solving import EXACT, least_usd, no_dearer
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case
from broker.domain.plan import Status
from solver.milp.build import build_sets
from solver.milp.optimize import optimize

SIZES = [
    {"input_tokens": 1000, "output_tokens": 200, "share": 0.5},
    {"input_tokens": 4000, "output_tokens": 200, "share": 0.5},
]


def mixed(*by_size: list[float]) -> Case:
    """Serve short and long requests in thirds of a day; a replica does five times as many short."""
    box = offer("4.00")
    load = {"requests_per_s": {"step": "8 h", "by_size": by_size}}
    file = workloads(services=[service_entry(1, 1, traffic=load, sizes=SIZES)])
    return case(file, [box], serving=[serving(box, [5.0, 1.0])])


@pytest.mark.parametrize("turn", [1, -1])
def test_slots_of_another_mix_are_another_period(turn: int) -> None:
    of = mixed([20.0, 20.0, 5.0][::turn], [5.0, 5.0, 20.0][::turn])
    sets = build_sets(of)
    assert len(sets.periods) == 2
    (kind,) = sets.kinds
    assert sorted(kind.replicas_alone) == [9, 21]
    found = optimize(of, EXACT)
    assert found.status is Status.OPTIMAL
    assert no_dearer(float(found.total_usd), least_usd(of))


def test_slots_of_the_same_mix_are_one_period() -> None:
    assert len(build_sets(mixed([20.0] * 3, [5.0] * 3)).periods) == 1
