"""How published training tables spell GPUs, links, precisions and layouts."""

import re

from broker.domain.gpu import GpuModel, Precision
from broker.domain.workload import Method, TrainingStack
from broker.specs.load import Specs

_GPUS = (
    (r"GB300", "GB300"),
    (r"GB200", "GB200"),
    (r"Blackwell|B200", "B200"),
    (r"B300", "B300"),
    (r"GH200", "GH200-96"),
    (r"H200-NVL", "H200-NVL"),
    (r"H200", "H200-SXM"),
    (r"H100-PCIe|H100 PCIe", "H100-PCIe"),
    (r"H100-NVL", "H100-NVL"),
    (r"H100", "H100-SXM"),
    (r"H800", "H800-SXM"),
    (r"H20\b", "H20"),
    (r"A800", "A800-80-SXM"),
    (r"A100-PCIe-40", "A100-40-PCIe"),
    (r"A100-PCIe|A100 PCIe", "A100-80-PCIe"),
    (r"A100.*40", "A100-40-SXM"),
    (r"A100", "A100-80-SXM"),
    (r"V100-PCIe.*16", "V100-PCIe-16"),
    (r"V100-PCIe", "V100-PCIe-32"),
    (r"V100.*32", "V100-SXM-32"),
    (r"V100", "V100-SXM-16"),
    (r"MI300X", "MI300X"),
    (r"MI325X", "MI325X"),
    (r"MI350", "MI350X"),
    (r"MI355", "MI355X"),
    (r"MI250X", "MI250X"),
    (r"MI250", "MI250"),
    (r"MI210", "MI210"),
    (r"L40S", "L40S"),
    (r"L40", "L40"),
    (r"L4\b", "L4"),
    (r"A10G", "A10G"),
    (r"A10\b", "A10"),
    (r"A30", "A30"),
    (r"A40\b", "A40"),
    (r"A5000", "RTXA5000"),
    (r"A6000", "RTXA6000"),
    (r"6000.?Ada", "RTX6000Ada"),
    (r"5090", "RTX5090"),
    (r"4090", "RTX4090"),
    (r"3090", "RTX3090"),
    (r"7900", "RX7900XTX"),
    (r"T4\b", "T4"),
    (r"Gaudi ?2", "Gaudi2"),
    (r"Gaudi ?3", "Gaudi3"),
    (r"trillium", "TPUv6e"),
    (r"TPU-v5e", "TPUv5e"),
    (r"TPU-v5p", "TPUv5p"),
)
_HF = re.compile(
    r"QwenLM|deepspeed|LLaMA-Factory|huggingface|peft|stas00|unsloth|Dettmers", re.IGNORECASE
)
_PLAIN = re.compile(
    r"llm-foundry|torchtitan|torchtune|fms-fsdp|pytorch/ao|Automodel|InternEvo|IBM FSDP|paxml|"
    r"litgpt|awsome-distributed|FSDP selective"
)
_NIC_GBIT_PER_S = {"Volta": 50, "Ampere": 200, "Hopper": 400, "Blackwell": 400, "CDNA3": 400}
_NEW_NIC_GBIT_PER_S = 800
_OLD_NIC_GBIT_PER_S = 100
_NEW = ("Blackwell Ultra",)
_NDR_GBIT_PER_S = 400
_WATT_POWER = 1 / 3
"""Of a power limit, what the clock keeps: power grows with the third power of it."""


def find_gpu(spelling: str, specs: Specs) -> GpuModel | None:
    """Find a GPU model; a power limit in the spelling lowers its peaks."""
    for pattern, name in _GPUS:
        if re.search(pattern, spelling):
            return _limited(specs.gpus[name], spelling)
    return None


def precision_of(text: str, gpu: GpuModel, *, stack: TrainingStack) -> tuple[Precision, bool]:
    """Read the number format; where it is not told, the usual one, and False."""
    upper = text.upper()
    both = "OR NVFP4" in upper
    if "NVFP4" in upper and not both:
        return Precision.NVFP4, True
    if "FP8" in upper and not both:
        return (Precision.FP8 if gpu.fp8_tflops else Precision.BF16), True
    if "FP16" in upper and "BF16" not in upper:
        return Precision.FP16, True
    if "BF16" in upper or "16" in upper:
        return Precision.BF16, True
    eight = gpu.fp8_tflops is not None and stack is TrainingStack.TUNED
    return (Precision.FP8 if eight else Precision.BF16), False


def stack_of(text: str) -> TrainingStack:
    """Tell the stack from the names of projects and frameworks."""
    if _HF.search(text):
        return TrainingStack.HF
    return TrainingStack.TORCH if _PLAIN.search(text) else TrainingStack.TUNED


def method_of(text: str) -> Method:
    """Tell how a model is trained from a layout or a method in words."""
    lowered = text.lower()
    if re.search(r"qlora|q-lora|nf4", lowered):
        return Method.QLORA
    return Method.LORA if re.search(r"lora|adapter", lowered) else Method.FULL


def number_of(text: str, key: str) -> int | None:
    """Read `KEY=8` out of a layout in words."""
    found = re.search(rf"(?<![A-Za-z]){key}=(\d+)", text)
    return int(found.group(1)) if found else None


def node_gbit_per_s(text: str, *, gpus_per_node: int, gpu: GpuModel) -> float:
    """Read the NICs of a node; where they are not told, those usual for the GPU."""
    found = [gbit for part in re.split(r"[,;+]", text) if (gbit := _compute_gbit(part))]
    if found:
        return max(found)
    node = re.search(r"(\d+)\s*Gb/s per node", text)
    if node:
        return float(node.group(1))
    each = re.search(r"(\d+)\s*Gb/s(?: InfiniBand)? per GPU", text)
    if each:
        return float(each.group(1)) * gpus_per_node
    usual = _NIC_GBIT_PER_S.get(gpu.architecture, _OLD_NIC_GBIT_PER_S)
    usual = _NEW_NIC_GBIT_PER_S if gpu.architecture in _NEW else usual
    usual = _NIC_GBIT_PER_S["CDNA3"] if gpu.architecture == "CDNA4" else usual
    return float(usual * gpus_per_node)


def _compute_gbit(part: str) -> float | None:
    if re.search("Storage|Management", part) and "Compute" not in part:
        return None
    stated = re.search(r"(\d+)\s*[xX]\s*(?:.*?)(\d+)\s*(?:Gbps|Gb\s*/?\s*[sS])", part)
    if stated:
        return float(stated.group(1)) * float(stated.group(2))
    named = re.search(r"(\d+)\s*[xX].*NDR", part)
    return float(named.group(1)) * _NDR_GBIT_PER_S if named else None


def _limited(gpu: GpuModel, spelling: str) -> GpuModel:
    limit = re.search(r"\((\d+)W\)", spelling)
    if not limit or not gpu.tdp_w or not gpu.bf16_tflops:
        return gpu
    share = min(1.0, (float(limit.group(1)) / gpu.tdp_w)) ** _WATT_POWER
    peaks = {
        name: value * share
        for name in ("bf16_tflops", "fp8_tflops", "fp4_tflops")
        if (value := getattr(gpu, name)) is not None
    }
    return gpu.model_copy(update=peaks)
