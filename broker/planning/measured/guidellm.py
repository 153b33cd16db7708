"""GuideLLM's benchmarks.json: a list of benchmarks, each a strategy and distributions of metrics.

The inter-token latency leaves the first token out, as the time per output token of other clients
does; GuideLLM's own `time_per_output_token_ms` counts it in and is not read. GuideLLM measures any
OpenAI-compatible server: which engine, GPU, group size and precision comes from options.
"""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from broker.planning.measured.raw import MS_PER_S, RawFile, RawServing, in_flight, unreadable


def _empty(value: object) -> object:
    return value if isinstance(value, dict) else {}


class _Summary(BaseModel):
    mean: float | None = None


class _Distribution(BaseModel):
    successful: Annotated[_Summary, BeforeValidator(_empty)] = _Summary()


class _Totals(BaseModel):
    successful: int = 0
    errored: int = 0


class _Metrics(BaseModel):
    request_totals: _Totals = _Totals()
    requests_per_second: _Distribution = _Distribution()
    request_concurrency: _Distribution = _Distribution()
    prompt_token_count: _Distribution = _Distribution()
    output_token_count: _Distribution = _Distribution()
    time_to_first_token_ms: _Distribution = _Distribution()
    inter_token_latency_ms: _Distribution = _Distribution()
    output_tokens_per_second: _Distribution = _Distribution()


class _Strategy(BaseModel):
    streams: int | None = None


class _Named(BaseModel):
    model: str | None = None


class _Config(BaseModel):
    strategy: Annotated[_Strategy, BeforeValidator(_empty)] = _Strategy()
    backend: Annotated[_Named, BeforeValidator(_empty)] = _Named()


class _Benchmark(BaseModel):
    config: Annotated[_Config, BeforeValidator(_empty)] = _Config()
    metrics: _Metrics


class _Report(BaseModel):
    args: Annotated[_Named, BeforeValidator(_empty)] = _Named()
    benchmarks: Annotated[tuple[_Benchmark, ...], Field(min_length=1)]


def is_guidellm(first: object) -> bool:
    """Say whether a JSON value is a report of GuideLLM."""
    return isinstance(first, dict) and isinstance(first.get("benchmarks"), list)


def read_guidellm(value: object, name: str) -> RawFile:
    """Read the benchmarks of a report.

    Raises:
        ConfigurationError: it has none, or a metric is no distribution.
    """
    try:
        report = _Report.model_validate(value)
    except ValidationError as cause:
        first = cause.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise unreadable(name, f"{where}: {first['msg'].lower()}") from cause
    return RawFile(
        "GuideLLM",
        tuple(
            _point(one, model=report.args.model, where=f"benchmark {number}")
            for number, one in enumerate(report.benchmarks, start=1)
        ),
    )


def _point(benchmark: _Benchmark, *, model: str | None, where: str) -> RawServing:
    metrics = benchmark.metrics
    ttft_s = _seconds(metrics.time_to_first_token_ms)
    tpot_s = _seconds(metrics.inter_token_latency_ms)
    outputs = metrics.output_token_count.successful.mean
    little = in_flight(
        requests_per_s=metrics.requests_per_second.successful.mean,
        ttft_s=ttft_s,
        tpot_s=tpot_s,
        outputs=outputs or 0.0,
    )
    totals = metrics.request_totals
    ended = totals.successful + totals.errored
    return RawServing(
        where=where,
        model=benchmark.config.backend.model or model,
        input_tokens=metrics.prompt_token_count.successful.mean,
        output_tokens=outputs,
        concurrency=benchmark.config.strategy.streams
        or metrics.request_concurrency.successful.mean
        or little,
        tpot_s=tpot_s,
        ttft_s=ttft_s,
        tokens_per_s=metrics.output_tokens_per_second.successful.mean,
        failed_share=totals.errored / ended if ended else 0.0,
    )


def _seconds(of: _Distribution) -> float | None:
    return of.successful.mean / MS_PER_S if of.successful.mean else None
