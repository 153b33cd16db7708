"""What instances are drawn from: GPU models, networks, neural networks, sizes of requests.

The figures are illustrative: they differ in places from broker/specs and stay as they are, so that
results compare.
"""

from types import MappingProxyType
from typing import NamedTuple

import numpy as np


class Size(NamedTuple):
    """How large an instance is."""

    offers: int
    services: int
    jobs: int
    hours: int


SIZES = MappingProxyType(
    {
        "tiny": Size(12, 2, 1, 6),
        "small": Size(200, 3, 2, 168),
        "medium": Size(2_000, 10, 8, 168),
        "large": Size(20_000, 30, 25, 720),
        "huge": Size(50_000, 100, 100, 720),
    }
)


class Sku(NamedTuple):
    """A GPU model; `train_speed` counts A100-80s, `net` says whether nodes form clusters."""

    name: str
    memory_gb: float
    tb_per_s: float
    tflops: float
    fp8: int
    train_speed: float
    usd_per_hour: float
    net: int


SKUS = (
    Sku("T4", 16, 0.32, 65, 0, 0.18, 0.35, 0),
    Sku("V100", 16, 0.90, 125, 0, 0.42, 0.80, 0),
    Sku("A10G", 24, 0.60, 125, 0, 0.35, 0.90, 0),
    Sku("L4", 24, 0.30, 121, 1, 0.33, 0.60, 0),
    Sku("RTX4090", 24, 1.01, 165, 1, 0.50, 0.45, 0),
    Sku("L40S", 48, 0.86, 362, 1, 0.85, 1.10, 0),
    Sku("RTX6000Ada", 48, 0.96, 364, 1, 0.75, 0.90, 0),
    Sku("A100-40", 40, 1.55, 312, 0, 0.92, 1.30, 1),
    Sku("A100-80", 80, 2.04, 312, 0, 1.00, 1.70, 1),
    Sku("H100", 80, 3.35, 989, 1, 2.45, 2.80, 1),
    Sku("GH200", 96, 4.00, 989, 1, 2.50, 2.90, 0),
    Sku("H200", 141, 4.80, 989, 1, 2.70, 3.40, 1),
    Sku("B200", 180, 8.00, 2250, 1, 5.20, 5.60, 1),
    Sku("MI300X", 192, 5.30, 1307, 1, 2.20, 2.40, 1),
    Sku("MI325X", 256, 6.00, 1307, 1, 2.45, 2.90, 1),
)
SKU_WEIGHTS = (3, 2, 4, 4, 4, 5, 3, 4, 6, 8, 2, 5, 3, 3, 2)
H100 = 9
OWNED_SKUS = (8, 9, 11)
"""A100-80, H100, H200: what a company may own."""

CONTINENTS = ("na-east", "na-west", "eu", "asia", "sa", "oceania")
RTT_MS = np.array(
    [
        [10, 65, 85, 200, 120, 210],
        [65, 10, 140, 130, 170, 150],
        [85, 140, 10, 180, 190, 270],
        [200, 130, 180, 25, 300, 110],
        [120, 170, 190, 300, 15, 290],
        [210, 150, 270, 110, 290, 10],
    ]
)
"""Round trip between continents."""
UTC_SHIFT = np.array([-5, -8, 1, 8, -3, 10])


class Model(NamedTuple):
    """A neural network; keys and values of a token are at 16 bits."""

    name: str
    params_b: float
    kv_bytes_per_token: int


MODELS = (
    Model("7B", 7, 131_072),
    Model("13B", 13, 204_800),
    Model("32B", 32, 262_144),
    Model("70B", 70, 327_680),
    Model("120B-moe", 120, 196_608),
)


class Format(NamedTuple):
    """A number format of the weights: bytes of each, and how much faster it computes."""

    name: str
    weight_bytes: float
    speed_up: float


FORMATS = (Format("fp16", 2.0, 1.0), Format("fp8", 1.0, 2.0), Format("int4", 0.55, 1.0))
INT4 = 2
LARGEST_IN_INT4 = 2
"""Number in MODELS of the largest model for which int4 is good enough."""

REQUESTS = ((200, 60), (900, 250), (3500, 400), (100, 500), (1800, 120), (8000, 300))
"""Prompt and output tokens by size class; the first three are those of plain instances."""
PLAIN_CLASSES = 3
