"""Constants of the sizing formulas: fitted or physical. Datasheet values come from GpuModel.

"Serving fit": least relative error over some 1,600 published serving measurements (NVIDIA
TensorRT-LLM perf-overview 0.8 to 1.1, ai-dynamo/aiconfigurator silicon sample,
argonne-lcf/LLM-Inference-Bench, SageMaker and Neuron samples, ROCm and vLLM pages).
"Training fit": the same over 900 dense, LoRA and fine-tuning rows (MLPerf Training 3.0 to 5.1 logs,
NVIDIA dgxc-benchmarking and Megatron-Bridge, mosaicml/llm-foundry, QwenLM/Qwen, InternLM/InternEvo,
pytorch/torchtitan, MegaScale).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from broker.domain.gpu import Precision

GIB: Final = 2.0**30
SECONDS_PER_HOUR: Final = 3600.0

# --- Serving: shares of the datasheet that kernels reach (serving fit) ---

HBM_COMPUTE_SHARE: Final = 0.74
HBM_BANDWIDTH_SHARE: Final = 0.86
GDDR_COMPUTE_SHARE: Final = 0.65
GDDR_BANDWIDTH_SHARE: Final = 0.88
AMD_COMPUTE_SHARE: Final = 0.25
"""MI300X, mostly software of 2024 and 2025; MLPerf submissions reach about twice as much."""
AMD_BANDWIDTH_SHARE: Final = 0.55
OTHER_COMPUTE_SHARE: Final = 0.95
"""Gaudi, Trainium, Inferentia: high, because their stated peaks are low."""
OTHER_BANDWIDTH_SHARE: Final = 0.56
DECODE_COMPUTE_SHARE: Final = 0.95
"""Compute of decode steps against that of prompts."""
MOE_COMPUTE_SHARE: Final = 0.75
"""Compute of sparse models against dense ones: small matrices, uneven experts."""
FP4_COMPUTE_SHARE: Final = 0.55
"""Share of the FP4 peak against that of other formats; GEMM tables of B200 agree (0.44 of peak)."""

# --- Serving: time outside the kernels (serving fit) ---

VLLM_STEP_S: Final = 0.8e-3
"""Host time of vLLM for each step."""
LAYER_HOST_S: Final = 40e-6
SEQUENCE_HOST_S: Final = 10.6e-6
NVLINK_LATENCY_S: Final = 12.5e-6
"""Fixed time of one all-reduce over NVLink."""
NVLINK_BANDWIDTH_SHARE: Final = 0.51
PCIE_LATENCY_S: Final = 105e-6
PCIE_GB_PER_S: Final = 17.0
"""What an all-reduce over PCIe reaches, hosts with and without peer-to-peer alike."""
ALL_REDUCES_PER_LAYER: Final = 2
ALL_REDUCE_BYTES: Final = 4.0
"""Bytes per value: 2 for 16-bit activations, times 2 as a ring reduces and then gathers."""
STATE_BYTES_PER_HIDDEN: Final = 1024.0
"""Recurrent state of one linear-attention layer: 256 values of 4 bytes per hidden unit (from the
published shapes of Qwen3-Next: 32 heads × 128 × 128 at hidden 2048)."""

# --- Serving: engine and memory ---

MEMORY_SHARE: Final = 0.92
"""Of the device, what the engine may use; vLLM's own default is 0.90 to 0.92 by version."""
SAMPLER_BYTES_PER_LOGIT: Final = 9.65 * 4
"""Per sequence and vocabulary entry, from vLLM 0.11 start logs, within 0.13 GiB on eight rows
(llm-d-incubation/llm-d-planner docs/empirical-vllm-memory-results.md)."""
CONTEXT_GIB: Final = 0.13
CONTEXT_GROUP_GIB: Final = 0.55
"""Driver and communication buffers on one GPU, and on each GPU of a group (same start logs)."""
ACTIVATION_FLOOR_GIB: Final = 2.0
"""Least working memory of a prompt chunk; older vLLM logs show 2.0 to 3.4 GiB."""
MAX_SEQUENCES: Final = 1024
"""vLLM's default limit of sequences on a large GPU."""
CHUNK_TOKENS: Final = 8192
"""Tokens that one step may carry, vLLM's max_num_batched_tokens on large GPUs."""
ARRIVAL_DISPERSION: Final = 1.5
"""Variance over mean of arrivals in 5 s windows: 1.4 in the conversation part of the Azure LLM
inference trace 2023 (Poisson is 1); its code-completion part is far burstier, 6 after thinning."""
MLA_KEY_VALUE_RANKS: Final = 2
"""Absorbed MLA attention works on the latent twice: for scores and for values."""

WEIGHT_BITS: Final[Mapping[Precision, float]] = MappingProxyType(
    {
        Precision.BF16: 16.0,
        Precision.FP16: 16.0,
        Precision.FP8: 8.0,
        Precision.INT8: 8.0,
        Precision.INT4: 4.25,  # groups of 64 with a 16-bit scale
        Precision.NVFP4: 4.5,  # groups of 16 with an 8-bit scale
        Precision.MXFP4: 4.25,  # groups of 32 with an 8-bit scale
    }
)
MXFP4_PADDING_TOKENS: Final = 256
"""MXFP4 kernels pad the inner width of experts to this multiple (gpt-oss: 2880 to 3072)."""

# --- Serving: error bands (factors measured/predicted on the serving fit, p5 to p95) ---

RATE_BAND_DENSE: Final = (0.70, 1.30)
RATE_BAND_MOE: Final = (0.70, 1.40)
RATE_BAND_ESTIMATED: Final = (0.55, 2.0)
TPOT_FACTOR_DENSE: Final = 1.25
"""95 % of the dense rows are below 1.22 times the estimate."""
TPOT_FACTOR_MOE: Final = 1.5
"""90 % of the sparse rows are below 1.51 times the estimate."""
TPOT_FACTOR_ESTIMATED: Final = 1.65
TTFT_FACTOR: Final = 1.8
"""Up to 32 clients 90 % of 216 vLLM rows are below 1.75 times such a formula."""
TTFT_FACTOR_ESTIMATED: Final = 2.2

# --- Training: step time (training fit) ---

SMALL_BATCH_TOKENS: Final = 750.0
"""Micro-batches lose efficiency as 1 + 750/tokens."""
ATTENTION_SHARE: Final = 0.357
"""Attention kernels against linear layers, always in 16 bits."""
MEMORY_PASSES: Final = 158.0
"""16-bit reads and writes of a hidden value per layer: norms, activations, rotary, residuals."""
RECOMPUTED_PASS: Final = 4.0 / 3.0
"""Full recomputation repeats one of three passes' work outside the matrices."""
TENSOR_LOSS: Final = 1.82
TENSOR_COLLECTIVES: Final = 8.0
"""Four collectives a layer, forward and backward."""
TENSOR_RECOMPUTED: Final = 1.5
DATA_LOSS: Final = 1.35
DATA_LOSS_PER_DOUBLING: Final = 0.052
"""Growth of the data-parallel time per doubling of the nodes."""
OVERLAP_SHARE: Final = 0.74
"""Of the compute time, what can hide data-parallel traffic."""
EXPOSED_SHARE: Final = 0.05
OPTIMIZER_STATE_BYTES: Final = 30.0
OPTIMIZER_WEIGHT_BYTES: Final = 8.0
FLOOR_POWER: Final = 4
MOE_STEP_FACTOR: Final = 2.1
"""Measured over predicted step of sparse models, median; 0.85 to 6.5 by model and release."""
TCP_SHARE: Final = 0.7
"""Of plain Ethernet's bandwidth, what collectives over TCP reach; with it the step formula gives
the 26 to 28 times (7B) and 38 to 45 times (72B) of jingchaozhang.github.io, IB against 40-50 Gb/s
TCP on 64 H100. RoCE and EFA are RDMA: no penalty (Oracle, Dell and NVIDIA MLPerf runs agree)."""
TCP_CEILING_GBIT_PER_S: Final = 200.0
"""A node's TCP traffic passes through host memory and cores; a cautious bound, not a fit."""
OVERHEAD_SHARE: Final = 0.05
"""Evaluation and data stalls over pure steps: 0.03 to 0.05 in MLPerf 8B and 405B runs."""
INIT_S: Final = 100.0
INIT_S_PER_BILLION: Final = 1.1
"""Process start to first step: MLPerf medians 116 s (8B), 327 s (175B), 535 s (405B)."""

# --- Training: memory ---

RUNTIME_GB: Final = 1.7
RUNTIME_HF_GB: Final = 2.8
MEMORY_RESERVE_SHARE: Final = 0.07
"""Kept free for fragmentation and for what releases differ in."""
ACTIVATION_SHARE: Final = 0.86
ACTIVATION_SHARE_LORA: Final = 0.82
LOGIT_BYTES: Final = 11.7
"""Per token and vocabulary entry: logits, their gradient and the loss in 16 and 32 bits."""
ADAPTER_SHARE: Final = 0.003
"""LoRA adapters, share of the parameters."""
ADAPTER_STATE_BYTES: Final = 16.0
NF4_BYTES: Final = 0.70
"""Per parameter of a quantized linear layer, scales and padding included."""

# --- Training: interruptions ---

FAILURES_PER_NODE_DAY: Final = 0.004
"""Meta: Llama 3 0.0038, RSC-1 0.0065, RSC-2 0.0023 (arXiv:2407.21783, arXiv:2410.21680)."""
GANG_EXPONENT: Final = 0.3
"""Interruptions come in groups: a gang of N is hit N^0.3 times as often as one node; measured -0.01
to 0.65 (Bamboo clusters, SkyServe probes)."""
SPOT_UNKNOWN_PER_HOUR: Final = 0.1
"""One loss in 10 node-hours where nothing is known: GCP A100 of the Bamboo traces, 10.1."""
CHECKPOINT_BYTES_PER_PARAM: Final = 14.0
"""Weights and optimizer: 8B 105 GB, 405B 5.5 TB."""
HOURS_PER_MONTH: Final = 730.0

# --- Training: error bands (factors measured/predicted on the training fit, p5 to p95) ---

TRAINING_BAND: Final = (0.70, 1.30)
TRAINING_BAND_HF: Final = (0.60, 1.70)
TRAINING_BAND_ESTIMATED: Final = (0.55, 1.70)
TRAINING_BAND_MOE: Final = (0.40, 2.0)
