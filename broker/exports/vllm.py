"""How a replica of the plan is served: the arguments of `vllm serve` that sizing counted with."""

import math
from dataclasses import dataclass

from broker.domain.candidate import ServingCandidate
from broker.domain.engine import KvPrecision, ServingEngine
from broker.domain.gpu import Precision
from broker.domain.llm import LlmModel
from broker.domain.workload import Service
from broker.exports.lines import ServingShare
from broker.specs.load import Specs

VERSION = "0.11.0"
CUDA_IMAGE = f"vllm/vllm-openai:v{VERSION}"
ROCM_IMAGE = "rocm/vllm:latest"
PORT = 8000

_MEMORY_SHARE = 0.92
"""Of a GPU's memory: what sizing lets the engine use."""

_MOST_MEMORY_SHARE = 0.97
"""The same of a replica that is tight: in less it would not start."""

_CHUNK_TOKENS = 8192
"""Of prompts in one step: what sizing counts with."""

_ROUNDING = 1e-6
_LENGTH_STEP = 1024
_IMAGE_GB = 100
_DISK_STEP_GB = 10
_BYTES_16_BIT = 2
_DOWNLOAD_FACTOR = 1.2
"""Repositories hold tokenizers and, at times, a second form of the weights."""

_BY_PRECISION = {
    Precision.BF16: ("--dtype", "bfloat16"),
    Precision.FP16: ("--dtype", "half"),
    Precision.FP8: ("--quantization", "fp8"),
}
"""What vLLM makes of weights in 16 bits as it loads them; other formats need weights in them."""


CACHE_PORT = 5600
"""Where replicas of pools agree on the caches that they send."""

_JOINED = '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'
"""What sends caches between pools; the router says which replica does what."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to serve and how: `model_id` is empty where only the user can name the weights.

    `note` says so then, `engine_note` where the plan counts with another engine, and `joined_note`
    where what runs beside each other is not as free of each other as the plan has it.
    """

    model_id: str
    served_name: str
    arguments: tuple[str, ...]
    note: str
    engine_note: str
    joined_note: str

    @property
    def notes(self) -> tuple[str, ...]:
        """List what a person has to know."""
        return tuple(filter(None, (self.note, self.engine_note, self.joined_note)))


def recipe(
    candidate: ServingCandidate, service: Service, model: LlmModel, *, copies: int
) -> Recipe:
    """Say how to serve `copies` replicas of a candidate as one process group on one node."""
    layout = candidate.layout
    longest = max(size.input_tokens + size.output_tokens for size in service.sizes)
    length = math.ceil(longest / _LENGTH_STEP) * _LENGTH_STEP
    sequences = max((rate.concurrency for rate in candidate.rates), default=1.0)
    sizes = {
        "--tensor-parallel-size": layout.tensor,
        "--pipeline-parallel-size": layout.pipeline,
        "--data-parallel-size": copies * layout.data,
    }
    arguments = [
        *_BY_PRECISION.get(candidate.precision, ()),
        *(word for name, size in sizes.items() if size > 1 for word in (name, str(size))),
        *(("--enable-expert-parallel",) if layout.expert > 1 else ()),
        *(("--kv-cache-dtype", "fp8") if service.kv_precision is KvPrecision.FP8 else ()),
        *_prompts(service),
        *("--max-model-len", str(min(length, model.max_context_tokens or length))),
        *("--max-num-seqs", str(max(1, math.ceil(sequences)))),
        *("--gpu-memory-utilization", str(_memory_share(candidate))),
        *(("--kv-transfer-config", _JOINED) if candidate.pool is not None else ()),
    ]
    model_id, note = _weights(candidate.precision, candidate.model or service.model, model)
    return Recipe(
        model_id=model_id,
        served_name=model_id or model.hf_id,
        arguments=tuple(arguments),
        note=note,
        engine_note=_engine_note(service.engine),
        joined_note=_joined_note(model, copies),
    )


def _memory_share(candidate: ServingCandidate) -> float:
    memory = candidate.memory
    is_tight = memory.used_gib > _MEMORY_SHARE * memory.available_gib * (1 + _ROUNDING)
    return _MOST_MEMORY_SHARE if is_tight else _MEMORY_SHARE


def _prompts(service: Service) -> tuple[str, ...]:
    """Say how prompts are cut: by itself vLLM takes a quarter of the tokens on smaller GPUs."""
    if not service.chunked_prefill:
        return ("--no-enable-chunked-prefill",)
    return ("--max-num-batched-tokens", str(_CHUNK_TOKENS))


def answering(candidate: ServingCandidate, service: Service, specs: Specs) -> LlmModel:
    """Find the network that answers: the service's own, or the alternative that was chosen."""
    return specs.llm(candidate.model or service.model)


def requests_per_s_target(share: ServingShare, service: Service) -> float:
    """Give the requests/s of one replica at which another is due.

    It is what the plan sends to each at the peak, spares counted in, and never above what one
    sustains of that mix of sizes: 1 / Σ share_k / rate_k.
    """
    busiest = max(share.assignment.steps, key=lambda step: sum(step.requests_per_s))
    mix = busiest.requests_per_s
    if not any(mix):
        mix = tuple(size.share for size in service.sizes)
    rates = [one.requests_per_s for one in share.assignment.candidate.rates]
    load = [(part, rate) for part, rate in zip(mix, rates, strict=True) if part and rate]
    sustained = sum(part for part, _ in load) / sum(part / rate for part, rate in load)
    planned = sum(busiest.requests_per_s) / busiest.replicas
    return float(f"{min(planned, sustained) if planned else sustained:.4g}")


def disk_gb(model: LlmModel) -> int:
    """Give the GB of disk that serving needs: image, working files, and the weights in 16 bits.

    Processes of one node share the files.
    """
    weights_gb = _BYTES_16_BIT * model.params_b * _DOWNLOAD_FACTOR
    return math.ceil((_IMAGE_GB + weights_gb) / _DISK_STEP_GB) * _DISK_STEP_GB


def _engine_note(engine: ServingEngine) -> str:
    if engine is ServingEngine.VLLM:
        return ""
    return (
        f"The plan counts with the rates of {engine.value}: this serves with vLLM, which may need "
        f"more replicas; put {engine.value} in its place."
    )


def _joined_note(model: LlmModel, copies: int) -> str:
    """Warn of data-parallel ranks of sparse models: their experts form one group, in step."""
    if copies == 1 or not model.is_moe:
        return ""
    return (
        f"vLLM joins the experts of the {copies} replicas on a node into one group that works in "
        "step, which the plan does not count with: measure its rate, or start each replica by "
        "itself, without --data-parallel-size."
    )


def _weights(precision: Precision, named: str, model: LlmModel) -> tuple[str, str]:
    """Give the repository of the weights; where it is the user's to name, why."""
    if precision not in _BY_PRECISION:
        return "", (
            f"The plan counts with weights in {precision}: name a checkpoint of {model.hf_id} in "
            "them in MODEL_ID; vLLM reads the method from it."
        )
    if "/" in named:
        return named, ""
    if named.lower() != model.name:
        return "", f"The plan is for {named}: name its weights in MODEL_ID."
    return model.hf_id, ""
