"""Layouts of a serving replica on a node: tensor groups, pipeline stages, dealt-out experts.

Pipelines are tried where GPUs only meet over PCIe, as they send the least. Experts are dealt out
for sparse models; models with a latent cache are also tried with attention on every GPU for itself,
as a tensor group would hold the whole latent on each of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from broker.domain.gpu import GpuModel
from broker.domain.llm import LlmModel
from broker.domain.offer import Shape
from solver.sizing.architecture import is_mla, splits_over
from solver.sizing.links import ALONE, Interconnect, serving_link
from solver.sizing.serving_facts import Split

GROUP_SIZES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Choice:
    """A layout to size with what joins its GPUs, or why it cannot be."""

    split: Split
    link: Interconnect = ALONE
    reason: str = ""
    detail: str = ""


def splits(*, shape: Shape, gpu: GpuModel, model: LlmModel) -> Iterator[Choice]:
    """List the layouts to size on a node: groups of 1, 2, 4, 8 GPUs that divide it."""
    count = int(shape.gpu_count)
    for gpus in (size for size in GROUP_SIZES if count % size == 0):
        link = serving_link(shape=shape, gpu=gpu, gpus=gpus)
        group = Split(tensor=gpus)
        if link is None:
            detail = f"the link among {gpus} GPUs is {shape.link}"
            yield Choice(group, reason="link_unknown", detail=detail)
            continue
        if splits_over(model=model, tensor=gpus):
            yield Choice(group, link)
            if model.is_moe and gpus > 1:
                yield Choice(Split(tensor=gpus, expert=gpus), link)
        else:
            detail = f"{model.heads} heads ({model.kv_heads} for keys and values)"
            yield Choice(
                group, reason="heads_do_not_split", detail=f"{detail} do not divide by {gpus}"
            )
        yield from _others(model=model, gpus=gpus, link=link)


def _others(*, model: LlmModel, gpus: int, link: Interconnect) -> Iterator[Choice]:
    if gpus == 1:
        return
    if is_mla(model) and model.is_moe and not link.is_pcie:
        yield Choice(Split(expert=gpus, attention_data=gpus), link)
    if not link.is_pcie:
        return
    for stages in (size for size in GROUP_SIZES if 1 < size <= gpus):
        if splits_over(model=model, tensor=gpus // stages):
            yield Choice(Split(tensor=gpus // stages, pipeline=stages), link)
