"""Pools of disaggregated serving: replicas that only prefill, and replicas that only decode.

Prompts are worked on in one pool, answers in the other, and the cache of each prompt is sent
between them. So the two pools of a service stand in one place, on one fabric, and hold the cache in
one format: what they share is their *class*.
"""

from enum import StrEnum
from typing import Annotated, NamedTuple

from pydantic import Field

from broker.domain.gpu import Precision
from broker.domain.quantities import Frozen


class Role(StrEnum):
    """What a replica of a pool does: prompts, or answers."""

    PREFILL = "prefill"
    DECODE = "decode"


class PoolClass(NamedTuple):
    """What the two pools of a service have in common."""

    place: str
    fabric: str
    stack: str
    model: str
    precision: Precision
    link_gb_per_s: float


class Pool(Frozen):
    """What a replica does, where, and over which link a cache is sent to or from it.

    `place` is provider/region/zone, without the zone where none is named. `link_gb_per_s` is what
    is planned with in one direction between one replica of each pool: no more than either of them
    has of its node's fabric. `stack` is the vendor whose software runs the GPUs.
    """

    role: Role
    place: str
    fabric: str
    stack: str
    link_gb_per_s: Annotated[float, Field(gt=0)]

    def joined(self, model: str, precision: Precision) -> PoolClass:
        """Name the class of pools that a replica of this model and precision belongs to."""
        link = self.link_gb_per_s
        return PoolClass(self.place, self.fabric, self.stack, model, precision, link)
