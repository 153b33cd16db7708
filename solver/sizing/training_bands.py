"""Error bands of training figures, measured over predicted, as `fit_training.py --bands` prints.

Each is the span that holds 90 % of the held-out errors of its class, over 30 random halves by
model × GPU; for a new GPU generation, over fits that never saw it. Factors are on rates.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Kind(StrEnum):
    """What is trained with what: errors differ by it."""

    TUNED = "dense tuned"
    TORCH = "dense torch"
    ADAPTERS = "adapters"
    HF = "hf"
    SPARSE = "sparse"
    ENCODER = "encoder"


class Scope(StrEnum):
    """How far a configuration is from what the constants were fitted on."""

    INSIDE = "inside"
    EDGE = "edge"
    """PCIe, TCP, QLoRA, and what a measurement leaves open: precision, network."""
    NEW_GPU = "new_gpu"


Band = tuple[float, float]

BANDS: Final[Mapping[tuple[Kind, Scope], Band]] = MappingProxyType(
    {(kind, scope): (0.7, 1.4) for kind in Kind for scope in Scope}
)
MEMORY_BAND: Final[Band] = (0.7, 1.4)
"""On a peak."""
