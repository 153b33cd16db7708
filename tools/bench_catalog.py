"""Times of the catalog: to fill it, to ask it, beside those of gpuhunt on the same rows.

    python tools/bench_catalog.py                    # 100,000 offers, 400 MB of an AWS price file
    python tools/bench_catalog.py --offers 20000 --megabytes 0

The offers are made of the recorded ones: each again and again under other names and at prices a few
percent apart. Nothing but a temporary folder is written. Times in the process are the best of
several; those of whole processes are wall times from start to end, imports included. gpuhunt runs
in an environment of its own, which is made for it (`--without-gpuhunt` leaves it out), and answers
from a copy of the rows on disk, offline.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TypeVar

import bench_gpuhunt
from bench_catalog_aws import stream_price_file
from rich import box
from rich.console import Console
from rich.table import Table

from broker.catalog.runs import Reading
from broker.domain.offer import Offer
from broker.domain.quantities import quantize_usd
from broker.planning.offers import Listed, OfferService, open_offers
from broker.planning.query import OfferQuery
from broker.planning.service import PlanningService, open_service
from broker.planning.store_listing import StoreListing
from broker.settings import Settings

_Result = TypeVar("_Result")
_REPEATS = 5
_PRICE_STEPS = 97
_TABLE_ROWS = 40


@dataclass(frozen=True, slots=True)
class Question:
    """One question in our words, on our command line, and in those of gpuhunt."""

    name: str
    query: OfferQuery
    options: tuple[str, ...]
    theirs: dict[str, object]


def _kinds(*names: str) -> frozenset[str]:
    return frozenset(names)


_FIRM = ("on_demand", "reserved", "savings_plan", "capacity_block", "contract", "owned")
QUESTIONS = (
    Question(
        "8 or more H100 SXM",
        OfferQuery(gpus=_kinds("H100-SXM"), min_gpus=8),
        ("--gpu", "H100-SXM", "--min-gpus", "8"),
        {"gpu_name": ["H100-SXM"], "min_gpu_count": 8},
    ),
    Question(
        "4 or more GPUs of 80 GB or more, no spot",
        OfferQuery(min_gpus=4, min_memory_gb=80, price_kinds=_kinds(*_FIRM)),
        (
            *("--min-gpus", "4", "--min-memory", "80"),
            *(word for kind in _FIRM for word in ("--price-kind", kind)),
        ),
        {"min_gpu_count": 4, "min_gpu_memory": 80, "spot": False},
    ),
    Question(
        "spot, a node below 2 $/h",
        OfferQuery(price_kinds=_kinds("spot"), max_usd_per_hour=Decimal(2)),
        ("--price-kind", "spot", "--max-usd-per-hour", "2"),
        {"spot": True, "max_price": 2.0},
    ),
    Question("everything", OfferQuery(), (), {}),
)


def main() -> int:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--offers", type=int, default=100_000, help="offers in the catalog")
    parser.add_argument("--megabytes", type=int, default=400, help="of an AWS price file, 0: none")
    parser.add_argument("--without-gpuhunt", action="store_true", help="measure our own only")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 120)
    if options.megabytes:  # first: a child's peak of memory counts what its parent had
        console.print(_streaming(options.megabytes))
    with TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder) / "data")
        planning = open_service(settings)
        offers = made_up_offers(planning, options.offers)
        console.print(_filling(planning, offers))
        theirs = None if options.without_gpuhunt else _gpuhunt(planning, offers, Path(folder))
        del offers  # as big as the process may get; what follows is measured without it
        console.print(_asking(settings, theirs))
        console.print(_loading(settings, theirs))
    return 0


def made_up_offers(planning: PlanningService, count: int) -> list[Offer]:
    """Repeat the recorded offers under other names, at prices up to ten percent apart."""
    recorded = planning.offers_from_recordings().offers
    offers = []
    for number in range(count):
        again, position = divmod(number, len(recorded))
        offer = recorded[position]
        change = Decimal(1000 + again % _PRICE_STEPS) / 1000
        offers.append(
            offer.model_copy(
                update={
                    "instance_type": f"{offer.instance_type}-{again}",
                    "usd_per_hour": quantize_usd(offer.usd_per_hour * change),
                }
            )
        )
    return offers


def _filling(planning: PlanningService, offers: Sequence[Offer]) -> Table:
    """Refresh an empty store, again with every price changed, and again with the same."""
    table = _table("seconds to fill the catalog", "offers", "store", "listing", "together")
    dearer = [
        one.model_copy(update={"usd_per_hour": quantize_usd(one.usd_per_hour * Decimal("1.01"))})
        for one in offers
    ]
    table.add_row("all new", *_filled(planning, dearer))
    table.add_row("all cheaper", *_filled(planning, offers))
    table.add_row("all as before", *_filled(planning, offers))
    return table


def _filled(planning: PlanningService, offers: Sequence[Offer]) -> Sequence[str]:
    listing = StoreListing(planning.settings, lambda: planning.catalog)
    _, store_s = _timed(lambda: _refresh(planning, offers))
    _, listing_s = _timed(listing.current)
    return f"{len(offers):,}", f"{store_s:.1f}", f"{listing_s:.1f}", f"{store_s + listing_s:.1f}"


def _refresh(planning: PlanningService, offers: Sequence[Offer]) -> None:
    by_provider = sorted(offers, key=lambda offer: offer.provider)
    for provider, sent in groupby(by_provider, key=lambda offer: offer.provider):
        now = planning.clock()
        reading = Reading(provider, False, now, tuple(sent), ())
        planning.catalog.replace(reading, planning.gates, now=now)


def _gpuhunt(
    planning: PlanningService, offers: Sequence[Offer], folder: Path
) -> bench_gpuhunt.Measured | None:
    print("making an environment for gpuhunt ...", file=sys.stderr)
    try:
        python = bench_gpuhunt.make_environment(folder / "gpuhunt")
    except (subprocess.CalledProcessError, OSError) as cause:
        print(f"no gpuhunt to measure: {cause}", file=sys.stderr)
        return None
    rows = folder / "rows"
    rows.mkdir()
    bench_gpuhunt.write_rows(offers, planning.specs.gpus, rows)
    return bench_gpuhunt.measure(python, rows, [one.theirs for one in QUESTIONS], _REPEATS)


def _asking(settings: Settings, theirs: bench_gpuhunt.Measured | None) -> Table:
    """Put each question to a service that has the listing open, as gpuhunt has its items."""
    table = _table(
        "milliseconds of a question",
        "matching",
        f"first {_TABLE_ROWS}",
        "all rows",
        "gpuhunt: matching",
        "all items",
        f"gpuhunt ÷ first {_TABLE_ROWS}",
    )
    service = open_offers(settings)
    for number, question in enumerate(QUESTIONS):
        table.add_row(question.name, *_asked(service, question, theirs, number))
    return table


def _asked(
    service: OfferService,
    question: Question,
    theirs: bench_gpuhunt.Measured | None,
    number: int,
) -> Sequence[str]:
    first_s = _best(lambda: service.offers(question.query, Listed(most=_TABLE_ROWS)))
    found, all_s = _timed(lambda: service.offers(question.query))
    ours = (f"{found.matching:,}", f"{first_s * 1e3:.1f}", f"{all_s * 1e3:,.0f}")
    if theirs is None:
        return ours
    answer = theirs.answers[number]
    ratio = answer.query_s / first_s
    return *ours, f"{answer.matching:,}", f"{answer.query_s * 1e3:,.1f}", f"{ratio:.0f}×"


def _loading(settings: Settings, theirs: bench_gpuhunt.Measured | None) -> Table:
    """Open and ask in one go: inside a process, and as a process of its own."""
    table = _table("seconds, loading included", "ours", "gpuhunt", "gpuhunt ÷ ours")
    question = QUESTIONS[0]

    def opened() -> None:
        open_offers(settings).offers(question.query, Listed(most=_TABLE_ROWS))

    inside_s = _best(opened)
    processes = sorted(_process_s(settings, question.options) for _ in range(_REPEATS))
    label = f"{question.name}: load and ask"
    if theirs:
        loaded_s = theirs.load_s + theirs.answers[0].query_s
        _compare(table, label, inside_s, loaded_s)
        _compare(table, "the same as a whole process", processes[0], theirs.process_s)
    else:
        table.add_row(label, f"{inside_s:.3f}", "", "")
        table.add_row("the same as a whole process", f"{processes[0]:.3f}", "", "")
    table.add_row("whole process, median of 5", f"{median(processes):.3f}", "", "")
    return table


def _compare(table: Table, label: str, ours_s: float, theirs_s: float) -> None:
    table.add_row(label, f"{ours_s:.3f}", f"{theirs_s:.3f}", f"{theirs_s / ours_s:.0f}×")


def _process_s(settings: Settings, options: Sequence[str]) -> float:
    code = "from cli.app import main; main()"
    environment = {**os.environ, "GPUBROKER_DATA_DIR": str(settings.data_dir)}  # noqa: TID251 - handed on
    start_s = time.perf_counter()
    subprocess.run(  # noqa: S603 - this Python, and the options above
        [sys.executable, "-c", code, "offers", *options],
        env=environment,
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - start_s


def _streaming(megabytes: int) -> Table:
    table = _table("an AWS price file", "rows", "offers", "seconds", "peak MB")
    figures = stream_price_file(megabytes)
    table.add_row(
        f"{figures.file_mb:,.0f} MB",
        f"{figures.rows:,}",
        f"{figures.offers:,}",
        f"{figures.seconds:.1f}",
        f"{figures.peak_mb:,.0f}",
    )
    return table


def _table(*headings: str) -> Table:
    table = Table(*headings, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    return table


def _best(work: Callable[[], object]) -> float:
    return min(_timed(work)[1] for _ in range(_REPEATS))


def _timed(work: Callable[[], _Result]) -> tuple[_Result, float]:
    start_s = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start_s


if __name__ == "__main__":
    sys.exit(main())
