"""What the recipes behind measured peaks set, where the table of peaks does not tell it.

Read in the sources' own configurations, never fitted:

    litgpt      adapters of rank 8 on queries and values (the table of resources), of rank 8 to 32
                there or everywhere (config_hub), dropout before each; embedding and head apart even
                where the network ties them; Adapter v2 scales the output of every matrix
    Qwen        adapters of rank 64 on every matrix (finetune.py)
    MLPerf      adapters of rank 16 on attention
    torchtune   on one GPU an 8-bit optimizer that steps inside the backward pass
    BigScience  Megatron-DeepSpeed with ZeRO-1 (tr3m-1B3-emb-norm-pile.slurm)
"""

import re
from collections.abc import Mapping

from broker.domain.llm import LlmModel
from broker.domain.workload import Method
from solver.sizing.architecture import BILLION, input_embedding_params
from solver.sizing.training_facts import kv_width
from solver.sizing.training_memory import inner_width, lora_params

_DROPOUT_BYTES = 3.0
"""A dropped-out 16-bit copy of an input and the mask."""
_SCALED_BYTES = 2.0
_EVERYWHERE = re.compile(r"gemma|phi|llama-3", re.IGNORECASE)
_ADAPTERS: Mapping[str, tuple[int, bool]] = {
    "QwenLM": (64, True),
    "MLPerf": (16, False),
    "config_hub": (32, False),
    "litgpt": (8, False),
    "torchtune": (8, True),
    "LLaMA-Factory": (8, True),
}
"""Rank, and whether the MLP has adapters, too, by a part of the source's name."""
_CONTEXT_BYTES = 1113 * 2.0**20
"""The driver's context and kernels, which BigScience measured beside its peaks."""
_EIGHT_BIT_IN_BACKWARD = 4.0
"""Weights and two 8-bit moments; gradients are freed as they are used."""


def sized_by_recipe(model: LlmModel, source: str) -> LlmModel:
    """Add the head that litgpt keeps apart from a tied embedding."""
    is_tied = not model.is_moe and input_embedding_params(model) == 0
    if "litgpt" not in source or not is_tied:
        return model
    head_b = model.vocab * model.hidden / BILLION
    return model.model_copy(update={"params_b": model.params_b + head_b})


def adapters_by_recipe(model: LlmModel, method: Method, cells: Mapping[str, str]) -> float | None:
    """Count the adapter parameters that a source's recipe trains; None where it is not known."""
    if method is Method.FULL:
        return None
    if _is_everywhere(cells):
        return lora_params(model, rank=8)
    recipes = (recipe for name, recipe in _ADAPTERS.items() if name in cells["source"])
    found = next(recipes, None)
    return lora_params(model, rank=found[0], with_mlp=found[1]) if found else None


def extra_layer_bytes(model: LlmModel, method: Method, cells: Mapping[str, str]) -> float:
    """Size what a recipe keeps of each layer and token beyond the general formula, in bytes."""
    if "litgpt" not in cells["source"] or method is Method.FULL:
        return 0.0
    keys, inner, hidden = kv_width(model), inner_width(model), model.hidden
    if "Adapter v2" in cells["method"]:
        # the output of each matrix: queries, output and down of the hidden width, keys and values
        return _SCALED_BYTES * (3 * hidden + 2 * keys + (model.mlp_matrices - 1) * inner)
    if "Adapter" in cells["method"]:
        return 0.0
    if not _is_everywhere(cells):
        return _DROPOUT_BYTES * hidden
    # inputs of queries with keys and values, of the output, of each matrix of the MLP
    return _DROPOUT_BYTES * ((2 + model.mlp_matrices - 1) * hidden + inner)


def state_bytes_by_recipe(cells: Mapping[str, str]) -> float | None:
    """Give bytes per trained parameter where a recipe's optimizer is neither told nor the usual."""
    is_alone = cells["gpus"] == "1" and "(recipe)" in cells["optimizer"]
    is_full = cells["method"] == "full"
    return (
        _EIGHT_BIT_IN_BACKWARD if "torchtune" in cells["source"] and is_alone and is_full else None
    )


def context_bytes(cells: Mapping[str, str]) -> float:
    """Size what nvidia-smi shows and no allocator reports, in bytes."""
    return _CONTEXT_BYTES if "nvidia-smi" in cells["unit"] else 0.0


def zero_stage_by_recipe(cells: Mapping[str, str]) -> int | None:
    """Give the ZeRO stage that a source's own script sets; None where it has none."""
    return 1 if "tr3m-1B3" in cells["source"] else None


def _is_everywhere(cells: Mapping[str, str]) -> bool:
    return "config_hub" in cells["source"] and _EVERYWHERE.search(cells["model"]) is not None
