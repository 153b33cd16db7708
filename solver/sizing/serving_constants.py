"""Constants of the serving formulas. Datasheet values come from GpuModel, never from here.

`FITTED` is what `tools/accuracy/fit_serving.py` prints: one global set for all GPUs, models and
engines, least robust relative error over the project's own table of public measurements
(broker/specs/measurements_serving.csv, each row with its source). Nothing is fitted to a row, a GPU
model or a network. What stands below it is physical, or read in start logs.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ServingConstants:
    """What the fit moves. Shares are parts of the datasheet's figure; by engine where a tuple says.

    Order of formats: 16-bit, 8-bit, NVFP4, MXFP4, INT4 (weight-only). Order of memories: HBM, GDDR,
    AMD, other vendors. Order of engines: TensorRT-LLM, vLLM, SGLang, other.
    """

    compute_share: tuple[float, ...]
    """Of the dense peak, by format; NVIDIA Hopper."""
    amd_compute_share: float
    other_compute_share: float
    """Gaudi, Trainium, Inferentia: high, because their stated peaks are low."""
    gddr_compute_factor: float
    blackwell_compute_factor: float
    ampere_compute_factor: float
    bandwidth_share: tuple[float, ...]
    """Of the stated bandwidth, by memory, when reading weights."""
    kv_bandwidth_factor: float
    """Reading a paged cache, against reading weights."""
    expert_bandwidth_factor: float
    expert_compute_factor: float
    expert_half_width: float
    """Inner width of a GPU's part of an expert at which its matrices reach half of their share."""
    expert_spread_factor: float
    """Time of the busiest GPU over the mean, where whole experts are dealt out to GPUs."""
    overlap_loss_share: float
    """Of the shorter of memory and compute time, what adds instead of overlapping."""
    decode_compute_factor: float
    latent_share: float
    """Of the 16-bit peak, what absorbed MLA attention reaches."""
    prompt_attention_share: float
    engine_host_s: tuple[float, ...]
    layer_host_s: tuple[float, ...]
    sequence_host_s: tuple[float, ...]
    expert_layer_host_s: tuple[float, ...]
    """Routing of a sparse layer, beside what each layer takes."""
    prompt_layer_host_s: tuple[float, ...]
    """Launches of a layer in a step that carries prompts, and so cannot replay a graph."""
    fast_link_latency_s: float
    fast_link_share: float
    pcie_latency_s: float
    pcie_share: float
    pcie_growth: float
    """Relative growth of PCIe times per doubling of the group beyond two."""
    exchange_factor: float
    """All-to-all of experts against an all-reduce of the same bytes."""
    stage_loss_share: float
    """Time lost per further pipeline stage: uneven stages and bubbles."""
    host_gain_per_year: float
    """Factor by which engines cut host and launch times in a year."""
    compute_gain_per_year: float
    interference_factor: tuple[float, ...]
    """Of the prompts of others, what a decoding request feels (schedulers differ)."""
    client_s: tuple[float, ...]
    """Time to the first token outside the engine's steps, in closed-loop benchmarks."""
    queue_share: tuple[float, ...]
    """Prompts ahead of one's own, per other client of a closed loop."""
    queue_load_factor: float
    pairing_share: tuple[float, ...]
    """Prompts that share the token budget of one's own step, of those that could."""


FITTED: Final = ServingConstants(
    compute_share=(0.676, 0.689, 0.625, 0.372, 0.394),
    amd_compute_share=0.349,
    other_compute_share=0.838,
    gddr_compute_factor=0.988,
    blackwell_compute_factor=0.688,
    ampere_compute_factor=1.19,
    bandwidth_share=(0.887, 0.97, 0.584, 0.87),
    kv_bandwidth_factor=0.784,
    expert_bandwidth_factor=0.982,
    expert_compute_factor=0.796,
    expert_half_width=198.7,
    expert_spread_factor=2.14,
    overlap_loss_share=0.925,
    decode_compute_factor=0.744,
    latent_share=0.396,
    prompt_attention_share=0.512,
    engine_host_s=(0.000493, 0.000509, 0.000805, 0.000998),
    layer_host_s=(3.35e-05, 5.33e-05, 4.03e-05, 4.05e-05),
    sequence_host_s=(6.04e-06, 9.22e-06, 9.3e-06, 9.22e-06),
    expert_layer_host_s=(3e-05, 2.94e-05, 5.65e-05, 2.94e-05),
    prompt_layer_host_s=(2.84e-05, 5.04e-05, 5.01e-05, 5.04e-05),
    fast_link_latency_s=1.83e-05,
    fast_link_share=0.543,
    pcie_latency_s=6.07e-05,
    pcie_share=0.9,
    pcie_growth=0.387,
    exchange_factor=1.02,
    stage_loss_share=0.0498,
    host_gain_per_year=1.43,
    compute_gain_per_year=1.0,
    interference_factor=(1.05, 0.938, 0.513, 0.938),
    client_s=(0.106, 0.0184, 0.153, 0.0184),
    queue_share=(0.0884, 0.069, 0.248, 0.069),
    queue_load_factor=0.316,
    pairing_share=(0.0272, 0.034, 0.272, 0.034),
)
FITTED_ON: Final = "2026-11-28"

LARGEST_SHARE: Final = 0.95
"""No kernel reaches more of a dense peak, however the years multiply."""
REFERENCE_YEAR: Final = 2025.5
"""Releases are counted from here; the gains by year are taken between the two years below."""
FIRST_YEAR: Final = 2024.0
LAST_YEAR: Final = 2026.5
ALL_REDUCES_PER_LAYER: Final = 2
ALL_REDUCE_BYTES: Final = 4.0
"""Bytes per value: 2 for 16-bit activations, times 2 as a ring reduces and then gathers."""
EXCHANGE_BYTES: Final = 2.0
EXCHANGE_PEERS: Final = 4
"""A token's activations go to so many other GPUs at most."""
SINGLE_CLIENT_SHARE: Final = 0.2
"""A single client sees a fifth of the time outside the engine that many clients see."""
PCIE_4_GB_PER_S: Final = 31.5
PCIE_5_GB_PER_S: Final = 63.0
"""One direction of 16 lanes."""
STATE_BYTES_PER_HIDDEN: Final = 1024.0
"""Recurrent state of one linear-attention layer: 256 values of 4 bytes per hidden unit (from the
published shapes of Qwen3-Next: 32 heads × 128 × 128 at hidden 2048)."""
INDEX_BYTES: Final = 132.0
"""Of a token in a layer of sparse latent attention: 128 values of 8 bits and a 32-bit scale, as in
vLLM, SGLang and TensorRT-LLM (DeepSeek-V3.2, GLM-5)."""
MLA_KEY_VALUE_RANKS: Final = 2
"""Absorbed MLA attention works on the latent twice: for scores and for values."""

# --- Engine and memory ---

MEMORY_SHARE: Final = 0.92
"""Of the device, what the engine may use; vLLM's own default is 0.90 to 0.92 by version."""
STARTS_SHARE: Final = 0.97
"""Of the device, what no engine can exceed: beyond it a configuration is refused as impossible."""
STARTS_GIB: Final = 1.86
"""2 GB: the least that an engine keeps beside weights and the cache of one sequence."""
SAMPLER_BYTES_PER_LOGIT: Final = 9.65 * 4
"""Per sequence and vocabulary entry, from vLLM 0.11 start logs, within 0.13 GiB on eight rows
(llm-d-incubation/llm-d-planner docs/empirical-vllm-memory-results.md)."""
CONTEXT_GIB: Final = 0.13
CONTEXT_GROUP_GIB: Final = 0.55
"""Driver and communication buffers on one GPU, and on each GPU of a group (same start logs)."""
ACTIVATION_FLOOR_GIB: Final = 2.0
"""Least working memory of a prompt chunk; older vLLM logs show 2.0 to 3.4 GiB."""
BENCHMARK_MEMORY_SHARE: Final = (0.94, 0.92, 0.92, 0.92)
BENCHMARK_RESERVE_GIB: Final = (1.0, 2.0, 2.0, 2.0)
"""What benchmarks leave to the engine, by engine: they run closer to the edge than services."""
MAX_SEQUENCES: Final = 1024
"""vLLM's default limit of sequences on a large GPU."""
BENCHMARK_MAX_SEQUENCES: Final = (2048.0, 1024.0, 1024.0, 1024.0)
CHUNK_TOKENS: Final = 8192
"""Tokens that one step may carry, vLLM's max_num_batched_tokens on large GPUs."""
ARRIVAL_DISPERSION: Final = 1.5
"""Variance over mean of arrivals in 5 s windows: 1.4 in the conversation part of the Azure LLM
inference trace 2023 (Poisson is 1); its code-completion part is far burstier, 6 after thinning."""
MXFP4_PADDING_TOKENS: Final = 256
"""MXFP4 kernels pad the inner width of experts to this multiple (gpt-oss: 2880 to 3072)."""
