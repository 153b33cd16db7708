"""What the clouds of the Terraform export share: a cloud's writers, resources, comments, taints."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from broker.domain.gpu import Precision
from broker.domain.offer import PriceKind
from broker.exports.hcl import Block, Expression, Value
from broker.exports.launches import ISOLATED_TAINT, isolated_for
from broker.exports.lines import Line, ServingShare

COMMIT = "commit_money"
RUN = "run_nodes"

_LEAST_DISK_GB = 300
_IMAGE_GB = 100
_DISK_STEP_GB = 10
_GB_PER_GIB = 2**30 / 1e9
_DOWNLOAD_FACTOR = 1.2
_LOADED_FACTOR = 2.0
"""Weights in 8 bits are made of those in 16, which are what is downloaded."""

_NEVER_HELD = frozenset({PriceKind.SPOT, PriceKind.OWNED})


@dataclass(frozen=True, slots=True)
class Cloud:
    """How a cloud is written: its provider and variables, and what a line becomes.

    `reservation` takes the nodes to hold, `pool` the fewest that the line ever has.
    """

    provider: str
    version: str
    variables: tuple[tuple[str, str, str], ...]
    commitment: Callable[[Line], Iterator[Block]]
    block: Callable[[Line], Iterator[Block]]
    reservation: Callable[[Line, int], Iterator[Block]]
    pool: Callable[[Line, int], Block]


def holds_capacity(line: Line, steady_nodes: int) -> bool:
    """Say whether nodes of the line are held for it: those that it has all the time."""
    return steady_nodes > 0 and line.purchase.price_kind not in _NEVER_HELD


def disk_gb(line: Line) -> int:
    """Give the GB of a node's disk: the image of the engine, and the weights of each of its pods.

    Pods share no files, so a node full of replicas downloads as many copies.
    """
    gpus = float(line.offer.hardware.shape.gpu_count)
    weights_gb = max((_download_gb_per_gpu(one) for one in line.serving), default=0.0) * gpus
    needed_gb = (_IMAGE_GB + weights_gb * _DOWNLOAD_FACTOR) / _DISK_STEP_GB
    return max(_LEAST_DISK_GB, math.ceil(needed_gb) * _DISK_STEP_GB)


def _download_gb_per_gpu(share: ServingShare) -> float:
    candidate = share.assignment.candidate
    part = float(candidate.gpu_slice.gpu_share) if candidate.gpu_slice is not None else 1.0
    factor = _LOADED_FACTOR if candidate.precision is Precision.FP8 else 1.0
    return candidate.memory.weights_gib / part * factor * _GB_PER_GIB


def _when(variable: str, line: Line) -> dict[str, Value]:
    """Create a resource where its variable is on and its line is chosen."""
    return {"count": Expression(f'var.{variable} && contains(var.lines, "{line.label}") ? 1 : 0')}


def resource(
    kind: str, line: Line, variable: str, attributes: Mapping[str, Value], *blocks: Block
) -> Block:
    """Write a resource of a line that is created where a variable is on."""
    return Block(
        "resource", (kind, f"l-{line.label}"), _when(variable, line) | dict(attributes), blocks
    )


def no_resource(line: Line, how: str) -> Iterator[Block]:
    """Say that a person buys it, and how."""
    terms, block = line.offer.commitment, line.purchase.block
    what = f"{terms.term_months} months, {terms.payment.value.replace('_', ' ')}" if terms else ""
    if block is not None:
        what = f"of {block.length_h} h from {block.starts_at:%Y-%m-%dT%H:%MZ}"
    kind, most = line.purchase.price_kind.value, line.most_nodes
    yield Block(
        "",
        (),
        {},
        comments=(
            f"Commitment of {most} node{'s' * (most > 1)} ({kind} {what}".rstrip()
            + "): not created here.",
            how,
        ),
    )


def taints(line: Line) -> tuple[Block, ...]:
    """Keep others off nodes that are one workload's, as EKS and GKE write it."""
    alone = isolated_for(line)
    if alone is None:
        return ()
    taint: dict[str, Value] = {"key": ISOLATED_TAINT, "value": alone, "effect": "NO_SCHEDULE"}
    return (Block("taint", (), taint),)


def no_block(line: Line) -> Iterator[Block]:
    """Say that a person books it."""
    yield from no_resource(line, "The provider has no resource for it: book it in the console.")
