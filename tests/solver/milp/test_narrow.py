"""What looks promising holds what a good plan needs, also where a relaxed one does without it."""

import math
import time

import numpy as np
import pytest
from gang_cases import gang_case

from solver.milp import narrow
from solver.milp.build import build_sets
from solver.milp.price_out import relaxed_over_all
from solver.milp.relax import Relaxed
from solver.milp.sets import Sets, has_hopeless_workload

_DRAWN = 30
_VALUE = 0.01


def _solved() -> list[tuple[Sets, Relaxed]]:
    """Give sets with several runs, and their relaxed plans."""
    pairs = []
    for sets in (build_sets(gang_case(seed)) for seed in range(_DRAWN)):
        if len(sets.runs) > 1 and sets.has_one_kind and not has_hopeless_workload(sets):
            relaxed = relaxed_over_all(sets, math.inf, time.monotonic)
            if relaxed is not None:
                pairs.append((sets, relaxed))
    return pairs


def _runs_by_machine(sets: Sets) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in sets.run_options:
        found.setdefault(sets.machines[one.machine].key, set()).add(one.option.run)
    return found


def test_each_run_may_be_where_most_of_the_others_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrow, "_PROMISING_OPTIONS", 1)
    monkeypatch.setattr(narrow, "_SHARED_MACHINES", 1)
    monkeypatch.setattr(narrow, "_OPTIONS_OF_A_SHARED", 1)
    left_out = looked_at = 0
    for sets, relaxed in _solved():
        worth = np.zeros(len(sets.machines))
        for one, value in zip(sets.run_options, relaxed.option_value, strict=True):
            worth[one.machine] += value
        if worth.max() < _VALUE:
            continue
        shared = sets.machines[int(worth.argmax())].key
        may_be = _runs_by_machine(sets)[shared]
        assert _runs_by_machine(narrow.promising(sets, relaxed))[shared] == may_be
        with monkeypatch.context() as too_many:
            too_many.setattr(narrow, "_MOST_SHARED_PERIODS", 0)
            without = _runs_by_machine(narrow.promising(sets, relaxed))
        looked_at += 1
        left_out += without.get(shared, set()) < may_be
    assert looked_at > left_out > 0
