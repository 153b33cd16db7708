"""Memory and time of the largest reply of all: a price file of AWS, read as a refresh reads it.

    python tools/bench_catalog_aws.py             # 400 MB, as us-east-1 has
    python tools/bench_catalog_aws.py 1000        # megabytes of the made-up file

The file is made up and thrown away: the columns of the real one, a machine with GPUs in every
hundredth row. It is served to the adapter through the client of a live refresh, in a process of
its own, whose peak memory is that of all of gpubroker's modules and the reading.
"""

import argparse
import multiprocessing
import resource
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import httpx

from broker.domain.offer import Offer
from broker.specs.load import load_specs
from providers.aws.adapter import AwsCloud
from providers.aws.feeds import EC2_FILES, PRICE_HOST, REGION_INDEX_URL
from providers.aws.price_csv import COLUMNS
from providers.kit.access import Access
from providers.kit.http import live_client
from providers.kit.parts import replies_only

REGION = "us-east-1"
_PATH = f"{EC2_FILES}20260910195514/{REGION}/index"
_CHUNK_BYTES = 64 * 2**10
_UNREAD_COLUMNS = 45
"""A row of the real file has some ninety fields, half of which are not read."""

_PLAIN = {
    "TermType": "OnDemand",
    "EffectiveDate": "2026-09-01",
    "StartingRange": "0",
    "EndingRange": "Inf",
    "Unit": "Hrs",
    "Currency": "USD",
    "Product Family": "Compute Instance",
    "Location Type": "AWS Region",
    "Tenancy": "Shared",
    "License Model": "No License required",
    "operation": "RunInstances",
    "CapacityStatus": "Used",
    "MarketOption": "OnDemand",
    "Pre Installed S/W": "NA",
    "Region Code": REGION,
}
_MACHINES = (
    {"Instance Type": "m7i.4xlarge", "Instance Family": "General purpose", "vCPU": "16"},
    {"Instance Type": "p5.48xlarge", "Instance Family": "GPU instance", "vCPU": "192", "GPU": "8"},
)
_PRICES = ("0.8064000000", "55.0400000000")
_GPU_EVERY = 100


class Figures(NamedTuple):
    """What reading one file took. `peak_mb` is the memory of the whole process, in MB of 2²⁰."""

    file_mb: float
    rows: int
    offers: int
    rejections: int
    seconds: float
    peak_mb: float


class _FileStream(httpx.SyncByteStream):
    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk


def stream_price_file(megabytes: int) -> Figures:
    """Make a price file of this size, read it in a child process, and say what that took."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "index.csv"
        rows = _write(path, megabytes * 2**20)
        # A child that starts afresh: its peak memory is its own.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            offers, rejections, seconds, peak_mb = pool.apply(_read, (path,))
        return Figures(path.stat().st_size / 2**20, rows, offers, rejections, seconds, peak_mb)


def _write(path: Path, size_bytes: int) -> int:
    """Write the lines about the file, the header and rows, at least `size_bytes` of them."""
    heads = [*COLUMNS.values(), *(f"Column {n}" for n in range(_UNREAD_COLUMNS))]
    written = rows = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for name in ("FormatVersion", "Disclaimer", "Publication Date", "Version", "OfferCode"):
            file.write(f'"{name}","made up"\n')
        file.write(",".join(f'"{head}"' for head in heads) + "\n")
        while written < size_bytes:
            has_gpu = rows % _GPU_EVERY == 0
            # Only the first is a plain machine; the others are as many Windows rows.
            system = "Linux" if rows == 0 or not has_gpu else "Windows"
            sku = {"SKU": f"EXAMPLE{rows:09d}", "Operating System": system}
            row = {**_PLAIN, **_MACHINES[has_gpu], "PricePerUnit": _PRICES[has_gpu], **sku}
            written += file.write(",".join(f'"{row.get(head, "some text")}"' for head in heads))
            written += file.write("\n")
            rows += 1
    return rows


def _read(path: Path) -> tuple[int, int, float, float]:
    """Refresh one region from the file; give offers, rejections, seconds and the peak in MB."""
    index = {"regions": {REGION: {"currentVersionUrl": f"{_PATH}.json"}}}

    def answer(request: httpx.Request) -> httpx.Response:
        url = str(request.url)
        if url == REGION_INDEX_URL:
            return httpx.Response(200, json=index)
        if url == f"{PRICE_HOST}{_PATH}.csv":
            return httpx.Response(200, stream=_FileStream(path))
        return httpx.Response(404)

    aws = AwsCloud(load_specs(), Access(regions=(REGION,)))
    start_s = time.perf_counter()
    now = datetime(2026, 9, 11, tzinfo=UTC)
    transport = httpx.MockTransport(answer)
    with live_client(lambda: now, transport=transport, sleep=lambda _: None) as http:
        found = list(aws.offers_in(replies_only(aws.fetch(http), [])))
    seconds = time.perf_counter() - start_s
    offers = sum(isinstance(one, Offer) for one in found)
    return offers, len(found) - offers, seconds, _peak_mb()


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10  # bytes there, KiB here


def main() -> int:
    """Read one file and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("megabytes", nargs="?", type=int, default=400)
    figures = stream_price_file(parser.parse_args().megabytes)
    for name, value in figures._asdict().items():
        print(f"{name:>10} {value:,.1f}" if isinstance(value, float) else f"{name:>10} {value:,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
