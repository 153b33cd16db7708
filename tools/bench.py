"""Times and sizes of the program on the examples, as a table.

    python tools/bench.py                       # all examples, over the recordings
    python tools/bench.py 7b-small-team         # some of them
    python tools/bench.py --time-limit 120 --gap 0.001

Machines and options are what the case has before pruning and after it, columns and rows those of
the whole program. Seconds are wall time of this process: building the case (sizing included),
pruning, building the program, and all of `optimize`, to the gap or the time limit. The gap is the
proven one.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from rich import box
from rich.console import Console
from rich.table import Table

from broker.domain.case import Case
from broker.examples.catalog import copy_example, examples
from broker.planning.plans import case_of
from broker.planning.service import PlanningService, open_service
from broker.planning.workloads_file import read_workloads
from broker.settings import load_settings
from solver.milp.build import build_sets
from solver.milp.optimize import optimize
from solver.milp.program import build_program
from solver.milp.prune import prune
from solver.milp.solve import Limits

_Result = TypeVar("_Result")
_HEADINGS = (
    "example",
    "offers",
    "machines",
    "options",
    "periods",
    "columns",
    "rows",
    "case s",
    "prune s",
    "build s",
    "solve s",
    "status",
    "USD",
    "gap",
)


def main() -> int:
    """Measure the examples that are asked for, or all, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    known = [one.name.removesuffix(".yaml") for one in examples()]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    parser.add_argument("--time-limit", type=float, default=40.0, help="seconds of a search")
    parser.add_argument("--gap", type=float, default=0.01, help="where a search ends")
    options = parser.parse_args()
    service = open_service(load_settings())
    limits = Limits(options.gap, options.time_limit)
    table = Table(*_HEADINGS, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name in options.names or known:
        print(f"{name} ...", file=sys.stderr)
        table.add_row(name, *_measured(service, name, limits))
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    return 0


def _measured(service: PlanningService, name: str, limits: Limits) -> Sequence[str]:
    case, case_s = _timed(lambda: _case(service, name))
    pruned, prune_s = _timed(lambda: prune(case))
    program, build_s = _timed(lambda: build_program(build_sets(pruned.case)))
    optimum, solve_s = _timed(lambda: optimize(case, limits))
    rows = sum(len(family.keys) for family in program.families)
    return (
        f"{len(case.offers):,}",
        _change(len(case.machines), len(program.sets.machines)),
        _change(_options(case), _options(pruned.case)),
        f"{len(program.sets.periods):,}",
        f"{program.columns.size:,}",
        f"{rows:,}",
        f"{case_s:.2f}",
        f"{prune_s:.2f}",
        f"{build_s:.2f}",
        f"{solve_s:.2f}",
        optimum.status.value,
        f"{optimum.total_usd:,.2f}",
        f"{optimum.gap_fraction:.2%}",
    )


def _case(service: PlanningService, name: str) -> Case:
    with TemporaryDirectory() as folder:
        workloads = read_workloads(copy_example(name, Path(folder)))
    view = service.offers_from_recordings()
    return case_of(workloads, view, service.specs, service.settings).case


def _options(case: Case) -> int:
    return len(case.serving) + len(case.training)


def _change(before: int, after: int) -> str:
    return f"{before:,} → {after:,}"


def _timed(work: Callable[[], _Result]) -> tuple[_Result, float]:
    start_s = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start_s


if __name__ == "__main__":
    sys.exit(main())
