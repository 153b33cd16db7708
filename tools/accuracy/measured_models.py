"""Networks that the training measurements name: the project's own table, and older ones beside it.

`measured_models.csv` has the shapes of networks that are measured, but that nobody would plan with:
MPT, Megatron's GPT sizes, BERT and so on. A size without a published shape gets that of a GPT:
hidden = 128 × layers, as scaling studies chose.
"""

import csv
import re
from collections.abc import Mapping
from pathlib import Path

from broker.domain.llm import LlmModel
from broker.specs.load import Specs

_TABLE = Path(__file__).parent / "measured_models.csv"
_ASPECT = 128
_VOCABULARY = 51_200
_WIDTH_STEP = 256
_ALIASES: Mapping[str, str] = {
    "llama4maverick400b": "llama-4-maverick",
    "llama234b": "codellama-34b",
    "deepseekv3": "deepseek-v3",
    "kimik2": "kimi-k2",
    "nemotron3nano": "nemotron-3-nano-30b-a3b",
    "nemotron3super": "nemotron-3-super-120b",
    "nemotronv3super120b": "nemotron-3-super-120b",
    "nemotron3ultra": "nemotron-3-ultra-550b",
    "nemotronv3ultra550b": "nemotron-3-ultra-550b",
    "gpt3175b": "gpt-175b",
    "megatron1t": "gpt-1000b",
    "megatron22b": "gpt-22b",
    "gpt1t": "gpt-1000b",
    "grok1": "grok-1-314b",
    "stablelmalpha": "stablelm-alpha-3b",
    "stablelmbasealpha3b": "stablelm-alpha-3b",
    "phi3mini4kinstruct": "phi-3-mini",
    "mistral7bv02": "mistral-7b",
    "falcon": "falcon-40b",
}
_NOISE = re.compile(r"\(.*?\)|\blora\b|\breplica\b|\bibm\b|\b\d-node\b")


Models = Mapping[str, LlmModel]
"""Networks by the letters and digits of their names."""


def find_model(name: str, params_b: str, known: Models) -> LlmModel | None:
    """Find a measured network by its name, or make one of its size; None where neither is told."""
    key = _key(_NOISE.sub("", name.lower()))
    if key == "llama2" and params_b:
        key = f"llama2{float(params_b):.0f}b"
    found = known.get(_key(_ALIASES.get(key, ""))) or known.get(key)
    if found is not None:
        return found
    return generic(float(params_b)) if params_b else None


def measured_models(specs: Specs) -> Models:
    """Read the table of older networks, and put the project's own beside them."""
    with _TABLE.open(encoding="utf-8", newline="") as lines:
        older = {row["name"]: _model(row) for row in csv.DictReader(lines)}
    return {_key(name): model for name, model in {**older, **specs.llms}.items()}


def generic(params_b: float) -> LlmModel:
    """Make a dense GPT of a size: 12·L·h² parameters, two MLP matrices of 4h."""
    width = (params_b * 1e9 * _ASPECT / 12) ** (1 / 3)
    hidden = max(_WIDTH_STEP, round(width / _WIDTH_STEP) * _WIDTH_STEP)
    layers = max(1, round(params_b * 1e9 / (12 * hidden**2)))
    heads = hidden // _ASPECT
    return _model(
        {
            "name": f"dense-{params_b:g}b",
            "params_b": str(params_b),
            "active_params_b": str(params_b),
            "layers": str(layers),
            "hidden": str(hidden),
            "heads": str(heads),
            "kv_heads": str(heads),
            "head_dim": str(_ASPECT),
            "intermediate": str(4 * hidden),
            "mlp_matrices": "2",
            "vocab": str(_VOCABULARY),
            "source": "assumed from the size",
        }
    )


def _model(row: Mapping[str, str]) -> LlmModel:
    def count(column: str) -> int:
        return int(float(row[column]))

    def optional(column: str) -> int | None:
        return int(float(row[column])) if row.get(column) else None

    layers = count("layers")
    kv_layers = optional("attention_layers") or layers
    return LlmModel(
        name=row["name"],
        hf_id="",
        params_b=float(row["params_b"]),
        active_params_b=float(row["active_params_b"]),
        layers=layers,
        hidden=count("hidden"),
        heads=count("heads"),
        kv_heads=count("kv_heads"),
        head_dim=count("head_dim"),
        intermediate=optional("intermediate"),
        mlp_matrices=count("mlp_matrices"),
        experts=optional("experts"),
        experts_per_token=optional("experts_per_token"),
        moe_intermediate=optional("moe_intermediate"),
        shared_expert_intermediate=optional("shared_expert_intermediate"),
        dense_layers=optional("dense_layers"),
        vocab=count("vocab"),
        max_context_tokens=None,
        attention_kind="gqa",
        kv_layers=kv_layers,
        window_layers=None,
        window_tokens=None,
        kv_lora_rank=None,
        qk_rope_head_dim=None,
        mla_q_lora_rank=None,
        v_head_dim=None,
        kv_bytes_per_token_bf16=4.0 * kv_layers * count("kv_heads") * count("head_dim"),
        source=row["source"],
    )


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
