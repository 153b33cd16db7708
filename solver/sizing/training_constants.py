"""Constants of the training formulas. Datasheet values come from GpuModel, never from here.

`TIME` and `MEMORY` are what `tools/accuracy/fit_training.py` and `fit_memory.py` printed on
2026-11-28: one global set each, least robust relative error over the project's own tables of public
measurements (broker/specs/measurements_training.csv, measurements_memory_training.csv, each row
with its source). Nothing is fitted to a row, a GPU model or a network. What stands below them is
physical, or read.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class TimeConstants:
    """What the fit of step times moves. Order of stacks: tuned, torch, hf."""

    peak_share: tuple[float, ...]
    """Of the dense peak, what linear layers reach, by `training_efficiency.Rating`. It trades
    against the other parts of the formula: it is no GEMM efficiency."""
    small_batch_tokens: float
    """Micro-batches lose efficiency as 1 + this/tokens; an expert's own tokens likewise."""
    narrow_width: float
    """Layers lose efficiency as 1 + this·tensor/hidden."""
    attention_share: tuple[float, ...]
    """Of the 16-bit peak: kernels of Ampere and older, those made for newer GPUs, and kernels of
    the older kind on newer GPUs (plain stacks before mid 2025)."""
    uneven_context_factor: float
    """Causal attention over context-parallel ranks that no stack but the tuned ones balances."""
    memory_passes: float
    """16-bit reads and writes of a hidden value per layer: norms, rotary, gates, residuals."""
    expert_passes: float
    """The same of the values that are handed to experts and back, per token and expert."""
    expert_factor: float
    """Time of expert matrices against those of dense layers."""
    expert_half_width: float
    """Experts lose efficiency as 1 + this/inner width."""
    slowdown: tuple[float, ...]
    hf_launch_s: float
    """Launches per layer and micro-batch of Transformers with adapters."""
    full_launch_factor: float
    """The same when all parameters have gradients and hooks."""
    low_precision_factor: float
    """Linear layers of plain stacks in 8 bits and less: casts that tuned kernels fuse."""
    selective_share: float
    """Of the forward pass, what selective recomputation repeats."""
    dequantize_bytes: float
    """Memory traffic per 4-bit parameter and micro-batch: unpacked for each of its passes."""
    tensor_loss: float
    context_loss: float
    exchange_loss: float
    """All-to-all of experts inside a fast domain, against its nominal speed."""
    exchange_nic_loss: float
    """The same across NICs: copies to one node are sent once."""
    data_loss: float
    data_loss_per_doubling: float
    """Growth of the data-parallel time per doubling of the fast domains."""
    exposed_share: float
    gain_per_year: float
    """Factor by which tuned stacks get faster in a year."""
    expert_gain_per_year: float
    """The same for sparse models."""
    encoder_factor: float
    """BERT-like encoders, whose few fused kernels the formula of decoders overstates."""


TIME: Final = TimeConstants(
    peak_share=(0.68, 0.971, 0.737, 0.605, 0.51, 0.477, 0.392, 0.49, 0.288, 0.6, 0.46, 0.73, 0.444),
    small_batch_tokens=557.0,
    narrow_width=252.0,
    attention_share=(0.381, 0.537, 0.321),
    uneven_context_factor=1.32,
    memory_passes=136.0,
    expert_passes=20.0,
    expert_factor=2.3,
    expert_half_width=279.0,
    slowdown=(1.0, 1.24, 1.25),
    hf_launch_s=0.00423,
    full_launch_factor=2.09,
    low_precision_factor=1.21,
    selective_share=0.483,
    dequantize_bytes=33.2,
    tensor_loss=0.767,
    context_loss=0.173,
    exchange_loss=2.16,
    exchange_nic_loss=0.331,
    data_loss=1.16,
    data_loss_per_doubling=0.0897,
    exposed_share=0.0689,
    gain_per_year=1.06,
    expert_gain_per_year=1.19,
    encoder_factor=0.457,
)

PLANNED_YEAR: Final = 2026.5
"""Age of the software that plans assume; measurements take their own, inside SOFTWARE_YEARS."""
SOFTWARE_YEARS: Final = (2021.0, 2026.7)
REFERENCE_YEAR: Final = 2025.0
FOUR_BIT_SHARE: Final = 0.6
"""Of the work of linear layers under NVFP4: recipes keep first and last layers, and some gradients,
in 8 or 16 bits."""
YEARS_TO_MATURE: Final = 3.0
"""After its release, a GPU's training software still gets faster for so long."""
OLD_KERNELS_UNTIL: Final = 2025.4

TUNED_LAUNCH_S: Final = 60e-6
TORCH_LAUNCH_S: Final = 150e-6
"""Launches per layer and micro-batch; hidden in every measurement, so read, not fitted."""
RECOMPUTED_PASS: Final = 4.0 / 3.0
"""Full recomputation repeats one of three passes' work outside the matrices."""
TENSOR_COLLECTIVES: Final = 8.0
"""Four collectives a layer, forward and backward, each sent twice around a ring."""
TENSOR_RECOMPUTED: Final = 1.5
CONTEXT_COLLECTIVES: Final = 12.0
EXCHANGES: Final = 4.0
"""All-to-all: to the experts and back, forward and backward."""
OVERLAP_SHARE: Final = 0.74
"""Of the compute time, what can hide data-parallel traffic."""
OPTIMIZER_STATE_BYTES: Final = 30.0
OPTIMIZER_WEIGHT_BYTES: Final = 8.0
FLOOR_POWER: Final = 4
TCP_SHARE: Final = 0.7
"""Of plain Ethernet's bandwidth, what collectives over TCP reach; with it the step formula gives
the 26 to 28 times (7B) and 38 to 45 times (72B) of jingchaozhang.github.io, IB against 40-50 Gb/s
TCP on 64 H100. RoCE and EFA are RDMA: no penalty (Oracle, Dell and NVIDIA MLPerf runs agree)."""
TCP_CEILING_GBIT_PER_S: Final = 200.0
"""A node's TCP traffic passes through host memory and cores; a cautious bound, not a fit."""
INIT_S: Final = 100.0
INIT_S_PER_BILLION: Final = 1.1
"""Process start to first step: MLPerf medians 116 s (8B), 327 s (175B), 535 s (405B)."""


@dataclass(frozen=True, slots=True)
class MemoryConstants:
    """What the fit of peak memory moves. Order of stacks: tuned, torch, hf."""

    runtime_gb: tuple[float, ...]
    """Context of the driver, libraries, communication buffers."""
    kept_share: float
    """Of the 16-bit values inside a layer, what stays for the backward pass; fused kernels."""
    kept_lora_share: float
    selective_share: float
    eager_factor: float
    """The same without fused or compiled kernels."""
    layer_factor: float
    """The one layer that full recomputation holds, against what it would keep."""
    checkpoint_bytes: float
    """Per token and hidden value at each layer's border, under full recomputation."""
    logit_bytes: tuple[float, ...]
    """Per token and vocabulary entry: logits, their gradient and the loss."""
    nf4_bytes: float
    """Per parameter of a quantized linear layer, scales and padding included."""
    fp8_bytes: float
    """Per parameter kept in 8 bits."""
    gather_bytes: float
    """Per parameter of a layer, what ZeRO-3 holds gathered."""
    hf_state_bytes: float
    """Per trained parameter of Transformers/DeepSpeed: weights, gradients, optimizer."""
    embedding_state_bytes: float
    """Per parameter of embeddings that are trained beside adapters."""
    allocated_factor: float
    """Peak as the allocator reports it over the sum of the parts, the runtime apart."""


MEMORY: Final = MemoryConstants(
    runtime_gb=(2.89, 0.686, 1.66),
    kept_share=0.855,
    kept_lora_share=0.819,
    selective_share=0.409,
    eager_factor=1.47,
    layer_factor=0.662,
    checkpoint_bytes=1.75,
    logit_bytes=(7.99, 7.32, 11.1),
    nf4_bytes=0.558,
    fp8_bytes=0.967,
    gather_bytes=8.91,
    hf_state_bytes=16.9,
    embedding_state_bytes=10.2,
    allocated_factor=0.991,
)

MEMORY_RESERVE_SHARE: Final = 0.07
"""Kept free for fragmentation and for what releases differ in."""
TIGHT_SHARE: Final = 0.90
"""Of the device: a peak above it, the reserve apart, fits but is tight."""
OVER_SHARE: Final = 1.07
"""Of the device: a peak up to it may still fit by a leaner release, and is called tight, too."""
CHUNKED_LOSS: Final = 8.0
"""Parts that a chunked cross-entropy works in."""
ADAPTER_STATE_BYTES: Final = 16.0
ADAPTER_RANK: Final = 16
"""Of LoRA on all matrices where no rank is told; recipes of the measurements have 8 to 64."""
EAGER_BYTES: Final = 34.0
"""Korthikanti et al. 2022 (arXiv:2205.05198): s·b·h·(34 + 5·a·s/h) without FlashAttention."""
EAGER_TENSOR_BYTES: Final = 10.0
EAGER_SPLIT_BYTES: Final = 24.0
EAGER_SCORE_BYTES: Final = 5.0

FAILURES_PER_NODE_DAY: Final = 0.004
"""Meta: Llama 3 0.0038, RSC-1 0.0065, RSC-2 0.0023 (arXiv:2407.21783, arXiv:2410.21680)."""
GANG_EXPONENT: Final = 0.3
"""Interruptions come in groups: a gang of N is hit N^0.3 times as often as one node."""
GANG_EXPONENTS: Final = (0.0, 0.65)
"""Measured: -0.01 to 0.65 (Bamboo clusters, SkyServe probes)."""
SPOT_UNKNOWN_PER_HOUR: Final = 0.1
"""One loss in 10 node-hours where nothing is known: GCP A100 of the Bamboo traces, 10.1."""
SPOT_DOWN_H: Final = 0.75
"""Mean wait for spot capacity after a loss where nothing is known: the median trace."""
CHECKPOINT_BYTES_PER_PARAM: Final = 14.0
"""Weights and optimizer: 8B 105 GB, 405B 5.5 TB."""
HOURS_PER_MONTH: Final = 730.0
