"""The table of training speeds: each row a configuration that the sizing can estimate.

A row that states too little, or what the formulas do not model, is refused with a reason.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from measured_models import Models, find_model, measured_models
from training_text import (
    find_gpu,
    method_of,
    node_gbit_per_s,
    number_of,
    precision_of,
    stack_of,
)

from broker.domain.gpu import GpuModel
from broker.domain.llm import LlmModel
from broker.domain.workload import Method, TrainingStack
from broker.specs.load import Specs
from solver.sizing.architecture import input_embedding_params
from solver.sizing.training_estimate import Setup
from solver.sizing.training_facts import FULL_SHARDING, Split, Wires, attention_layers

OWN_TABLE = "measurements_training.csv"
_PCIE_GB_PER_S = 17.0
_RACK_GPUS = 64
_PADDING_SHARE = 0.5
"""Of MLPerf's BERT sequences, what is no padding: they are packed, and tokens are not counted."""
_USUAL_SEQUENCE = 4096
_MEGATRON_SEQUENCE = 2048
_MOST_VIRTUAL = 12
_RELEASES = {
    "3.0": 2023.4,
    "3.1": 2023.8,
    "4.0": 2024.4,
    "4.1": 2024.8,
    "5.0": 2025.4,
    "5.1": 2025.8,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement: `step_s` measured, the setup that made it, or why it is refused.

    `group` is network × GPU; `kind` the class it is judged in. `per_step` turns seconds of a step
    into the table's own unit: value = step_s where the metric is a time, else per_step / step_s.
    """

    id: str
    gpu: str
    kind: str
    metric: str
    value: float
    reason: str = ""
    group: str = ""
    setup: Setup | None = None
    step_s: float = 0.0
    per_step: float = 0.0
    doubts: tuple[str, ...] = ()
    may_be_fp4: bool = False

    def in_unit(self, step_s: float) -> float:
        """Turn seconds of a step into the unit of the measurement."""
        return step_s if self.metric == "step_s" else self.per_step / step_s


def own_rows(specs: Specs) -> list[Row]:
    """Read the project's own table."""
    text = files("broker.specs").joinpath(OWN_TABLE).read_text(encoding="utf-8")
    models = measured_models(specs)
    return [row_of(one, specs, models) for one in csv.DictReader(text.splitlines())]


def read_rows(path: Path, specs: Specs) -> Iterator[Row]:
    """Read a file with the columns of the project's table."""
    models = measured_models(specs)
    with path.open(encoding="utf-8", newline="") as lines:
        for one in csv.DictReader(lines):
            yield row_of(one, specs, models)


def row_of(cells: Mapping[str, str], specs: Specs, models: Models) -> Row:
    """Read one row, or say why it cannot be estimated."""
    gpu, model = (
        find_gpu(cells["gpu"], specs),
        find_model(cells["model"], cells["params_b"], models),
    )
    bare = Row(
        id=cells["id"],
        gpu=gpu.name if gpu else cells["gpu"],
        kind="",
        metric=cells["metric"],
        value=float(cells["value"]),
    )
    reason = _refusal(cells, gpu, model)
    if reason or gpu is None or model is None:
        return replace(bare, reason=reason)
    return _with_setup(bare, cells, gpu=gpu, model=model)


def _refusal(cells: Mapping[str, str], gpu: GpuModel | None, model: LlmModel | None) -> str:
    layout, metric = cells["parallelism"], cells["metric"]
    has_batch = bool(cells["global_batch_tokens"]) or "MBS=" in layout
    checks = {
        "work_not_stated": metric == "time_to_train_min",
        "gpu_unknown": gpu is None,
        "gpu_not_modelled": gpu is not None and gpu.bf16_tflops is None,
        "model_unknown": model is None,
        "cpu_offload_not_modelled": "offload" in layout.lower(),
        "layout_not_stated": "not stated" in layout,
        "batch_not_stated": not has_batch
        and (metric == "step_s" or "PP=" in layout)
        and metric != "mfu",
    }
    return next((reason for reason, holds in checks.items() if holds), "")


def _with_setup(bare: Row, cells: Mapping[str, str], *, gpu: GpuModel, model: LlmModel) -> Row:
    layout, text = cells["parallelism"], f"{cells['source']} {cells['parallelism']}"
    stack = stack_of(text)
    precision, is_told = precision_of(cells["precision"], gpu, stack=stack)
    method = method_of(f"{layout} {cells['model']} {cells['precision']}")
    sequence = _sequence(cells)
    split, sequences = _layout(cells, model, stack=stack, method=method, sequence=sequence)
    is_encoder = model.name.startswith("bert")
    wires = _wires(cells, gpu)
    doubts = () if is_told else ("precision not stated",)
    setup = Setup(
        gpu=gpu,
        model=model,
        precision=precision,
        method=method,
        stack=stack,
        sequence_length=int(sequence * (_PADDING_SHARE if is_encoder else 1)),
        split=split,
        wires=wires,
        year=_year(cells),
        is_encoder=is_encoder,
        is_pcie=wires.inside_gb_per_s == _PCIE_GB_PER_S and wires.gpus_per_node != 1,
    )
    tokens = sequences * sequence
    per_step = _per_step(cells, setup, tokens=tokens)
    told = bare.value
    return replace(
        bare,
        setup=setup,
        kind=_kind(setup),
        group=f"{model.name}|{gpu.name}",
        step_s=told if bare.metric == "step_s" else per_step / told,
        per_step=per_step,
        doubts=doubts,
        may_be_fp4="or NVFP4" in cells["precision"] and gpu.fp4_tflops is not None,
    )


def _kind(setup: Setup) -> str:
    if setup.is_encoder:
        return "encoder"
    if setup.model.is_moe:
        return "sparse"
    if setup.stack is TrainingStack.TUNED:
        return "dense tuned" if setup.method is Method.FULL else "adapters tuned"
    return f"dense {setup.stack}"


def _sequence(cells: Mapping[str, str]) -> int:
    if re.fullmatch(r"\d+", cells["seq_len"]):
        return int(cells["seq_len"])
    return _MEGATRON_SEQUENCE if "GPT" in cells["model"] else _USUAL_SEQUENCE


def _layout(
    cells: Mapping[str, str],
    model: LlmModel,
    *,
    stack: TrainingStack,
    method: Method,
    sequence: int,
) -> tuple[Split, float]:
    text, gpus = cells["parallelism"], int(float(cells["gpus"]))
    tensor, pipeline = number_of(text, "TP") or 1, number_of(text, "PP") or 1
    context = number_of(text, "CP") or 1
    data = max(1, gpus // (tensor * pipeline * context))
    sequences = _sequences(cells, sequence=sequence, data=data, pipeline=pipeline)
    micro_batch = number_of(text, "MBS")
    if micro_batch is None:
        accumulated = number_of(text, "GA")
        micro_batch = max(1, round(sequences / (data * accumulated))) if accumulated else 1
    full, selective = _recomputation(text, cells["source"])
    split = Split(
        tensor=tensor,
        pipeline=pipeline,
        data=data,
        zero_stage=_stage(text, gpus=gpus, stack=stack, method=method),
        micro_batch=micro_batch,
        micro_batches=sequences / (data * micro_batch),
        recomputation=full,
        virtual_stages=_virtual(text, model, pipeline=pipeline, stack=stack),
        context=context,
        expert=(number_of(text, "EP") or 1) if model.is_moe else 1,
        selective=selective,
    )
    return split, sequences


def _sequences(cells: Mapping[str, str], *, sequence: int, data: int, pipeline: int) -> float:
    text = cells["parallelism"]
    stated = number_of(text, "GBS")
    if stated:
        return float(stated)
    if cells["global_batch_tokens"]:
        return float(cells["global_batch_tokens"]) / sequence
    micro, accumulated = number_of(text, "MBS") or 1, number_of(text, "GA")
    return float(micro * (accumulated or 8 * pipeline) * data)


def _stage(text: str, *, gpus: int, stack: TrainingStack, method: Method) -> int:
    if gpus == 1:
        return 0
    told = re.search(r"ZeRO-(\d)", text)
    if told:
        return int(told.group(1))
    sharded = number_of(text, "FSDP")
    if "FULL_SHARD" in text or re.search(r"\bFSDP2?\b(?!=)", text) or sharded:
        return FULL_SHARDING
    if "SHARD_GRAD_OP" in text:
        return 2
    if stack is TrainingStack.HF:
        return FULL_SHARDING if method is Method.FULL else 2
    return 1


def _recomputation(text: str, source: str) -> tuple[bool, bool]:
    told = re.search(r"AC=([a-z]+)", text)
    if told:
        return told.group(1) == "full", told.group(1) == "selective"
    is_usual = re.search(r"QwenLM|LLaMA-Factory|torchtune", source) is not None
    return is_usual, "selective AC" in text


def _virtual(text: str, model: LlmModel, *, pipeline: int, stack: TrainingStack) -> int:
    """Read the stages of an interleaved pipeline; tuned stacks interleave down to two layers."""
    told = number_of(text, "VP")
    if told or pipeline == 1:
        return told or 1
    plain = "1F1B" in text and "interleaved" not in text
    if plain or stack is not TrainingStack.TUNED:
        return 1
    return max(1, min(_MOST_VIRTUAL, model.layers // pipeline // 2))


def _wires(cells: Mapping[str, str], gpu: GpuModel) -> Wires:
    gpus = int(float(cells["gpus"]))
    per_node = min(gpus, int(float(cells["gpus_per_node"] or 8)))
    is_pcie = "PCIe" in cells["intra_link"] or not gpu.link_gb_per_s
    is_pcie = is_pcie and "NVL" not in cells["intra_link"].upper()
    inside = _PCIE_GB_PER_S if is_pcie else float(gpu.link_gb_per_s or _PCIE_GB_PER_S)
    is_rack = "NVL72" in cells["intra_link"] or gpu.name in ("GB200", "GB300")
    gbit = node_gbit_per_s(cells["fabric"], gpus_per_node=per_node, gpu=gpu)
    return Wires(
        inside_gb_per_s=inside,
        between_gb_per_s=gbit / 8,
        gpus_per_node=float(per_node),
        domain_gpus=float(_RACK_GPUS if is_rack else per_node),
    )


def _year(cells: Mapping[str, str]) -> float:
    """Date the software: its container or release where told, else the source."""
    source = cells["source"]
    tag = re.search(r"(?:container |@v)(\d\d)\.(\d\d)", source)
    if tag:
        return 2000 + int(tag.group(1)) + (int(tag.group(2)) - 0.5) / 12
    round_ = re.search(r"MLPerf Training v(\d\.\d)", source)
    if round_:
        return _RELEASES.get(round_.group(1), 2024.0)
    dated = re.match(r"(\d{4})(?:-(\d\d))?", cells["source_date"])
    if not dated:
        return 2024.0
    return int(dated.group(1)) + (int(dated.group(2) or 6) - 0.5) / 12


def _per_step(cells: Mapping[str, str], setup: Setup, *, tokens: float) -> float:
    """Give what a step does, per GPU, in the metric's unit: tokens, TFLOP or seconds at peak."""
    gpus = setup.split.gpus
    if cells["metric"] in ("step_s", "tokens_per_s_per_gpu"):
        return tokens / gpus
    flops = tokens / gpus * _told_flops_per_token(cells, setup)
    if cells["metric"] == "mfu":
        return flops / ((setup.gpu.bf16_tflops or 1.0) * 1e12)
    return flops / 1e12


def _told_flops_per_token(cells: Mapping[str, str], setup: Setup) -> float:
    """Count FLOPs as the source does: Megatron's own formulas, else 6N + causal attention."""
    model, length = setup.model, setup.sequence_length
    layers, hidden = model.layers, model.hidden
    if "include recomputation" in cells["parallelism"]:
        rest = 1 + length / (6 * hidden) + model.vocab / (16 * hidden * layers)
        return 96.0 * layers * hidden**2 * rest
    if cells["metric"] == "mfu" or "Megatron-LM" in cells["source"]:
        rest = 1 + length / (6 * hidden) + model.vocab / (12 * hidden * layers)
        return 72.0 * layers * hidden**2 * rest
    params = model.active_params_b * 1e9 - input_embedding_params(model)
    width = model.heads * model.head_dim
    return 6 * params + 6 * attention_layers(model, length) * width * length
