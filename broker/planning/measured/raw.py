"""What a benchmark file says of one point, before names are known and gaps are filled."""

from dataclasses import dataclass
from typing import Final

from broker.domain.errors import ConfigurationError

MS_PER_S: Final = 1000.0


@dataclass(frozen=True, slots=True)
class RawServing:
    """One serving point as a file has it; None is not said. `where` finds it in the file.

    `concurrency` is requests in flight, `gpus` those of one replica. `failed_share` is the part of
    the requests that did not end well.
    """

    where: str
    model: str | None = None
    gpu: str | None = None
    gpus: int | None = None
    engine: str | None = None
    engine_version: str | None = None
    precision: str | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    concurrency: float | None = None
    tpot_s: float | None = None
    ttft_s: float | None = None
    tokens_per_s: float | None = None
    failed_share: float = 0.0
    source: str | None = None


@dataclass(frozen=True, slots=True)
class RawTraining:
    """One training run as a file has it; None is not said. Tokens/s are of all GPUs."""

    where: str
    model: str | None = None
    gpu: str | None = None
    gpus: int | None = None
    gpus_per_node: int | None = None
    stack: str | None = None
    method: str | None = None
    precision: str | None = None
    sequence_length: int | None = None
    global_batch_tokens: int | None = None
    tokens_per_s: float | None = None
    fabric: str | None = None
    fabric_gbit_per_s: float | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class RawFile:
    """What a file holds, and of which format it was taken to be."""

    format: str
    serving: tuple[RawServing, ...] = ()
    training: tuple[RawTraining, ...] = ()


def unreadable(name: str, why: str) -> ConfigurationError:
    """Say that a file of measurements cannot be read, and what can."""
    return ConfigurationError(
        f"{name}: {why}",
        hint="measurements import reads the result of `vllm bench serve --save-result`, of "
        "sglang.bench_serving --output-file, GuideLLM's JSON, the CSV of genai-perf or AIPerf, and "
        "a plain CSV; docs/sizing.md has its columns",
    )


def in_flight(
    *, requests_per_s: float | None, ttft_s: float | None, tpot_s: float | None, outputs: float
) -> float | None:
    """Give the mean requests in flight by Little's law; None where a part is not known."""
    if requests_per_s is None or ttft_s is None or tpot_s is None:
        return None
    return requests_per_s * (ttft_s + max(0.0, outputs - 1) * tpot_s)
