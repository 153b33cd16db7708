"""The table of peak training memory: each row a task and a layout that the sizing can estimate."""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from measured_models import Models, find_model, measured_models
from memory_recipes import (
    adapters_by_recipe,
    context_bytes,
    extra_layer_bytes,
    sized_by_recipe,
    state_bytes_by_recipe,
    zero_stage_by_recipe,
)
from training_text import method_of, number_of, stack_of

from broker.domain.gpu import Precision
from broker.domain.llm import LlmModel
from broker.domain.workload import Method, TrainingStack
from broker.specs.load import Specs
from solver.sizing.training_facts import FULL_SHARDING, Split
from solver.sizing.training_memory import Task

OWN_TABLE = "measurements_memory_training.csv"
_GIB = 2.0**30
_GIGA = 1e9
_SAME_SIZE = 0.1
_PLAIN_STATE_BYTES = 8.0
"""Weights, gradients and two moments in 16 bits."""
_FILLED = 4
"""Micro-batches per pipeline stage where the batch is not told: pipelines are kept full."""
_EMPTY_SEQUENCE = 512
_PLAIN = re.compile(r"BF16-true|torchtune|pure_bf16", re.IGNORECASE)
_CONSOLIDATED = re.compile(r"litgpt")
_COMPILED = re.compile(r"torchtitan|pytorch/ao")
_ROUGH = re.compile(r"nvidia-smi|whole numbers|Unsloth|\(recipe\)")
_VENDOR = re.compile(r"Unsloth Requirements|hiyouga/LLaMA-Factory README|estimate by the project")


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One peak, or one verdict: `peak` in bytes on each GPU, None where only the verdict is told.

    `unit_bytes` is one unit of the table on each GPU: some sources sum over GPUs. `extra_bytes` is
    what the tool that was measured adds by itself, per GPU: litgpt gathers the whole model when it
    saves from FSDP, nvidia-smi sees the driver's context. `least_bytes` is a peak while loading.
    `is_rough` is a reading of nvidia-smi or of whole gigabytes, or a tool that offloads by itself.
    """

    id: str
    gpu: str
    kind: str
    fits: bool | None
    reason: str = ""
    group: str = ""
    peak: float | None = None
    unit_bytes: float = 1.0
    told: float = 0.0
    capacity: float | None = None
    task: Task | None = None
    split: Split | None = None
    extra_bytes: float = 0.0
    least_bytes: float = 0.0
    is_vendor: bool = False
    is_rough: bool = False


def own_memory_rows(specs: Specs) -> list[MemoryRow]:
    """Read the project's own table."""
    text = files("broker.specs").joinpath(OWN_TABLE).read_text(encoding="utf-8")
    models = measured_models(specs)
    return [memory_row(one, models) for one in csv.DictReader(text.splitlines())]


def read_memory_rows(path: Path, specs: Specs) -> Iterator[MemoryRow]:
    """Read a file with the columns of the project's table."""
    models = measured_models(specs)
    with path.open(encoding="utf-8", newline="") as lines:
        for one in csv.DictReader(lines):
            yield memory_row(one, models)


def memory_row(cells: Mapping[str, str], models: Models) -> MemoryRow:
    """Read one row, or say why it cannot be estimated."""
    model = find_model(cells["model"], cells["params_b"], models)
    gpus = int(float(cells["gpus"])) if cells["gpus"] else 1
    unit = _GIB if "GiB" in cells["unit"] else _GIGA
    told = float(cells["peak_memory_gb"]) if cells["peak_memory_gb"] else 0.0
    total = gpus if "QwenLM" in cells["source"] else 1
    device = float(cells["gpu_memory_gb"]) * _GIB if cells["gpu_memory_gb"] else None
    bare = MemoryRow(
        id=cells["id"],
        gpu=cells["gpu"],
        kind="",
        fits={"fits": True, "OOM": False}.get(cells["fits"]),
        told=told,
        unit_bytes=unit / total,
        capacity=device,
        peak=told * unit / total if told else None,
    )
    reason = _refusal(cells, model)
    if reason or model is None:
        return replace(bare, reason=reason)
    sized = sized_by_recipe(_sized(model, cells), cells["source"])
    return _with_task(bare, cells, sized, gpus=gpus)


def _refusal(cells: Mapping[str, str], model: LlmModel | None) -> str:
    checks = {
        "model_unknown": model is None,
        "tokens_not_stated": "unpacked" in cells["notes"] or _is_untold(cells),
        "not_one_gpu": "whole job" in cells["unit"],
    }
    return next((reason for reason, holds in checks.items() if holds), "")


def _is_untold(cells: Mapping[str, str]) -> bool:
    """Say whether a measurement tells no sequence length; a vendor's minimum means a short one."""
    untold = cells["seq_len"].startswith(("n/s", "dataset"))
    is_vendor = _VENDOR.search(cells["source"] + cells["notes"]) is not None
    is_verdict = cells["fits"] == "OOM"
    return untold and not is_vendor and not is_verdict


def _sized(model: LlmModel, cells: Mapping[str, str]) -> LlmModel:
    """Keep a published shape, with the size that the row tells where they differ."""
    told = float(cells["params_b"]) if cells["params_b"] else model.params_b
    if abs(model.params_b / told - 1) < _SAME_SIZE:
        return model
    return model.model_copy(update={"params_b": told})


def _with_task(
    bare: MemoryRow, cells: Mapping[str, str], model: LlmModel, *, gpus: int
) -> MemoryRow:
    source, sharding = cells["source"], cells["sharding"]
    task = _task(cells, model)
    is_saved_whole = _CONSOLIDATED.search(source) is not None and "FSDP" in sharding
    is_loaded_whole = "config_hub" in source and task.method is Method.QLORA
    weights = 2.0 * model.params_b * _GIGA
    rough = cells["unit"] + cells["method"] + cells["optimizer"]
    return replace(
        bare,
        kind=str(task.method),
        group=f"{source[:30]}|{model.name}|{cells['gpu']}",
        task=task,
        split=_split(cells, task, gpus=gpus),
        extra_bytes=(weights if is_saved_whole else 0.0) + context_bytes(cells),
        least_bytes=weights if is_loaded_whole else 0.0,
        is_vendor=_VENDOR.search(source + cells["notes"]) is not None,
        is_rough=_ROUGH.search(rough) is not None,
    )


def _task(cells: Mapping[str, str], model: LlmModel) -> Task:
    source, sharding = cells["source"], cells["sharding"]
    words = " ".join((cells["method"], cells["precision"], cells["optimizer"], cells["notes"]))
    is_tuned = "Primus" in source
    method = method_of(f"{cells['method']} {cells['precision']}")
    return Task(
        model=model,
        method=method,
        precision=_precision(cells["precision"]),
        stack=TrainingStack.TUNED if is_tuned else stack_of(f"{source} {sharding}"),
        sequence_length=int(cells["seq_len"]) if cells["seq_len"].isdigit() else _EMPTY_SEQUENCE,
        state_bytes=state_bytes_by_recipe(cells) or _state_bytes(words, source),
        adapter_params=adapters_by_recipe(model, method, cells),
        extra_layer_bytes=extra_layer_bytes(model, method, cells),
        is_offloaded="CPU" in sharding or "offload" in cells["method"],
        is_eager=re.search("Korthikanti|bigscience", source) is not None,
        is_compiled=_COMPILED.search(source) is not None or _is_chunked(cells),
        has_chunked_loss=_is_chunked(cells),
        trains_embeddings="(emb)" in cells["method"],
        splits_sequence="tensor parallel only" not in cells["activation_checkpointing"],
    )


def _precision(text: str) -> Precision:
    if "FP8" in text:
        return Precision.FP8
    return Precision.NVFP4 if "NVFP4" in text else Precision.BF16


def _state_bytes(words: str, source: str) -> float | None:
    """Read bytes per trained parameter off the optimizer; None for the usual of the stack."""
    if not _PLAIN.search(f"{words} {source}") and "AdamW bf16" not in words:
        return None
    eight_bit = 2.0 if "8-bit" in words else 0.0
    in_backward = 2.0 if re.search(r"\+(optimizer in|activation off|8-bit)", words) else 0.0
    return _PLAIN_STATE_BYTES - eight_bit - in_backward


def _is_chunked(cells: Mapping[str, str]) -> bool:
    if re.search(r"liger|unsloth", f"{cells['sharding']} {cells['method']}", re.IGNORECASE):
        return True
    steps = r"\+(chunked|activation|optimizer|8-bit)|^q?lora$"
    return (
        "torchtune" in cells["source"]
        and re.search(steps, cells["notes"], re.IGNORECASE) is not None
    )


def _split(cells: Mapping[str, str], task: Task, *, gpus: int) -> Split:
    text = cells["sharding"]
    tensor, pipeline = number_of(text, "TP") or 1, number_of(text, "PP") or 1
    context = number_of(text, "CP") or 1
    batch = re.match(r"(\d+)", cells["micro_batch"])
    full, selective = _recomputation(cells, task)
    return Split(
        tensor=tensor,
        pipeline=pipeline,
        data=max(1, gpus // (tensor * pipeline * context)),
        zero_stage=_stage(cells),
        micro_batch=int(batch.group(1)) if batch else 1,
        micro_batches=_FILLED * pipeline,
        recomputation=full,
        virtual_stages=number_of(text, "VP") or 1,
        context=context,
        expert=(number_of(text, "EP") or 1) if task.model.is_moe else 1,
        selective=selective,
    )


def _stage(cells: Mapping[str, str]) -> int:
    text = f"{cells['sharding']} {cells['method']}"
    told = zero_stage_by_recipe(cells)
    if told is not None:
        return told
    if "distributed optimizer" in text or "ZeRO-1" in text or "Primus" in cells["source"]:
        return 1
    if "no ZeRO" in text:
        return 0
    if re.search(r"FSDP|ZeRO-3|Zero3", text):
        return FULL_SHARDING
    return 2 if "DeepSpeed" in text or "Deepspeed" in text else 0


def _recomputation(cells: Mapping[str, str], task: Task) -> tuple[bool, bool]:
    text = cells["activation_checkpointing"].lower()
    untold = text.startswith("n/s")
    if text.startswith(("full", "on", "unsloth")) or "turns gradient checkpointing on" in text:
        return True, False
    if untold and (task.stack is TrainingStack.HF or "FSDP" in cells["sharding"]):
        is_titan = "torchtitan" in cells["source"]
        return not is_titan, is_titan
    return False, text.startswith("selective")
