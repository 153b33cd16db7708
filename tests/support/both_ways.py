"""A case solved whole and step by step: the same cost, and two plans that are accepted."""

import pytest
from oracle import INFEASIBLE, Tiny, cheapest_usd
from solving import EXACT, assembled, program_of, same_cost, solution_of, solved

from broker.domain.case import Case
from broker.domain.plan import Status
from broker.verification.check import Violation, check
from solver.milp.optimize import optimize
from solver.milp.optimum import Optimum, optimum_of


def both_ways(of: Case) -> tuple[Optimum, Optimum]:
    """Solve whole and step by step, and have both plans checked: they cost the same."""
    whole, stepwise = solved(of), optimize(of, EXACT)
    for optimum in (whole, stepwise):
        plan = assembled(of, optimum)
        assert check(plan, of, snapshot="c5a1", workloads_sha256="10ad") == ()
    assert stepwise.status is whole.status
    assert same_cost(float(stepwise.total_usd), float(whole.total_usd))
    return whole, stepwise


def exact_optimum(of: Case) -> Optimum:
    """Solve both ways a case whose cost was worked out by hand: it is the same to the digit."""
    whole, stepwise = both_ways(of)
    assert stepwise.total_usd == whole.total_usd
    return whole


def exact_usd(of: Case) -> float:
    """Give the cost of such a case."""
    return float(exact_optimum(of).total_usd)


def cost_what_enumeration_finds(of: Case, *, most_committed: int) -> None:
    """Solve both ways, and hold the cost against that of trying everything."""
    expected = cheapest_usd(Tiny(of, most_committed=most_committed))
    for optimum in both_ways(of):
        if expected == INFEASIBLE:
            assert optimum.status is Status.INFEASIBLE
        else:
            assert float(optimum.total_usd) == pytest.approx(expected, rel=1e-5, abs=1e-4)


def broken_without(family: str, of: Case) -> tuple[Violation, ...]:
    """Solve without one family of rows; give what the independent check finds."""
    program = program_of(of, without=family)
    loose = optimum_of(program, solution_of(program), EXACT)
    return check(assembled(of, loose), of)
