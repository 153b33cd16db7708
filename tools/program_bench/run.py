"""One run in a process of its own: make the instance, solve it, have the plan checked."""

import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from program_bench.case import case_of
from program_bench.generate import generate
from program_bench.market import START
from program_bench.records import Asked, Point, Row, marks
from program_bench.wishes import PLAIN, Wishes
from pydantic import ValidationError

from broker.domain.case import Case
from broker.domain.errors import BrokerError
from broker.domain.plan import SolveSettings, Status
from broker.planning.bare_plan import bare_plan
from broker.planning.case import CaseReport
from broker.planning.comparisons import Solved
from broker.planning.planner import Catalog, checked_plan
from solver.milp.optimize import optimize
from solver.milp.optimum import Optimum
from solver.milp.solve import Limits
from solver.milp.start import NOWHERE, Start
from solver.milp.watch import Watch

_KIB_PER_MIB = 1024
EXTRAS = (
    "size_classes",
    "window_factor",
    "quota_factor",
    "data_sets",
    "blocks",
    "provider_shares",
    "prices_moved",
    "known_plan_s",
    "offers",
    "services",
    "jobs",
    "hours",
)
"""What a run may ask of its instance beyond size, seed and scale."""


class Measured(NamedTuple):
    """What the process of a run tells; seconds are wall time."""

    status: str
    points: list[Point]
    solve_s: float
    instance_s: float
    peak_mib: int
    verified: str
    offers: int
    options: int


class Circumstances(NamedTuple):
    """When and with what a run is made; `load` is the machine's at that moment."""

    program: str
    today: date
    load: float


def extras_of(wishes: Wishes) -> str:
    """Write down what a run asks beyond size, seed and scale."""
    plain = {name: getattr(PLAIN, name) for name in EXTRAS}
    found = {name: getattr(wishes, name) for name in EXTRAS}
    return " ".join(f"{name}={found[name]}" for name in EXTRAS if found[name] != plain[name])


def run_apart(asked: Asked, wishes: Wishes, program: str, today: date) -> Row:
    """Run in a child, so that its memory can be told and its end survived."""
    script = Path(__file__).parents[1] / "bench_program.py"
    here = Circumstances(program, today, round(os.getloadavg()[0], 1))
    with TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        arguments = json.dumps([asked, {name: getattr(wishes, name) for name in EXTRAS}])
        ended = subprocess.run(  # noqa: S603 - our own script
            [sys.executable, str(script), "--child", arguments, str(told)],
            stdout=sys.stderr,
            check=False,
        )
        if ended.returncode:
            return _row(asked, here, None, f"ended with {ended.returncode}")
        status, points, *rest = json.loads(told.read_text(encoding="utf-8"))
    measured = Measured(status, [Point(*one) for one in points], *rest)
    return _row(asked, here, measured, measured.status)


def run_here(asked: Asked, wishes: Wishes) -> Measured:
    """Make the instance, solve it, and check the plan."""
    begun = time.perf_counter()
    wishes = replace(wishes, scale=asked.scale)
    case = _case(asked, wishes)
    limits = Limits(asked.gap, asked.time_limit_s, start=_start(asked, wishes))
    made = time.perf_counter()
    told: list[Point] = []
    watch = Watch(lambda best, bound: told.append(Point(_since(made), best, bound)))
    optimum = optimize(case, limits, watch=watch)
    solve_s = _since(made)
    peak_kib = sum(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return Measured(
        status=optimum.status.value,
        points=list(_points(optimum, told, solve_s)),
        solve_s=solve_s,
        instance_s=round(made - begun, 2),
        peak_mib=peak_kib // _KIB_PER_MIB,
        verified=verdict(case, optimum, asked),
        offers=len(case.offers),
        options=len(case.serving) + len(case.training),
    )


def _case(asked: Asked, wishes: Wishes) -> Case:
    return case_of(generate(asked.size, asked.seed, wishes), wishes)


def _start(asked: Asked, wishes: Wishes) -> Start:
    """Plan before the prices moved, where the search is to begin from such a plan."""
    if not wishes.known_plan_s:
        return NOWHERE
    case = _case(asked, replace(wishes, prices_moved=0.0))
    return Start.of(bare_plan(optimize(case, Limits(asked.gap, wishes.known_plan_s)), case))


def verdict(case: Case, optimum: Optimum, asked: Asked) -> str:
    """Have a plan checked as the planner does: yes, or what is wrong; nothing without a plan."""
    if optimum.status is Status.INFEASIBLE:
        return ""
    settings = SolveSettings(gap_fraction=asked.gap, time_limit_s=asked.time_limit_s, seed=0)
    catalog = Catalog(snapshot="", offers=len(case.offers), as_of=START)
    try:
        checked_plan(CaseReport(case, (), ()), catalog, settings, Solved(joint=optimum))
    except BrokerError as cause:
        return str(cause)
    except ValidationError as cause:
        return f"it is no plan: {cause.errors()[0]['msg']}"
    return "yes"


def _since(begun: float) -> float:
    return round(time.perf_counter() - begun, 2)


def _points(optimum: Optimum, told: Sequence[Point], solve_s: float) -> Iterator[Point]:
    """Give what the search told while it had a plan, and its end, as the plan says it."""
    if optimum.status is not Status.INFEASIBLE:
        yield from (one for one in told if math.isfinite(one.usd))
        yield Point(solve_s, float(optimum.total_usd), float(optimum.bound_usd))


def _row(asked: Asked, here: Circumstances, measured: Measured | None, status: str) -> Row:
    points = measured.points if measured else []
    end = points[-1] if points else None
    return Row(
        made_on=here.today,
        program=here.program,
        size=asked.size,
        seed=asked.seed,
        scale=asked.scale,
        extras=asked.extras,
        time_limit_s=asked.time_limit_s,
        gap_asked=asked.gap,
        status=status,
        usd=end.usd if end else None,
        bound_usd=end.bound_usd if end else None,
        gap=round(end.gap, 6) if end else None,
        solve_s=measured.solve_s if measured else None,
        instance_s=measured.instance_s if measured else None,
        peak_mib=measured.peak_mib if measured else None,
        verified=measured.verified if measured else "",
        offers=measured.offers if measured else None,
        options=measured.options if measured else None,
        cpu=cpu_name(),
        cores=os.cpu_count() or 0,
        memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        load=here.load,
        python=platform.python_version(),
        ortools=version("ortools"),
        **marks(points),
    )


def cpu_name() -> str:
    """Name the processor, as Linux does; elsewhere its architecture."""
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
