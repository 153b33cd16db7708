"""Results of `vllm bench serve` and of `sglang.bench_serving`: one flat JSON object a run.

vLLM writes it with --save-result (one object) or --append-result (one a line), times in ms, the
concurrency that was allowed as `max_concurrency` (null where only the request rate was set), and
each --metadata KEY=VALUE as a key of its own. SGLang appends one object a line, with `backend`, the
mean `concurrency` that was reached, and in newer versions `server_info` of the server's arguments.

The client does not say what it measured on: GPU, group size and precision come from metadata or
from options. A client of vLLM that calls an OpenAI-compatible server is taken to measure vLLM.
"""

import json
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from broker.planning.measured.raw import MS_PER_S, RawFile, RawServing, in_flight, unreadable

_ENGINES = {
    "vllm": "vllm",
    "openai": "vllm",
    "openai-chat": "vllm",
    "openai-completions": "vllm",
    "sglang": "sglang",
    "sglang-native": "sglang",
    "sglang-oai": "sglang",
    "sglang-oai-chat": "sglang",
    "tensorrt-llm": "tensorrt-llm",
    "trt": "tensorrt-llm",
    "trtllm": "tensorrt-llm",
    "lmdeploy": "lmdeploy",
    "tgi": "tgi",
}


def _or_none(value: object) -> object:
    """Take what a client writes for no limit as unsaid."""
    return None if value in ("inf", "Infinity", "", "None") else value


_Number = Annotated[float | None, BeforeValidator(_or_none)]


class _Server(BaseModel):
    """What SGLang tells of its server's arguments."""

    model_path: str | None = None
    tp_size: int | None = None
    quantization: str | None = None
    version: str | None = None


class _Run(BaseModel):
    backend: str | None = Field(
        default=None, validation_alias=AliasChoices("backend", "endpoint_type")
    )
    model_id: str | None = Field(
        default=None, validation_alias=AliasChoices("model_id", "model", "model_name")
    )
    num_prompts: int | None = None
    max_concurrency: _Number = None
    concurrency: _Number = None
    completed: Annotated[int, Field(gt=0)]
    failed: int | None = None
    total_input_tokens: Annotated[float, Field(gt=0)]
    total_output_tokens: Annotated[float, Field(gt=0)]
    request_throughput: _Number = None
    output_throughput: _Number = None
    mean_ttft_ms: _Number = None
    mean_tpot_ms: _Number = None
    server_info: _Server | None = None
    gpu: str | None = None
    gpus: Annotated[int | None, Field(gt=0)] = Field(
        default=None,
        validation_alias=AliasChoices("gpus", "tp", "tp_size", "tensor_parallel_size"),
    )
    precision: str | None = Field(
        default=None, validation_alias=AliasChoices("precision", "quantization", "dtype")
    )
    version: str | None = Field(
        default=None, validation_alias=AliasChoices("engine_version", "version")
    )


def is_bench(first: object) -> bool:
    """Say whether a JSON value is a run of one of the two clients."""
    return isinstance(first, dict) and {"completed", "total_output_tokens"} <= first.keys()


def read_bench(text: str, name: str) -> RawFile:
    """Read the runs of a file.

    Raises:
        ConfigurationError: an object lacks what every run has.
    """
    points: list[RawServing] = []
    kind: Literal["vLLM bench serve", "SGLang bench_serving"] = "vLLM bench serve"
    for number, value in enumerate(objects(text, name), start=1):
        try:
            run = _Run.model_validate(value)
        except ValidationError as cause:
            first = cause.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise unreadable(name, f"run {number}: {where}: {first['msg'].lower()}") from cause
        if isinstance(value, dict) and "total_output_tokens_retokenized" in value:
            kind = "SGLang bench_serving"
        points.append(_point(run, where=f"run {number}"))
    return RawFile(kind, tuple(points))


def objects(text: str, name: str) -> Iterator[object]:
    """Give the JSON values that follow each other in a text, on one line each or not.

    Raises:
        ConfigurationError: there is something else between them.
    """
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as cause:
            line = text.count("\n", 0, cause.pos) + 1
            raise unreadable(name, f"no JSON at line {line}: {cause.msg.lower()}") from cause
        except (ValueError, RecursionError) as cause:  # thousands of digits or of brackets
            line = text.count("\n", 0, at) + 1
            raise unreadable(name, f"the JSON from line {line} is too long or deep") from cause
        yield from value if isinstance(value, list) else [value]


def _point(run: _Run, *, where: str) -> RawServing:
    outputs = run.total_output_tokens / run.completed
    ttft_s = run.mean_ttft_ms / MS_PER_S if run.mean_ttft_ms else None
    tpot_s = run.mean_tpot_ms / MS_PER_S if run.mean_tpot_ms else None
    little = in_flight(
        requests_per_s=run.request_throughput, ttft_s=ttft_s, tpot_s=tpot_s, outputs=outputs
    )
    server = run.server_info or _Server()
    asked = run.num_prompts or run.completed
    lost = run.failed if run.failed is not None else max(0, asked - run.completed)
    return RawServing(
        where=where,
        model=run.model_id or server.model_path,
        gpu=run.gpu,
        gpus=run.gpus or server.tp_size,
        engine=_ENGINES.get(run.backend or "", run.backend),
        engine_version=run.version or server.version,
        precision=run.precision or server.quantization,
        input_tokens=run.total_input_tokens / run.completed,
        output_tokens=outputs,
        concurrency=run.max_concurrency or run.concurrency or little,
        tpot_s=tpot_s,
        ttft_s=ttft_s,
        tokens_per_s=run.output_throughput,
        failed_share=lost / asked,
    )
