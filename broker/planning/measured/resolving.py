"""From what a file says to points: names looked up, gaps filled by options, the rest refused.

An option wins over the file, as clients write local paths for names. Nothing is guessed: what
neither says is asked for. A number format may be read off the name of the checkpoint (`-FP8`,
`-AWQ`), which is then said.
"""

import math
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from broker.domain.errors import ConfigurationError
from broker.domain.gpu import Precision
from broker.domain.offer import Fabric
from broker.domain.workload import Method, TrainingStack
from broker.planning.measured.raw import RawServing, RawTraining
from broker.specs.load import Specs
from solver.sizing.measured import (
    Deployment,
    ServingPoint,
    TrainedOn,
    TrainingPoint,
)

MOST_FAILED_SHARE = 0.05
"""A run that lost more of its requests than this measured something else."""

_FORMATS = (
    (re.compile(r"nvfp4|modelopt_fp4|fp4"), Precision.NVFP4),
    (re.compile(r"mxfp4"), Precision.MXFP4),
    (re.compile(r"fp8"), Precision.FP8),
    (re.compile(r"w8a8|int8"), Precision.INT8),
    (re.compile(r"awq|gptq|w4a16|int4"), Precision.INT4),
    (re.compile(r"bf16|bfloat16"), Precision.BF16),
    (re.compile(r"fp16|float16"), Precision.FP16),
)
_SUFFIX = re.compile(
    r"[-_.](?:nvfp4|mxfp4|fp8(?:-dynamic|-kv)?|fp4|awq(?:-int4)?|gptq(?:-int[48])?|w8a8|w4a16"
    r"|int[48]|bf16|fp16|quantized|dynamic)$",
    flags=re.IGNORECASE,
)
_Choice = TypeVar("_Choice", bound=StrEnum)
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Said:
    """What options say of every point of a file; None is not said."""

    model: str | None = None
    gpu: str | None = None
    gpus: int | None = None
    engine: str | None = None
    engine_version: str | None = None
    precision: str | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    concurrency: float | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A point that is not taken, and why."""

    where: str
    reason: str


@dataclass(slots=True)
class Resolver:
    """Makes points of raw ones; `notes` tells what was concluded rather than read."""

    specs: Specs
    said: Said
    source: str
    notes: list[str] = field(default_factory=list)

    def serving(self, raw: RawServing) -> ServingPoint | Skipped:
        """Make a serving point.

        Raises:
            ConfigurationError: a name is not known, or neither file nor options say a thing.
        """
        if raw.failed_share > MOST_FAILED_SHARE:
            return Skipped(raw.where, f"{raw.failed_share:.0%} of its requests failed")
        if raw.tpot_s is None and raw.tokens_per_s is None:
            return Skipped(raw.where, "it has neither a time per output token nor tokens/s")
        said = self.said
        spelled = _asked(said.model or raw.model, raw.where, "model")
        engine = _engine(_asked(said.engine or raw.engine, raw.where, "engine"))
        point = ServingPoint(
            deployment=Deployment(
                model=self.model(spelled),
                gpu=self.gpu(_asked(said.gpu or raw.gpu, raw.where, "gpu")),
                engine=engine,
                precision=self._precision(said.precision or raw.precision, spelled, raw.where),
            ),
            tensor=_asked(said.gpus or raw.gpus, raw.where, "gpus"),
            input_tokens=_asked(said.input_tokens or raw.input_tokens, raw.where, "input"),
            output_tokens=_asked(said.output_tokens or raw.output_tokens, raw.where, "output"),
            concurrency=_asked(said.concurrency or raw.concurrency, raw.where, "concurrency"),
            tpot_s=raw.tpot_s,
            ttft_s=raw.ttft_s,
            tokens_per_s=raw.tokens_per_s,
            engine_version=said.engine_version or raw.engine_version or "",
            source=raw.source or self.source,
        )
        wrong = _impossible(point)
        return Skipped(raw.where, wrong) if wrong else point

    def training(self, raw: RawTraining) -> TrainingPoint:
        """Make a training point; a run of one node needs no fabric.

        Raises:
            ConfigurationError: a name is not known, or neither file nor options say a thing.
        """
        said = self.said
        spelled = _asked(said.model or raw.model, raw.where, "model")
        gpus = _asked(said.gpus or raw.gpus, raw.where, "gpus")
        _hold_a_sequence(raw)
        return TrainingPoint(
            trained=TrainedOn(
                model=self.model(spelled),
                gpu=self.gpu(_asked(said.gpu or raw.gpu, raw.where, "gpu")),
                stack=_choice(TrainingStack, raw.stack or self._usual("torch", "stack"), raw.where),
                method=_choice(Method, raw.method or self._usual("full", "method"), raw.where),
                precision=_choice(
                    Precision,
                    said.precision or raw.precision or self._usual("bf16", "precision"),
                    raw.where,
                ),
            ),
            gpus=gpus,
            gpus_per_node=raw.gpus_per_node or self._usual(min(gpus, 8), "gpus_per_node"),
            sequence_length=_column(raw.sequence_length, raw.where, "sequence_length"),
            global_batch_tokens=_column(raw.global_batch_tokens, raw.where, "global_batch_tokens"),
            tokens_per_s=_column(raw.tokens_per_s, raw.where, "tokens_per_s"),
            fabric=_choice(Fabric, raw.fabric, raw.where) if raw.fabric else "",
            fabric_gbit_per_s=raw.fabric_gbit_per_s,
            source=raw.source or self.source,
        )

    def model(self, spelled: str) -> str:
        """Give the canonical name of a model: of a hub id, a local path, a quantized checkpoint."""
        last = spelled.replace("\\", "/").rstrip("/").rpartition("/")[2]
        tried = [spelled, last]
        while (shorter := _SUFFIX.sub("", tried[-1])) != tried[-1]:
            tried.append(shorter)
        for name in tried:
            found = _found(self.specs, name)
            if found is not None:
                if found not in spelled.lower():
                    self.note(f"{spelled} is taken for {found}")
                return found
        return self.specs.llm(tried[-1]).name  # raises, with the nearest names

    def gpu(self, spelled: str) -> str:
        """Give the canonical name of a GPU."""
        found = self.specs.resolve_gpu(spelled)
        return found if isinstance(found, str) else self.specs.gpu(spelled).name

    def _precision(self, stated: str | None, model: str, where: str) -> Precision:
        if stated is not None:
            return _format_in(stated) or _choice(Precision, stated, where)
        found = _format_in(model)
        if found is None:
            raise _missing(where, "precision")
        self.note(f"precision {found.value}, as the name {model} says")
        return found

    def _usual(self, value: _Value, column: str) -> _Value:
        self.note(f"{column} is not said: {value} is taken")
        return value

    def note(self, text: str) -> None:
        """Tell of a conclusion, once."""
        if text not in self.notes:
            self.notes.append(text)


def _impossible(point: ServingPoint) -> str:
    """Say which figure is none that can be measured; empty where all can be."""
    figures = {
        "number of GPUs": point.tensor,
        "mean of a prompt's tokens": point.input_tokens,
        "mean of an answer's tokens": point.output_tokens,
        "number of requests in flight": point.concurrency,
        "time per output token": point.tpot_s,
        "time to the first token": point.ttft_s,
        "number of tokens/s": point.tokens_per_s,
    }
    wrong = (
        f"its {name} is {value:g}, no positive number"
        for name, value in figures.items()
        if value is not None and not 0 < value < math.inf
    )
    return next(wrong, "")


def _asked(value: _Value | None, where: str, option: str) -> _Value:
    if value is None or value == "":
        raise _missing(where, option)
    return value


def _engine(spelled: str) -> str:
    """Give an engine's canonical name; one that no service runs on keeps its own."""
    name = spelled.strip().lower().replace("_", "-")
    if name in ("trt", "trtllm", "trt-llm", "tensorrtllm"):
        return "tensorrt-llm"
    return name


def _missing(where: str, option: str) -> ConfigurationError:
    return ConfigurationError(
        f"{where}: the file does not say the {option.replace('gpus', 'number of GPUs')}",
        hint=f"add --{option}, which then holds for every point of the file",
    )


def _column(value: _Value | None, where: str, column: str) -> _Value:
    if value is None:
        raise ConfigurationError(
            f"{where}: {column} is empty", hint="a training run needs it; write it there"
        )
    return value


def _hold_a_sequence(raw: RawTraining) -> None:
    """Refuse a batch below one sequence, as that of a workload is."""
    sequence = _column(raw.sequence_length, raw.where, "sequence_length")
    batch = _column(raw.global_batch_tokens, raw.where, "global_batch_tokens")
    if batch < sequence:
        raise ConfigurationError(
            f"{raw.where}: global_batch_tokens {batch} is below sequence_length {sequence}",
            hint="write the tokens of all sequences of one step there, not their number",
        )


def _choice(kind: type[_Choice], text: str, where: str) -> _Choice:
    try:
        return kind(text.strip().lower())
    except ValueError as cause:
        known = ", ".join(kind)
        raise ConfigurationError(
            f"{where}: {text!r} is no {kind.__name__.lower()}", hint=f"write one of: {known}"
        ) from cause


def _format_in(text: str) -> Precision | None:
    lowered = text.lower()
    if "mxfp4" in lowered:
        return Precision.MXFP4
    return next((kind for pattern, kind in _FORMATS if pattern.search(lowered)), None)


def _found(specs: Specs, name: str) -> str | None:
    try:
        return specs.llm(name).name
    except ConfigurationError:
        return None
