"""Rows of a table of serving measurements: what each configured, and what it measured.

Takes any CSV with the columns of the project's own table. What a row leaves open is filled as its
engine does by default, never from what it measured:

- no precision stated: 16 bits; FP4 of gpt-oss is MXFP4, other FP4 is NVFP4.
- no KV format stated: 8 bits where the usual checkpoint says so (8- and 4-bit floats on
  TensorRT-LLM, NVFP4 anywhere, FP8 on Blackwell), else 16.
- GPU counts of Inferentia and Trainium are cores: two to a device.
- no group size stated: the smallest that weights fill to two thirds at most.
- a count of GPUs above one replica's is so many replicas.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from broker.domain.errors import ConfigurationError
from broker.domain.gpu import GpuModel, Precision, Stack
from broker.domain.llm import LlmModel
from broker.specs.load import Specs
from broker.specs.tables import read_table, text
from solver.sizing.engines import Engine, Release, engine_of, release_of
from solver.sizing.links import ALONE, Interconnect, pcie_link
from solver.sizing.precisions import Arithmetic, serving_arithmetic, weight_bytes
from solver.sizing.serving_estimate import Regime
from solver.sizing.serving_facts import Replica, Split

_PRECISIONS = {
    "": Precision.BF16,
    "bf16": Precision.BF16,
    "fp16": Precision.FP16,
    "fp8": Precision.FP8,
    "int8": Precision.INT8,
    "int4": Precision.INT4,
    "uint4": Precision.INT4,
    "fp4": Precision.NVFP4,
    "nvfp4": Precision.NVFP4,
    "mxfp4": Precision.MXFP4,
}
_KV_BITS = {"fp8": 8.0, "int8": 8.0, "int4": 4.0, "bf16": 16.0, "fp16": 16.0}
_FLOATS = (Precision.FP8, Precision.NVFP4, Precision.MXFP4)
_STATIC = ("static-batch", "batch1-decode", "latency-bs1", "offline-batch")
_USUAL_LINK_GB_PER_S = 450.0
"""Where a table of GPUs says nothing of the link: superchips joined by NVLink."""
_UNKNOWN_YEAR = 2025.5
_FILLED_SHARE = 2 / 3


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement: a configuration, a load, and a figure in seconds or tokens per second."""

    id: str
    group: str
    gpu: str
    metric: str
    value: float
    replica: Replica
    replicas: float
    input_tokens: float
    output_tokens: float
    clients: float | None
    requests_per_s: float | None
    regime: Regime
    scenario: str
    tier: str
    set_aside: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that states too little, or what no formula holds for."""

    id: str
    gpu: str
    metric: str
    value: float
    reason: str


class _UnusableError(Exception):
    """A row cannot be predicted; the text is the reason."""


def read_rows(path: Path, specs: Specs) -> Iterator[Row | Refused]:
    """Read a file of measurements."""
    with path.open(encoding="utf-8", newline="") as lines:
        yield from rows_of(csv.DictReader(lines), specs)


def own_rows(specs: Specs) -> Iterator[Row | Refused]:
    """Read the project's own table."""
    table = read_table("measurements_serving.csv")
    yield from rows_of(({name: cell or "" for name, cell in row.items()} for row in table), specs)


def rows_of(cells: Iterable[Mapping[str, str]], specs: Specs) -> Iterator[Row | Refused]:
    """Turn cells into rows, or say why one cannot be."""
    releases = release_days()
    for cell in cells:
        try:
            yield _row(cell, specs, releases)
        except _UnusableError as cause:
            value = _number(cell.get("value", "")) or 0.0
            yield Refused(cell["id"], cell["gpu"], cell["metric"], value, str(cause))


def release_days() -> dict[tuple[str, str], date]:
    """Read the days on which versions of engines came out."""
    return {
        (text(row, "engine"), text(row, "version")): date.fromisoformat(text(row, "released_on"))
        for row in read_table("engines.csv")
    }


def _row(cell: Mapping[str, str], specs: Specs, days: Mapping[tuple[str, str], date]) -> Row:
    gpu, model = _gpu(cell, specs), _model(cell, specs)
    release = _release(cell, days)
    precision = precision_of(cell["weight_precision"], model)
    split, gpus = _split(cell, gpu, weight_bytes(model=model, precision=precision).total)
    scenario = cell["scenario"]
    value = _number(cell["value"])
    inputs, outputs = _number(cell["input_tokens"]), _number(cell["output_tokens"])
    if not value or not inputs or not outputs:
        raise _UnusableError("lengths_not_stated" if value else "no_value")
    clients, rate, regime = _load(cell)
    per_gpu = cell["metric"] == "tokens_per_s_per_gpu"
    in_ms = cell["metric"] in ("tpot_ms", "ttft_ms")
    return Row(
        id=cell["id"],
        group=f"{model.name}|{gpu.name}",
        gpu=gpu.name,
        metric=cell["metric"],
        value=value * gpus if per_gpu else value / 1000 if in_ms else value,
        replica=Replica(
            gpu=gpu,
            model=model,
            arithmetic=_arithmetic(gpu, precision),
            split=split,
            link=usual_link(gpu, gpus),
            release=release,
            kv_bits=_kv_bits(cell, gpu, precision, release),
        ),
        replicas=max(gpus / split.gpus, 1.0),
        input_tokens=inputs,
        output_tokens=outputs,
        clients=clients,
        requests_per_s=rate,
        regime=regime,
        scenario=scenario,
        tier=cell.get("tier", ""),
        set_aside=cell.get("set_aside", ""),
    )


def _gpu(cell: Mapping[str, str], specs: Specs) -> GpuModel:
    try:
        return specs.gpu(cell["gpu"])
    except ConfigurationError as cause:
        raise _UnusableError("unknown_gpu") from cause


def _model(cell: Mapping[str, str], specs: Specs) -> LlmModel:
    try:
        return specs.llm(cell["model"].lower())
    except ConfigurationError as cause:
        raise _UnusableError("unknown_model") from cause


def _split(cell: Mapping[str, str], gpu: GpuModel, weights: float) -> tuple[Split, float]:
    tensor, pipeline = _count(cell.get("tp", "")), _count(cell.get("pp", ""))
    experts, data = _count(cell.get("ep", "")), _count(cell.get("dp", ""))
    gpus = float(_count(cell.get("gpu_count", "")))
    if not cell.get("tp", "") and pipeline == data == 1:
        tensor = _smallest_group(weights, gpu, gpus)
    if gpu.stack is Stack.NEURON:
        tensor, gpus = max(tensor // 2, 1), max(gpus / 2, 1.0)
    if data > 1 and experts > 1:
        return Split(1, pipeline, data, data), max(gpus, data)
    return Split(tensor, pipeline, experts), max(gpus, tensor * pipeline)


def _smallest_group(weights: float, gpu: GpuModel, gpus: float) -> int:
    tensor = 1
    while tensor * 2 <= gpus and weights / tensor > _FILLED_SHARE * gpu.memory_gib * 2.0**30:
        tensor *= 2
    return tensor


def usual_link(gpu: GpuModel, gpus: float) -> Interconnect:
    """Give the link that a GPU of this form usually has; measurements rarely say."""
    if gpus <= 1:
        return ALONE
    if gpu.form == "PCIe":
        return pcie_link(gpu)
    return Interconnect(gpu.link_gb_per_s or _USUAL_LINK_GB_PER_S)


def precision_of(spelled: str, model: LlmModel) -> Precision:
    """Tell a number format as tables spell it; FP4 without more is that of the checkpoint."""
    precision = _PRECISIONS.get(spelled)
    if precision is None:
        raise _UnusableError("unknown_precision")
    if precision is Precision.NVFP4 and model.name.startswith("gpt-oss"):
        return Precision.MXFP4
    return precision


def _arithmetic(gpu: GpuModel, precision: Precision) -> Arithmetic:
    """Run formats without units weight-only: a measurement shows that they did run."""
    found = serving_arithmetic(gpu=gpu, precision=precision)
    if found is not None:
        return found
    if gpu.bf16_tflops is None:
        raise _UnusableError("no_matrix_units")
    return Arithmetic(precision, gpu.bf16_tflops)


def _kv_bits(
    cell: Mapping[str, str], gpu: GpuModel, precision: Precision, release: Release
) -> float:
    stated = _KV_BITS.get(cell.get("kv_precision", ""))
    if stated is not None:
        return stated
    by_engine = release.engine is Engine.TENSORRT_LLM and precision in _FLOATS
    is_new = gpu.architecture.startswith("Blackwell") and precision is Precision.FP8
    return 8.0 if by_engine or is_new or precision is Precision.NVFP4 else 16.0


def _release(cell: Mapping[str, str], days: Mapping[tuple[str, str], date]) -> Release:
    found = re.match(r"(\d{4})(?:-(\d{2}))?", cell.get("source_date", ""))
    seen = _UNKNOWN_YEAR
    if found is not None:
        seen = int(found[1]) + ((int(found[2]) - 0.5) / 12 if found[2] else 0.5)
    return release_of(
        engine_of(cell["engine"]), cell.get("engine_version", ""), days, seen_year=seen
    )


def _load(cell: Mapping[str, str]) -> tuple[float | None, float | None, Regime]:
    scenario, stated = cell["scenario"], cell["concurrency_or_batch"]
    open_loop = re.search(r"open-loop qps=([\d.]+)", scenario)
    if open_loop is not None:
        return None, float(open_loop[1]), Regime.CLOSED
    if stated == "max" or scenario.startswith("mlperf"):
        return None, None, Regime.OFFLINE
    clients = _number(stated)
    if clients is None:
        if scenario.startswith("offline"):
            return None, None, Regime.OFFLINE
        raise _UnusableError("concurrency_not_stated")
    return clients, None, Regime.STATIC if scenario in _STATIC else Regime.CLOSED


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _count(cell: str) -> int:
    number = _number(cell)
    return max(int(number), 1) if number else 1
