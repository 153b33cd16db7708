"""Another catalog to measure against: gpuhunt, in an environment of its own, on our rows."""

import csv
import json
import subprocess
import sys
import time
import venv
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from broker.domain.gpu import GpuModel
from broker.domain.offer import Offer

PACKAGE = "gpuhunt==0.1.34"

_CHILD = Path(__file__).with_name("bench_gpuhunt_child.py")
_FILES = (
    *("aws", "azure", "verda", "gcp", "lambdalabs"),
    *("nebius", "oci", "runpod", "cloudrift"),
)
"""The providers that it reads offline; it asks the others over the network."""

_NAMES = {"lambda": "lambdalabs"}
_OTHERS = "cloudrift"
_VENDORS = frozenset({"nvidia", "amd", "google", "intel", "tenstorrent"})
_COLUMNS = (
    *("instance_name", "location", "price", "cpu", "memory", "gpu_count", "gpu_name"),
    *("gpu_memory", "spot", "disk_size", "gpu_vendor", "flags", "cpu_arch", "provider_data"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """How many items matched a question, and the best time of several."""

    matching: int
    query_s: float


@dataclass(frozen=True, slots=True)
class Measured:
    """What gpuhunt took: to load, for each question, and as a process from its start to its end."""

    items: int
    load_s: float
    process_s: float
    answers: tuple[Answer, ...]


def make_environment(folder: Path) -> Path:
    """Install the package into an environment of its own; give its Python.

    Raises:
        subprocess.CalledProcessError: it cannot be installed.
    """
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    install = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", PACKAGE]
    subprocess.run(install, check=True, capture_output=True, text=True)  # noqa: S603 - pip
    return python


def write_rows(offers: Iterable[Offer], gpus: Mapping[str, GpuModel], folder: Path) -> None:
    """Write offers as its files: one for each provider that it reads offline.

    What it has no file for goes into the last one. Models keep our names, and memory is that which
    a GPU is sold with, so that both catalogs answer one question with as many offers.
    """
    rows: defaultdict[str, list[tuple[object, ...]]] = defaultdict(list)
    for offer in offers:
        name = _NAMES.get(offer.provider, offer.provider)
        rows[name if name in _FILES else _OTHERS].append(_row(offer, gpus))
    for name in _FILES:
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(_COLUMNS)
            writer.writerows(rows[name])


def measure(
    python: Path, folder: Path, questions: Sequence[Mapping[str, object]], repeats: int
) -> Measured:
    """Put the questions to it, and one of them to a process that ends with the answer.

    Raises:
        subprocess.CalledProcessError: it fails.
    """
    told = json.loads(_run(python, folder, questions, repeats))
    start_s = time.perf_counter()
    _run(python, folder, questions[:1], 1)
    process_s = time.perf_counter() - start_s
    answers = tuple(Answer(int(one["matching"]), one["query_s"]) for one in told["answers"])
    return Measured(told["items"], told["load_s"], process_s, answers)


def _run(
    python: Path, folder: Path, questions: Sequence[Mapping[str, object]], repeats: int
) -> str:
    command = [str(python), str(_CHILD), str(folder), json.dumps(questions), str(repeats)]
    ended = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - ours
    return ended.stdout


def _row(offer: Offer, gpus: Mapping[str, GpuModel]) -> tuple[object, ...]:
    hardware, shape = offer.hardware, offer.hardware.shape
    gpu = gpus.get(shape.gpu)
    sold = gpu.memory_gb / gpu.memory_gib if gpu else 1.0
    vendor = gpu.vendor.lower() if gpu else ""
    return (
        offer.instance_type,
        offer.place.region,
        offer.effective_usd_per_hour,
        int(hardware.vcpus or 0),
        hardware.host_memory_gib or 0,
        max(1, int(shape.gpu_count)),
        shape.gpu,
        round(hardware.gpu_memory_gib * sold, 6),
        offer.price_kind == "spot",
        hardware.local_disk_gb or "",
        vendor if vendor in _VENDORS else "",
        "",
        "arm" if hardware.cpu_architecture == "arm64" else "x86",
        "{}",
    )
