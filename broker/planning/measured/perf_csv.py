"""The CSV of genai-perf and of its successor AIPerf: one run, a metric a row, in two sections.

    Metric,avg,min,max,p99,...          statistics over requests, thousands with a comma
    Time To First Token (ms),...
    <blank>
    Metric,Value                        single figures
    Output Token Throughput (per sec),261.25

AIPerf writes `Time to First Token (ms)`, `Output Token Throughput (tokens/sec)` and further
sections of telemetry, which are not read. The file says neither model nor machine nor concurrency:
they come from options, the last by Little's law where it is not given.
"""

import csv
import re

from broker.planning.measured.raw import MS_PER_S, RawFile, RawServing, in_flight, unreadable

_UNIT = re.compile(r"\s*\([^)]*\)$")


def is_perf(text: str) -> bool:
    """Say whether a text is such a file."""
    return text.lstrip().startswith("Metric,")


def read_perf(text: str, name: str) -> RawFile:
    """Read the run of a file.

    Raises:
        ConfigurationError: it has no latency and no throughput, or a figure is no number.
    """
    figures = _figures(text, name)
    ttft = figures.get("time to first token")
    tpot = figures.get("inter token latency")
    outputs = figures.get("output sequence length")
    rate = figures.get("output token throughput")
    if tpot is None and rate is None:
        raise unreadable(name, "neither Inter Token Latency nor Output Token Throughput is in it")
    ttft_s = ttft / MS_PER_S if ttft else None
    tpot_s = tpot / MS_PER_S if tpot else None
    point = RawServing(
        where="run 1",
        input_tokens=figures.get("input sequence length"),
        output_tokens=outputs,
        concurrency=in_flight(
            requests_per_s=figures.get("request throughput"),
            ttft_s=ttft_s,
            tpot_s=tpot_s,
            outputs=outputs or 0.0,
        ),
        tpot_s=tpot_s,
        ttft_s=ttft_s,
        tokens_per_s=rate,
        failed_share=_failed(figures),
    )
    return RawFile("genai-perf or AIPerf", (point,))


def _figures(text: str, name: str) -> dict[str, float]:
    """Give the first figure of each metric: the average, or the only one."""
    found: dict[str, float] = {}
    for number, row in enumerate(csv.reader(text.splitlines()), start=1):
        if row and row[0].strip() == "Endpoint":  # where AIPerf's telemetry begins
            break
        if not any(row):
            continue
        metric, *values = row
        if metric == "Metric" or not values or not values[0].strip():
            continue
        figure = values[0].replace(",", "").strip()
        try:
            found.setdefault(_UNIT.sub("", metric.strip()).lower(), float(figure))
        except ValueError as cause:
            raise unreadable(name, f"line {number}: {figure!r} is no number") from cause
    return found


def _failed(figures: dict[str, float]) -> float:
    errors, ended = figures.get("error request count", 0.0), figures.get("request count", 0.0)
    return errors / (errors + ended) if errors else 0.0
