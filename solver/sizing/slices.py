"""Serving candidates on MIG slices: each slice is a GPU of its own, with one replica on it.

A slice has its part of the memory and of the bandwidth whole, and no link to any other; its figures
are those of the table of GPUs. What differs from a small GPU is not measured: see `serving_trust`.
"""

from fractions import Fraction

from broker.domain.candidate import ServingCandidate
from broker.domain.gpu import GpuModel, GpuSlice
from broker.domain.offer import Link, Shape


def shape_of(gpu: GpuModel, shape: Shape) -> Shape:
    """Give what sizing sees of one slice of a node's GPU."""
    return shape.model_copy(
        update={
            "gpu": gpu.name,
            "gpu_count": Fraction(1),
            "link": Link.SINGLE,
            "link_gb_per_s": None,
            "link_domain_gpus": None,
        }
    )


def on_slice(candidate: ServingCandidate, gpu_slice: GpuSlice, *, of: str) -> ServingCandidate:
    """Say of a candidate that is sized on a slice which one that is, and of which GPU."""
    told = f"a {gpu_slice.profile} slice, {gpu_slice.gpu_share} of the memory and bandwidth of {of}"
    return candidate.model_copy(
        update={"gpu_slice": gpu_slice, "assumptions": (told, *candidate.assumptions)}
    )
