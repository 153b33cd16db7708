"""All rivals on one instance, one after the other, and our plan."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from itertools import chain

from peers_bench.greedy import greedy
from peers_bench.instances import Instance
from peers_bench.judge import Judged, judged_parts, judged_wish, limits_from
from peers_bench.market import Market
from peers_bench.melange import answers, melange
from peers_bench.narrowed import Estimate, Narrowed, Solver, solve_narrowed
from peers_bench.records import FROM_A_START, OURS, Times
from peers_bench.reservation import reservation
from peers_bench.skypilot import skypilot
from peers_bench.ways import Wish

from broker.domain.gpu import GpuModel
from broker.domain.plan import Status
from broker.domain.strategies import StrategyName
from broker.planning.strategies import strategies
from solver.milp.build import build_sets
from solver.milp.optimum import Optimum
from solver.milp.pool import SolverPool
from solver.milp.solve import Limits

_STRATEGIES = {
    StrategyName.ON_DEMAND_ONLY: "on demand only",
    StrategyName.SINGLE_PROVIDER: "best single provider",
    StrategyName.ONE_GPU_MODEL: "best single GPU model",
}


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a rival; money as the plans have it."""

    rival: str
    judged: Judged
    seconds: float
    choice: str = ""
    own_usd: float | None = None
    bound_usd: float | None = None
    remarks: tuple[str, ...] = ()

    @property
    def usd(self) -> Decimal | None:
        """Give the cost of the accepted plan."""
        return self.judged.usd


@contextmanager
def in_a_child() -> Iterator[Solver]:
    """Solve in a child that is there before the clock starts, and ends with all it has begun."""
    with SolverPool(workers=1) as pool:
        pool.submit(os.getpid).result()
        yield Solver(
            lambda case, limits: pool.optimize(case, limits).result(),
            lambda case: pool.relaxed_bound_usd(case).result(),
        )


Solvers = Callable[[], AbstractContextManager[Solver]]
"""Gives each search a solver of its own."""


def compared(instance: Instance, times: Times, solvers: Solvers = in_a_child) -> Iterator[Result]:
    """Ask every rival, then ourselves; where one costs less than ours, begin ours from it."""
    results: list[Result] = []
    market = Market(build_sets(instance.report.case))
    others = (_by_wish(instance, market, times), _by_strategy(instance, market, times, solvers))
    for result in chain(*others):
        results.append(result)
        yield result
    ours = _ours(instance, times, solvers, None)
    yield ours
    accepted = [one for one in results if one.usd is not None]
    best = min(accepted, key=lambda one: one.usd or Decimal(0), default=None)
    if best is not None and best.usd is not None and (ours.usd is None or best.usd < ours.usd):
        yield _ours(instance, times, solvers, best.judged)


def _by_wish(instance: Instance, market: Market, times: Times) -> Iterator[Result]:
    begun = time.perf_counter()
    found = answers(market, times.melange_s)
    solved_s = time.perf_counter() - begun
    makers: tuple[tuple[str, Callable[[Market], Wish], float], ...] = (
        ("Mélange", partial(melange, found=found, keeps_peak=True), solved_s),
        ("Mélange by the hour", partial(melange, found=found, keeps_peak=False), solved_s),
        ("greedy by GPU-hour", greedy, 0.0),
        ("SkyPilot's rule", skypilot, 0.0),
        ("70 % of peak reserved", reservation, 0.0),
    )
    for name, make, before_s in makers:
        begun = time.perf_counter()
        wish = make(market)
        judged = judged_wish(instance, market, wish)
        seconds = before_s + time.perf_counter() - begun
        yield Result(
            name,
            judged,
            seconds,
            own_usd=wish.own_usd,
            bound_usd=wish.bound_usd,
            remarks=wish.remarks,
        )


def _by_strategy(
    instance: Instance, market: Market, times: Times, solvers: Solvers
) -> Iterator[Result]:
    estimate = Estimate(market)
    gpus: dict[str, GpuModel] = {}
    for strategy in strategies(instance.report.case, gpus):
        if strategy.name in _STRATEGIES:
            with solvers() as solver:
                begun = time.perf_counter()
                limits = Limits(times.gap, times.strategy_s)
                found = solve_narrowed(strategy, solver, limits, estimate)
                seconds = time.perf_counter() - begun
            yield _narrowed(instance, _STRATEGIES[strategy.name], found, seconds)


def _narrowed(instance: Instance, name: str, found: Narrowed, seconds: float) -> Result:
    if found.optimum is None or found.choice is None:
        return Result(name, Judged(None, refusal=found.why), seconds, bound_usd=found.bound_usd)
    return Result(
        name,
        judged_parts(instance, _unproven(found.optimum)),
        seconds,
        choice=found.choice.name,
        own_usd=float(found.optimum.objective_usd),
        bound_usd=found.bound_usd,
    )


def _unproven(optimum: Optimum) -> Optimum:
    """Leave out the proof of a plan, which holds for a narrower case."""
    return replace(optimum, status=Status.FEASIBLE, bound_usd=Decimal(0), gap_fraction=1.0)


def _ours(instance: Instance, times: Times, solvers: Solvers, best: Judged | None) -> Result:
    name = OURS if best is None else FROM_A_START
    with solvers() as solver:
        begun = time.perf_counter()
        limits = limits_from(times.gap, times.ours_s, best)
        optimum = solver.optimize(instance.report.case, limits)
        seconds = time.perf_counter() - begun
    if optimum.status is Status.INFEASIBLE:
        why = "the time was up" if optimum.ran_out_of_time else "there is no plan"
        return Result(name, Judged(None, refusal=why), seconds)
    return Result(
        name,
        judged_parts(instance, optimum, gap=times.gap),
        seconds,
        own_usd=float(optimum.objective_usd),
        bound_usd=float(optimum.bound_usd),
    )
