"""Latency objectives: limits at a percentile, written out or by the name of a preset.

    preset    TTFT            TPOT            whose limits
    chat      450 ms at p99   40 ms at p99    MLPerf Inference v5.0, Llama 2 70B interactive
    document  6 s at p99      175 ms at p99   MLPerf Inference v5.0, Llama 3.1 405B server
    batch     60 s at p50     1 s at p50      our own: nobody waits for the answer

The first is what people who read along take for immediate (25 tokens a second); the second was
chosen for prompts of thousands of tokens. Source: mlcommons.org/2025/04/llm-inference-v5 and the
inference rules of that round.
"""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Self

from pydantic import ConfigDict, model_validator
from pydantic.config import JsonDict

from broker.domain.quantities import Duration, Frozen


class Preset(StrEnum):
    """Limits that go by a name."""

    CHAT = "chat"
    DOCUMENT = "document"
    BATCH = "batch"


class Percentile(Frozen):
    """A latency limit at one percentile of the requests."""

    p50: Duration | None = None
    p90: Duration | None = None
    p95: Duration | None = None
    p99: Duration | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self._given()) != 1:
            raise ValueError("give exactly one of p50, p90, p95, p99, such as {p95: 800 ms}")
        return self

    @property
    def share(self) -> float:
        """Give the part of the requests that must be within the limit."""
        return next(iter(self._given()))

    @property
    def limit_s(self) -> float:
        """Give the limit in seconds."""
        return next(iter(self._given().values())).total_seconds()

    def _given(self) -> dict[float, timedelta]:
        limits = {0.5: self.p50, 0.9: self.p90, 0.95: self.p95, 0.99: self.p99}
        return {share: limit for share, limit in limits.items() if limit is not None}


_LIMITS: Mapping[Preset, Mapping[str, Percentile]] = MappingProxyType(
    {
        Preset.CHAT: {
            "ttft": Percentile(p99=timedelta(milliseconds=450)),
            "tpot": Percentile(p99=timedelta(milliseconds=40)),
        },
        Preset.DOCUMENT: {
            "ttft": Percentile(p99=timedelta(seconds=6)),
            "tpot": Percentile(p99=timedelta(milliseconds=175)),
        },
        Preset.BATCH: {
            "ttft": Percentile(p50=timedelta(seconds=60)),
            "tpot": Percentile(p50=timedelta(seconds=1)),
        },
    }
)


def named_or_written(schema: JsonDict) -> None:
    """Let the `slo` of a schema be the name of a preset, too."""
    properties = schema["properties"]
    if isinstance(properties, dict):
        names: JsonDict = {"type": "string", "enum": [one.value for one in Preset]}
        properties["slo"] = {"anyOf": [names, properties["slo"]]}


def _limits_or_preset(schema: JsonDict) -> None:
    """Ask for both limits where no preset gives them."""
    schema.pop("required", None)
    schema["anyOf"] = [{"required": ["preset"]}, {"required": ["ttft", "tpot"]}]


class LatencyObjective(Frozen):
    """Limits on the time to the first token and on the time per output token after it.

    A file may write the name of a preset instead, or name one beside a limit that differs from it;
    the limits are filled in when the file is read.
    """

    model_config = ConfigDict(json_schema_extra=_limits_or_preset)

    preset: Preset | None = None
    ttft: Percentile
    tpot: Percentile

    @model_validator(mode="before")
    @classmethod
    def _filled_in(cls, value: object) -> object:
        written = {"preset": value} if isinstance(value, str) else value
        if not isinstance(written, Mapping) or written.get("preset") is None:
            return written
        try:
            preset = Preset(written["preset"])
        except ValueError as cause:
            names = ", ".join(Preset)
            raise ValueError(
                f"{written['preset']!r} is no preset; write one of {names}, "
                "or limits such as {ttft: {p95: 1 s}, tpot: {p95: 50 ms}}"
            ) from cause
        return {**_LIMITS[preset], **written, "preset": preset}
