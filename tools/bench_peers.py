"""Our plan beside other ways to buy for the same workloads over the same prices.

    python tools/bench_peers.py                        # all examples, and three generated instances
    python tools/bench_peers.py company small:5        # some of them; SIZE:SEED is generated
    python tools/bench_peers.py small:1 --time-limit 60 --melange-time 20 --again

Each rival is a row of docs/benchmarks/peers.csv, from which docs/benchmarks/peers.md is written. An
instance that this version has all rows of is not done again, unless --again says so. With --plans
every accepted plan is also written to a folder, for `gpubroker verify` and `gpubroker diff`.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from peers_bench.instances import Instance, instance_names, read_instance
from peers_bench.records import (
    BETWEEN,
    OURS,
    TABLE,
    PeerRow,
    Times,
    known_rows,
    peers_version,
)
from peers_bench.report import is_dearer, summary_of, text_of, write_page
from peers_bench.rivals import Result, compared
from program_bench.records import append_row, read_table
from program_bench.run import cpu_name

from broker.clock import system_clock
from broker.domain.errors import BrokerError
from broker.domain.plan import Plan
from broker.planning.service import open_service
from broker.settings import load_settings


def main(arguments: Sequence[str]) -> int:
    """Compare on every instance that is asked for; 1 where our plan is the dearer one."""
    options = _options(arguments)
    times = Times(
        gap=options.gap,
        ours_s=options.time_limit,
        strategy_s=options.strategy_time,
        melange_s=options.melange_time,
    )
    service = open_service(load_settings())
    every: list[PeerRow] = []
    is_beaten = False
    for name in options.instances or instance_names():
        try:
            instance = read_instance(name, service)
        except BrokerError as cause:
            print(f"error: {cause}\nhint: {cause.hint}", file=sys.stderr)
            return 1
        rows = _rows(instance, times, options)
        print(f"{text_of(rows)}\n", flush=True)
        every += rows
        is_beaten = is_beaten or is_dearer(rows)
    print("\n".join(summary_of(every)))
    return int(is_beaten)


def _rows(instance: Instance, times: Times, options: argparse.Namespace) -> Sequence[PeerRow]:
    """Give the rows of an instance: those that are known, or new ones."""
    program = peers_version()
    asked = (instance.name, instance.catalog.snapshot[:10])
    rows = known_rows(read_table(options.table, PeerRow), program, asked, str(times))
    if not options.again and any(row.rival == OURS for row in rows):
        print(f"measured on {rows[0].made_on}, program {program}; measure it again with --again")
        return rows
    rows = tuple(_measured(instance, program, times, options))
    write_page(read_table(options.table, PeerRow), options.table.with_suffix(".md"))
    return rows


def _measured(
    instance: Instance, program: str, times: Times, options: argparse.Namespace
) -> Iterator[PeerRow]:
    for result in compared(instance, times):
        print(f"{instance.name}: {result.rival} ...", file=sys.stderr, flush=True)
        row = _row(instance, program, times, result)
        append_row(row, options.table)
        if options.plans and result.judged.plan is not None:
            _write_plan(result.judged.plan, f"{instance.name} {result.rival}", options.plans)
        yield row


def _write_plan(plan: Plan, name: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^0-9A-Za-z]+", "-", name.replace("é", "e")).strip("-").lower()
    path = folder / f"{stem}.json"
    path.write_text(plan.model_dump_json(by_alias=True, indent=2), encoding="utf-8")


def _row(instance: Instance, program: str, times: Times, result: Result) -> PeerRow:
    return PeerRow(
        made_on=system_clock().date(),
        program=program,
        instance=instance.name,
        snapshot=instance.catalog.snapshot[:10],
        times=str(times),
        rival=result.rival,
        choice=result.choice,
        own_usd=_cents(result.own_usd),
        usd=_cents(None if result.usd is None else float(result.usd)),
        bound_usd=_cents(result.bound_usd),
        seconds=round(result.seconds, 2),
        repairs=BETWEEN.join(result.judged.repairs),
        remarks=BETWEEN.join(result.remarks),
        refusal=result.judged.refusal,
        cpu=cpu_name(),
        cores=os.cpu_count() or 0,
        load=round(os.getloadavg()[0], 1),
    )


def _cents(usd: float | None) -> float | None:
    return None if usd is None else round(usd, 4)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("instances", nargs="*", metavar="INSTANCE", help="an example, or SIZE:SEED")
    parser.add_argument("--gap", type=float, default=0.001, help="where our searches end")
    parser.add_argument("--time-limit", type=float, default=120.0, help="seconds of our search")
    parser.add_argument(
        "--strategy-time", type=float, default=60.0, help="seconds of each narrower strategy"
    )
    parser.add_argument(
        "--melange-time",
        type=float,
        default=120.0,
        help="seconds of Mélange, all services together",
    )
    parser.add_argument("--again", action="store_true", help="also where it is known")
    parser.add_argument("--table", type=Path, default=TABLE, help="another one than that of docs")
    parser.add_argument("--plans", type=Path, help="folder for the accepted plans")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
