"""Pricing out held against the whole relaxed program."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from solving import EXACT, objective_usd, solution_of

from solver.milp import market, price_out
from solver.milp.price_out import relaxed_over_all
from solver.milp.program import Program, build_program
from solver.milp.relax import Relaxed, solve_relaxed
from solver.milp.rows import entries, rows_of
from solver.milp.sets import Sets, has_hopeless_workload


@contextmanager
def one_of_each_first() -> Iterator[None]:
    """Have pricing out begin with one kind, machine and option, so that it must find the others."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (market, "_FIRST_KINDS"),
            (price_out, "_FIRST_MACHINES"),
            (market, "_FIRST_OPTIONS"),
        ):
            patch.setattr(module, name, 1)
        yield


@contextmanager
def as_if_large() -> Iterator[None]:
    """Have pricing out add up hours, in a few clusters first, as it does where all is huge."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MANY_PERIODS", "_MANY_GROUPS", "_HUGE_GROUPS"):
            patch.setattr(price_out, name, 0)
        looks = tuple(
            replace(look, clusters=clusters)
            for look, clusters in zip(price_out._LARGE, (1, 2, 3), strict=True)
        )
        patch.setattr(price_out, "_LARGE", looks)
        patch.setattr(price_out, "_FIRST_OF_HUGE", replace(price_out._FIRST_OF_HUGE, clusters=1))
        yield


def same_bound(sets: Sets) -> tuple[Relaxed, Relaxed, Program] | None:
    """Relax by pricing out and as a whole, to the same bound; give both and the whole program.

    None where neither has a plan.
    """
    found = relaxed_over_all(sets, time.monotonic() + 60)
    program = build_program(replace(sets, fills=() if found is None else found.fills))
    whole = solve_relaxed(program)
    assert (whole is None) == (found is None)
    if whole is None or found is None:
        return None
    assert found.bound_usd == pytest.approx(whole.bound_usd, rel=1e-6, abs=1e-4)
    return found, whole, program


def penalties_held(sets: Sets) -> int:
    """Hold the penalties of kinds and run options against exact solves; count them."""
    found = relaxed_over_all(sets, time.monotonic() + 60)
    if found is None or has_hopeless_workload(sets):
        return 0
    program = build_program(sets)
    held = 0
    for block, penalties in (
        (program.columns.kind_used, found.kind_penalty_usd),
        (program.columns.option_used, found.option_penalty_usd),
    ):
        for number in np.flatnonzero(penalties > 1e-6).tolist():
            used = entries(0, block.at(np.array([number])), 1.0)
            forced = rows_of("forced", [(0,)], [used], lower=1.0)
            asked = replace(program, families=(*program.families, forced))
            usd = objective_usd(asked, solution_of(asked, EXACT))
            least = found.bound_usd + float(penalties[number])
            assert usd >= least * (1 - 1e-6) - 1e-4
            held += 1
    return held
