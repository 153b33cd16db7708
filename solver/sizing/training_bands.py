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
    {
        (Kind.TUNED, Scope.INSIDE): (0.85, 1.33),
        (Kind.TUNED, Scope.EDGE): (0.85, 2.61),
        (Kind.TUNED, Scope.NEW_GPU): (0.51, 1.56),
        (Kind.TORCH, Scope.INSIDE): (0.68, 1.21),
        (Kind.TORCH, Scope.EDGE): (0.68, 1.21),
        (Kind.TORCH, Scope.NEW_GPU): (0.51, 1.56),
        (Kind.ADAPTERS, Scope.INSIDE): (0.67, 1.15),
        (Kind.ADAPTERS, Scope.EDGE): (0.67, 1.31),
        (Kind.ADAPTERS, Scope.NEW_GPU): (0.51, 1.56),
        (Kind.HF, Scope.INSIDE): (0.51, 1.50),
        (Kind.HF, Scope.EDGE): (0.51, 1.89),
        (Kind.HF, Scope.NEW_GPU): (0.51, 1.56),
        (Kind.SPARSE, Scope.INSIDE): (0.51, 1.60),
        (Kind.SPARSE, Scope.EDGE): (0.51, 1.60),
        (Kind.SPARSE, Scope.NEW_GPU): (0.51, 1.60),
        (Kind.ENCODER, Scope.INSIDE): (0.84, 1.22),
        (Kind.ENCODER, Scope.EDGE): (0.40, 1.22),
        (Kind.ENCODER, Scope.NEW_GPU): (0.51, 1.56),
    }
)
MEMORY_BAND: Final[Band] = (0.73, 1.35)
"""On a peak."""
