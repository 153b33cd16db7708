"""A good plan by search: take a few workloads out, put them back in the cheapest way, keep gains.

Where one kind serves each demand, a plan is a kind for each demand, a group for each block of its
replicas, and an option with its periods for each run. Pools for prompts and answers are taken out
and put back together. What that costs is known machine by machine, so each step asks few of them.
Rules that no machine knows of by itself (quotas, caps, shares) are not looked at: whoever uses the
plan must check them.
"""

import math
import random
import time
from collections.abc import Callable, Mapping

from solver.milp.draft import Bench, Found
from solver.milp.pairs import Way
from solver.milp.sets import Sets

Monotonic = Callable[[], float]
_STEPS_A_WORKLOAD = 3000
_STEPS_A_CHOICE = 60
"""Where there is little to choose from, it is soon tried."""
_HOT, _COLD = 0.1, 1e-3
"""How much dearer a step may be that is kept, as a share of the cost: at first, and at last."""
_LOOKS_EVERY = 500
_NO_END = 1_000_000_000
_NOISE = (0.0, 0.3, 1.0)
_GAIN = 1e-7
_POOLS_LAST = 0.4
"""Ways in pools are many, so they are drawn once the others are placed well: so late."""
_NEW_KIND = 0.5
_RUNS_ONLY = 0.3
_PART_ONLY = 0.6
_ONE_MACHINE = 0.1
_MOST_OF_A_MACHINE = 4
_TOGETHER = (0, 0, 1, 2, 3, 7)
_PARTS = (1, 1, 2, 3, 5, 8)
"""How many more blocks are placed at once, and how many are moved: up to those of a node."""


def search(
    sets: Sets,
    hopes: dict[int, list[Way]],
    *,
    seed: int,
    ends_at: float,
    enough_usd: float = 0.0,
    clock: Monotonic = time.monotonic,
) -> Found | None:
    """Search for a number of steps, or until a plan costs no more than enough, or the time is up.

    None where nothing fits.

    `hopes` lists the ways to serve each demand, the most hopeful first.
    """
    bench = Bench(sets)
    if not _begin(bench, hopes):
        return None
    draw = random.Random(seed)  # noqa: S311 - a search, not a secret
    best, best_state = bench.usd, bench.saved()
    most_steps = steps = _steps(sets)
    at_first, turns_at = _without_pools(hopes), _turn(clock(), ends_at)
    number, looked_at = 0, clock()
    while number < steps and best > enough_usd and clock() <= ends_at:
        if number and number % _LOOKS_EVERY == 0:
            looked_at, before_that = clock(), looked_at
            steps = min(most_steps, number + _in_time(ends_at - looked_at, looked_at - before_that))
        number += 1
        before, was = bench.saved(), bench.usd
        warmth = best * _HOT * (_COLD / _HOT) ** (number / steps)
        is_early = number < (1 - _POOLS_LAST) * steps and clock() < turns_at
        is_whole = _step(bench, at_first if is_early else hopes, draw)
        if not is_whole or bench.usd > was - warmth * math.log(draw.random() or 1.0):
            bench.restore(before)
        elif bench.usd < best - _GAIN * max(1.0, best):
            best, best_state = bench.usd, bench.saved()
    bench.restore(best_state)
    return bench.found()


def _steps(sets: Sets) -> int:
    return min(
        _STEPS_A_WORKLOAD * (len(sets.demands) + len(sets.runs)),
        _STEPS_A_CHOICE * (len(sets.groups) + len(sets.run_options)),
    )


def _in_time(left_s: float, took_s: float) -> int:
    """Count the steps that there is time for, so that the last ones are cold: by the last ones."""
    if took_s <= 0 or math.isinf(left_s):
        return _NO_END
    return max(1, int(_LOOKS_EVERY * left_s / took_s))


def _turn(now: float, ends_at: float) -> float:
    return ends_at if math.isinf(ends_at) else ends_at - _POOLS_LAST * (ends_at - now)


def _without_pools(hopes: Mapping[int, list[Way]]) -> dict[int, list[Way]]:
    """Leave each demand the ways of one kind, where it has some."""
    return {
        demand: [one for one in ways if len(one) == 1] or ways for demand, ways in hopes.items()
    }


def _begin(bench: Bench, hopes: dict[int, list[Way]]) -> bool:
    """Place all, the largest first, each in the first of its ways that fits."""
    if not all(hopes.values()):
        return False
    order = sorted(hopes, key=lambda demand: -sum(map(bench.size, hopes[demand][0])))
    return all(any(bench.serve(demand, way) for way in hopes[demand]) for demand in order) and all(
        bench.do(run) for run in range(len(bench.sets.runs))
    )


def _step(bench: Bench, hopes: dict[int, list[Way]], draw: random.Random) -> bool:
    """Take some workloads out and put them back; say whether all found a place."""
    demands, runs = _taken_out(bench, list(hopes), draw)
    if len(demands) == 1 and draw.random() < _PART_ONLY:
        return _move_part(bench, demands[0], draw)
    ways = {
        demand: draw.choice(hopes[demand]) if draw.random() < _NEW_KIND else bench.way(demand)
        for demand in demands
    }
    for demand in demands:
        bench.remove(demand)
    for run in runs:
        bench.undo(run)
    jobs = [(0, demand) for demand in demands] + [(1, run) for run in runs]
    draw.shuffle(jobs)
    skips = draw.choice(_TOGETHER)
    most = draw.choice(_NOISE)
    noise = (lambda: 1 + most * draw.random()) if most else None
    return all(
        bench.do(job, noise=noise)
        if is_run
        else bench.serve(job, ways[job], skips=skips, noise=noise)
        for is_run, job in jobs
    )


def _taken_out(
    bench: Bench, demands: list[int], draw: random.Random
) -> tuple[list[int], list[int]]:
    """Draw what is taken out: any few demands and runs, or what is on one machine."""
    runs = list(bench.draft.runs)
    if draw.random() < _ONE_MACHINE:
        on_it, runs = bench.on_machine(draw.choice(bench.used()))
        demands = [one for one in demands if one in on_it]
        most = (_MOST_OF_A_MACHINE, _MOST_OF_A_MACHINE)
    elif runs and (not demands or draw.random() < _RUNS_ONLY):
        most = (0, draw.choice((1, 1, 2)))
    else:
        most = (draw.choice((1, 1, 2, 3)), draw.choice((0, 0, 1, 2)))
    return (
        draw.sample(demands, min(len(demands), most[0])),
        draw.sample(runs, min(len(runs), most[1])),
    )


def _move_part(bench: Bench, demand: int, draw: random.Random) -> bool:
    """Move some blocks that follow on each other to one group that is drawn."""
    demand = draw.choice(bench.pools(demand))
    groups = bench.draft.groups[demand]
    first = draw.randrange(len(groups))
    last = min(len(groups), first + draw.choice(_PARTS))
    return bench.move(
        demand, slice(first, last), draw.choice(bench.members[bench.draft.kinds[demand]])
    )
