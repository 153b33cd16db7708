"""Measure the program on a generated instance, and keep what was measured.

    python tools/bench_program.py small --seed 5
    python tools/bench_program.py small --seed 5 --scale 8 --again
    python tools/bench_program.py medium --seed 2 --gap 0.03 --time-limit 600 --size-classes 4
    python tools/bench_program.py medium --prices-moved 0.03 --known-plan-s 300 --time-limit 100

Each run is a row of docs/benchmarks/program.csv, from which docs/benchmarks/program.md is written.
A run that this version of the program has a row of is not done again, unless --again says so. A
run ends at the hardest goal of its size, where --gap and --time-limit do not say otherwise.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from program_bench.goals import default_ends, instance_name
from program_bench.records import TABLE, Asked, append_row, known_row, program_version, read_rows
from program_bench.report import gist, write_page
from program_bench.run import EXTRAS, extras_of, run_apart, run_here
from program_bench.tables import SIZES
from program_bench.wishes import Wishes

from broker.clock import system_clock

_CHILD = "--child"


def main(arguments: Sequence[str]) -> int:
    """Do one run, or say that it is known; give the exit code."""
    if arguments[:1] == [_CHILD]:
        _child(arguments[1], Path(arguments[2]))
    options = _options(arguments)
    wishes = Wishes(**{name: getattr(options, name) for name in EXTRAS})
    ends = default_ends(options.size, options.scale)
    asked = Asked(
        size=options.size,
        seed=options.seed,
        scale=options.scale,
        time_limit_s=ends.time_limit_s if options.time_limit is None else options.time_limit,
        gap=ends.gap if options.gap is None else options.gap,
        extras=extras_of(wishes),
    )
    name = f"{instance_name(asked.size, asked.scale)} {asked.extras}".strip()
    program = program_version()
    known = known_row(read_rows(options.table), program, asked)
    if known is not None and not options.again:
        print(f"{name}, seed {asked.seed}: measured on {known.made_on}, program {program}")
        print("measure it again with AGAIN=1, or --again")
        return 0
    print(f"{name}, seed {asked.seed}: at most {asked.time_limit_s:g} s ...", flush=True)
    row = run_apart(asked, wishes, program, system_clock().date())
    append_row(row, options.table)
    write_page(read_rows(options.table), options.table.with_suffix(".md"))
    print(f"{row.status}: {gist(row)}")
    return int(row.verified != "yes")


def _child(arguments: str, told: Path) -> NoReturn:
    asked, wishes = json.loads(arguments)
    measured = run_here(Asked(*asked), Wishes(**wishes))
    told.write_text(json.dumps(measured), encoding="utf-8")
    os._exit(0)  # a solver that passed its limit is left alone, and aborts an orderly end


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    whole_days = [name for name, one in SIZES.items() if not one.hours % 24]
    parser.add_argument("size", choices=whole_days)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="factor of every load")
    parser.add_argument("--gap", type=float, help="where the search ends, 0.01 is 1 %%")
    parser.add_argument("--time-limit", type=float, help="seconds of the search")
    parser.add_argument("--again", action="store_true", help="also where it is known")
    parser.add_argument("--table", type=Path, default=TABLE, help="another one than that of docs")
    parser.add_argument("--size-classes", type=int, help="of each service, up to 6")
    parser.add_argument("--window-factor", type=float, default=1.0, help="of the time of runs")
    parser.add_argument("--quota-factor", type=float, default=1.0, help="of the nodes there are")
    parser.add_argument("--data-sets", action="store_true", help="runs have data to move")
    parser.add_argument("--blocks", action="store_true", help="weeks are sold as capacity blocks")
    parser.add_argument(
        "--provider-shares", action="store_true", help="services are spread over providers"
    )
    parser.add_argument("--prices-moved", type=float, default=0.0, help="by up to such a share")
    parser.add_argument(
        "--known-plan-s",
        type=float,
        default=0.0,
        help="seconds for a plan at the prices before, from which the search begins",
    )
    for name in ("offers", "services", "jobs", "hours"):
        parser.add_argument(f"--{name}", type=int, help="instead of those of the size")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
