"""Error bands of serving figures, measured over predicted, as fit_serving.py prints them.

Each is the span that holds 90 % of the held-out errors of its class, over random halves by
model × GPU; for what is new, over fits that never saw the GPU generation or the kind of network.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Metric(StrEnum):
    """What is estimated; the first token up to 32 clients without a queue, and beyond."""

    RATE = "rate"
    TPOT = "tpot"
    TTFT = "ttft"
    TTFT_LOADED = "ttft_loaded"


class Scope(StrEnum):
    """How far a configuration is from what the constants were fitted on."""

    INSIDE = "inside"
    """NVIDIA and AMD GPUs of a measured generation, in one fast domain or alone."""
    EDGE = "edge"
    """Groups over PCIe, pipelines, dealt-out experts, integer formats, accelerators of others."""
    NEW_GPU = "new_gpu"
    NEW_KIND = "new_kind"


Band = tuple[float, float]

BANDS: Final[Mapping[tuple[Metric, Scope, bool], Band]] = MappingProxyType(
    {
        (Metric.RATE, Scope.INSIDE, False): (0.62, 1.26),
        (Metric.RATE, Scope.INSIDE, True): (0.71, 1.59),
        (Metric.RATE, Scope.EDGE, False): (0.62, 1.54),
        (Metric.RATE, Scope.EDGE, True): (0.59, 2.12),
        (Metric.RATE, Scope.NEW_GPU, False): (0.62, 1.46),
        (Metric.RATE, Scope.NEW_GPU, True): (0.65, 1.88),
        (Metric.RATE, Scope.NEW_KIND, False): (0.61, 1.31),
        (Metric.RATE, Scope.NEW_KIND, True): (0.65, 1.93),
        (Metric.TPOT, Scope.INSIDE, False): (0.69, 1.47),
        (Metric.TPOT, Scope.INSIDE, True): (0.80, 1.59),
        (Metric.TPOT, Scope.EDGE, False): (0.69, 1.63),
        (Metric.TPOT, Scope.EDGE, True): (0.68, 1.74),
        (Metric.TPOT, Scope.NEW_GPU, False): (0.69, 1.47),
        (Metric.TPOT, Scope.NEW_GPU, True): (0.74, 1.59),
        (Metric.TPOT, Scope.NEW_KIND, False): (0.69, 1.47),
        (Metric.TPOT, Scope.NEW_KIND, True): (0.76, 1.59),
        (Metric.TTFT, Scope.INSIDE, False): (0.63, 1.67),
        (Metric.TTFT, Scope.INSIDE, True): (0.50, 2.38),
        (Metric.TTFT, Scope.EDGE, False): (0.50, 1.67),
        (Metric.TTFT, Scope.EDGE, True): (0.50, 2.64),
        (Metric.TTFT, Scope.NEW_GPU, False): (0.59, 1.67),
        (Metric.TTFT, Scope.NEW_GPU, True): (0.50, 2.55),
        (Metric.TTFT, Scope.NEW_KIND, False): (0.63, 1.72),
        (Metric.TTFT, Scope.NEW_KIND, True): (0.50, 2.79),
        (Metric.TTFT_LOADED, Scope.INSIDE, False): (0.34, 2.45),
        (Metric.TTFT_LOADED, Scope.INSIDE, True): (0.35, 3.56),
        (Metric.TTFT_LOADED, Scope.EDGE, False): (0.34, 2.45),
        (Metric.TTFT_LOADED, Scope.EDGE, True): (0.26, 4.85),
        (Metric.TTFT_LOADED, Scope.NEW_GPU, False): (0.34, 2.45),
        (Metric.TTFT_LOADED, Scope.NEW_GPU, True): (0.30, 3.56),
        (Metric.TTFT_LOADED, Scope.NEW_KIND, False): (0.34, 2.82),
        (Metric.TTFT_LOADED, Scope.NEW_KIND, True): (0.32, 3.56),
    }
)
"""By metric, scope, and whether the network is sparse."""
