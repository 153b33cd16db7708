"""The MIG slices that GPUs are cut into: a quarter and a half of each model that supports it."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from broker.domain.gpu import GpuModel, GpuSlice
from broker.specs.tables import read_table, text

SliceTable = Mapping[str, tuple["SliceModel", ...]]
"""The slices of each model that can be cut, by its name."""


@dataclass(frozen=True, slots=True)
class SliceModel:
    """A slice, and what it is as a GPU of its own: its memory, bandwidth and compute."""

    gpu_slice: GpuSlice
    gpu: GpuModel


def read_slices(gpus: Mapping[str, GpuModel]) -> SliceTable:
    """Read the slices of each model; `gpus` has a row of each, named model-profile."""
    slices: dict[str, list[SliceModel]] = defaultdict(list)
    for row in read_table("mig_profiles.csv"):
        name, profile = text(row, "gpu"), text(row, "profile")
        one = GpuSlice.model_validate({"profile": profile, "gpu_share": text(row, "part")})
        slices[name].append(SliceModel(one, gpus[f"{name}-{profile}"]))
    return {name: tuple(own) for name, own in slices.items()}
