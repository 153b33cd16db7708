"""Whether configurations fit: none that was measured may be refused; weights and caches of logs."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from judging import Verdict
from serving_rows import Refused, Row, precision_of, usual_link

from broker.domain.errors import ConfigurationError
from broker.specs.load import Specs
from broker.specs.tables import Row as Cells
from broker.specs.tables import read_table, text
from solver.sizing.engines import PLANNED
from solver.sizing.precisions import Arithmetic
from solver.sizing.serving_facts import Replica, Split
from solver.sizing.serving_memory import room, sequence_gib

GIB = 2.0**30
_KV_BITS = {"fp8": 8.0}


@dataclass(frozen=True, slots=True)
class StartLog:
    """What an engine printed as it started, beside the formulas; None where it did not say."""

    id: str
    gpu: str
    weights_gib: float
    told_weights_gib: float | None
    kv_ratio: float | None
    started: bool
    fits: bool

    @property
    def weights_ratio(self) -> float | None:
        """Give the size of the weights by the formula over that of the log."""
        return self.weights_gib / self.told_weights_gib if self.told_weights_gib else None

    @property
    def verdict(self) -> Verdict:
        """Give the weights of one GPU in GiB beside the log's; without them, whether it starts."""
        if self.told_weights_gib is None:
            told, found, metric = float(self.started), float(self.fits), "starts"
        else:
            told, found, metric = self.told_weights_gib, self.weights_gib, "weights_gib"
        return Verdict(self.id, self.gpu, "serving", metric, told, found, label="calibrated")


def refused_although_measured(rows: Iterable[Row | Refused]) -> list[Row]:
    """List the measured configurations that the product would refuse for want of memory."""
    found = []
    for row in rows:
        if isinstance(row, Row):
            tokens = row.input_tokens + row.output_tokens
            if not room(row.replica).max_sequences(sequence_gib(row.replica, tokens=tokens)):
                found.append(row)
    return found


def start_logs(specs: Specs) -> Iterator[StartLog]:
    """Hold the formulas against the project's own table of start logs."""
    for cell in read_table("measurements_memory_serving.csv"):
        yield _start_log(cell, specs)


def judge_start_logs(path: Path, specs: Specs) -> list[Verdict]:
    """Judge every row of a file of start logs; a GPU or network of no table is refused."""
    found = []
    with path.open(encoding="utf-8", newline="") as lines:
        for cell in csv.DictReader(lines):
            try:
                found.append(_start_log(cell, specs).verdict)
            except ConfigurationError:
                reason = "gpu_or_model_unknown"
                bare = Verdict(cell["id"], cell["gpu"], "serving", "starts", 0.0, reason=reason)
                found.append(bare)
    return found


def _start_log(cell: Cells, specs: Specs) -> StartLog:
    """Work out weights and bytes per cached token, and whether one sequence fits."""
    gpu, model = specs.gpu(text(cell, "gpu")), specs.llm(_model(text(cell, "model")))
    precision = precision_of(text(cell, "weight_precision"), model)
    tensor = int(text(cell, "tp") or 1)
    replica = Replica(
        gpu,
        model,
        Arithmetic(precision, gpu.bf16_tflops or 1.0),
        Split(tensor=tensor),
        usual_link(gpu, tensor),
        PLANNED,
        kv_bits=_KV_BITS.get(text(cell, "kv_precision"), 16.0),
    )
    weights, kv = text(cell, "weights_gib_per_gpu"), text(cell, "kv_gib_per_gpu")
    tokens, longest = text(cell, "kv_tokens"), text(cell, "max_model_len")
    each = sequence_gib(replica, tokens=1000.0) / 1000
    asked = float(longest or 8192)
    return StartLog(
        id=text(cell, "id"),
        gpu=gpu.name,
        weights_gib=room(replica).weights_gib,
        told_weights_gib=float(weights) if weights else None,
        kv_ratio=each * float(tokens) / float(kv) if kv and tokens else None,
        started=text(cell, "status") == "fits",
        fits=room(replica).max_sequences(sequence_gib(replica, tokens=asked)) >= 1,
    )


def memory_lines(specs: Specs, table: Sequence[Row | Refused]) -> list[str]:
    """Tell of memory, as lines of Markdown."""
    refused = refused_although_measured(table)
    measured = sum(isinstance(row, Row) for row in table)
    logs = list(start_logs(specs))
    weights = [abs(one.weights_ratio - 1) for one in logs if one.weights_ratio]
    caches = [abs(one.kv_ratio - 1) for one in logs if one.kv_ratio]
    right = sum(one.fits == one.started for one in logs)
    named = ", ".join(sorted({f"{row.group} ({row.scenario})" for row in refused}))
    return [
        f"Of {measured:,} measured configurations the product would refuse {len(refused)} for want",
        f"of memory{f' ({named})' if refused else ''}. Of {len(logs)} start logs it tells {right}",
        "rightly that the context asked for fits or does not; weights are within",
        f"{100 * max(weights):.1f} % in all of {len(weights)}, and bytes per cached token within",
        f"{100 * median(caches):.1f} % in half of {len(caches)}, {100 * max(caches):.1f} % in all.",
        "",
    ]


def _model(name: str) -> str:
    """Name the network of the tables that a start log means: the same shape under another name."""
    return {"deepseek-r1-distill-qwen-14b": "qwen2.5-14b", "minimax-m2": "minimax-m2.5"}.get(
        name.lower(), name.lower()
    )
