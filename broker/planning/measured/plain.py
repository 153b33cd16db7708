"""A plain CSV of measurements, one a row: what people write by hand, and how points are kept.

A row is of serving, or of training where its `kind` says so or it has a sequence length. An empty
cell is not said.
"""

import csv
import io
from collections.abc import Iterable

from broker.planning.measured.raw import MS_PER_S, RawFile, RawServing, RawTraining, unreadable
from solver.sizing.measured import ServingPoint, TrainingPoint

SERVING = (
    "model",
    "gpu",
    "gpus",
    "engine",
    "engine_version",
    "precision",
    "input_tokens",
    "output_tokens",
    "concurrency",
    "tpot_ms",
    "ttft_ms",
    "tokens_per_s",
)
TRAINING = (
    "model",
    "gpu",
    "gpus",
    "precision",
    "tokens_per_s",
    "gpus_per_node",
    "stack",
    "method",
    "sequence_length",
    "global_batch_tokens",
    "fabric",
    "fabric_gbit_per_s",
)
COLUMNS = ("kind", *dict.fromkeys((*SERVING, *TRAINING)), "source")
_NEEDED = {"tpot_ms", "tokens_per_s"}
_FIRST_LINE = 2


def is_plain(text: str) -> bool:
    """Say whether the first line of a text names columns of ours, a measured one among them."""
    header = {one.strip().lower() for one in text.lstrip().split("\n", 1)[0].split(",")}
    return bool(header & _NEEDED) and len(header & set(COLUMNS)) > 1


def read_plain(text: str, name: str) -> RawFile:
    """Read the rows of a file.

    Raises:
        ConfigurationError: a column is not known, or a figure is no positive number.
    """
    reader = csv.DictReader(io.StringIO(text.lstrip()), skipinitialspace=True)
    header = [one.strip().lower() for one in reader.fieldnames or ()]
    strange = sorted(set(header) - set(COLUMNS))
    if strange:
        raise unreadable(name, f"no column is called {strange[0]!r}")
    serving: list[RawServing] = []
    training: list[RawTraining] = []
    for number, cells in enumerate(reader, start=_FIRST_LINE):
        row = _Row(
            {str(key).strip().lower(): (cell or "").strip() for key, cell in cells.items() if key},
            name,
            number,
        )
        if row.text("kind") == "training" or row.text("sequence_length"):
            training.append(_training(row))
        else:
            serving.append(_serving(row))
    return RawFile("plain CSV", tuple(serving), tuple(training))


def write_plain(serving: Iterable[ServingPoint], training: Iterable[TrainingPoint]) -> str:
    """Write points as such a file."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_cells_of_serving(one) for one in serving)
    writer.writerows(_cells_of_training(one) for one in training)
    return out.getvalue()


class _Row:
    """One row, read by column."""

    def __init__(self, cells: dict[str, str], name: str, number: int) -> None:
        self._cells = cells
        self._name = name
        self.where = f"line {number}"

    def text(self, column: str) -> str | None:
        return self._cells.get(column) or None

    def number(self, column: str) -> float | None:
        cell = self.text(column)
        if cell is None:
            return None
        try:
            value = float(cell)
        except ValueError:
            value = 0.0
        if not 0 < value < float("inf"):
            raise unreadable(self._name, f"{self.where}: {column}: {cell!r} is no positive number")
        return value

    def count(self, column: str) -> int | None:
        value = self.number(column)
        if value is not None and round(value) < 1:
            raise unreadable(self._name, f"{self.where}: {column}: {value:g} is less than one")
        return None if value is None else round(value)

    def seconds(self, column: str) -> float | None:
        value = self.number(column)
        return None if value is None else value / MS_PER_S


def _serving(row: _Row) -> RawServing:
    return RawServing(
        where=row.where,
        model=row.text("model"),
        gpu=row.text("gpu"),
        gpus=row.count("gpus"),
        engine=row.text("engine"),
        engine_version=row.text("engine_version"),
        precision=row.text("precision"),
        input_tokens=row.number("input_tokens"),
        output_tokens=row.number("output_tokens"),
        concurrency=row.number("concurrency"),
        tpot_s=row.seconds("tpot_ms"),
        ttft_s=row.seconds("ttft_ms"),
        tokens_per_s=row.number("tokens_per_s"),
        source=row.text("source"),
    )


def _training(row: _Row) -> RawTraining:
    return RawTraining(
        where=row.where,
        model=row.text("model"),
        gpu=row.text("gpu"),
        gpus=row.count("gpus"),
        gpus_per_node=row.count("gpus_per_node"),
        stack=row.text("stack"),
        method=row.text("method"),
        precision=row.text("precision"),
        sequence_length=row.count("sequence_length"),
        global_batch_tokens=row.count("global_batch_tokens"),
        tokens_per_s=row.number("tokens_per_s"),
        fabric=row.text("fabric"),
        fabric_gbit_per_s=row.number("fabric_gbit_per_s"),
        source=row.text("source"),
    )


def _cells_of_serving(point: ServingPoint) -> dict[str, object]:
    deployment = point.deployment
    return {
        "kind": "serving",
        "model": deployment.model,
        "gpu": deployment.gpu,
        "gpus": point.tensor,
        "engine": deployment.engine,
        "engine_version": point.engine_version,
        "precision": deployment.precision.value,
        "input_tokens": f"{point.input_tokens:g}",
        "output_tokens": f"{point.output_tokens:g}",
        "concurrency": f"{point.concurrency:g}",
        "tpot_ms": _ms(point.tpot_s),
        "ttft_ms": _ms(point.ttft_s),
        "tokens_per_s": "" if point.tokens_per_s is None else f"{point.tokens_per_s:.6g}",
        "source": point.source,
    }


def _cells_of_training(point: TrainingPoint) -> dict[str, object]:
    trained = point.trained
    fabric = point.fabric_gbit_per_s
    return {
        "kind": "training",
        "model": trained.model,
        "gpu": trained.gpu,
        "gpus": point.gpus,
        "gpus_per_node": point.gpus_per_node,
        "stack": trained.stack.value,
        "method": trained.method.value,
        "precision": trained.precision.value,
        "sequence_length": point.sequence_length,
        "global_batch_tokens": point.global_batch_tokens,
        "tokens_per_s": f"{point.tokens_per_s:.6g}",
        "fabric": point.fabric,
        "fabric_gbit_per_s": "" if fabric is None else f"{fabric:g}",
        "source": point.source,
    }


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * MS_PER_S:.6g}"
