"""What a service runs on: the engine, and the format of its cache."""

from enum import StrEnum


class ServingEngine(StrEnum):
    """The engine that a service runs on."""

    VLLM = "vllm"
    SGLANG = "sglang"
    TENSORRT_LLM = "tensorrt-llm"


class KvPrecision(StrEnum):
    """The format of cached keys and values."""

    BF16 = "bf16"
    FP8 = "fp8"
