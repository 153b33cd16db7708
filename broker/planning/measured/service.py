"""The door for a user's own measurements: import files, list what is kept, hand it to sizing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from broker.domain.engine import ServingEngine
from broker.domain.errors import ConfigurationError
from broker.domain.llm import LlmModel
from broker.planning.measured.book import (
    Measurements,
    measurements_path,
    read_book,
    write_book,
)
from broker.planning.measured.reading import read_file
from broker.planning.measured.resolving import Resolver, Said, Skipped
from broker.reports.measured_rows import MeasuredRow
from broker.settings import Settings
from broker.specs.load import Specs
from solver.sizing.measured import LEAST_SERVING_POINTS, NO_NUMBERS, OwnNumbers
from solver.sizing.measured_points import own_numbers

_REFUSED = "no: the sizing refuses the configuration"


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of an import: the format, what was concluded, what was skipped, what is kept."""

    format: str
    notes: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    taken: Measurements
    kept: Measurements
    path: Path


class MeasurementService:
    """Imports and lists measurements; they lie in the data folder or in a file that is named."""

    def __init__(self, settings: Settings, specs: Specs) -> None:
        self._settings = settings
        self._specs = specs

    def import_file(self, path: Path, said: Said, into: Path | None = None) -> Imported:
        """Read a file and keep its points beside those that are kept already.

        Raises:
            ConfigurationError: it cannot be read, a name is not known, or something is not said.
        """
        raw = read_file(path)
        resolver = Resolver(self._specs, said, path.name)
        serving = [resolver.serving(one) for one in raw.serving]
        taken = Measurements(
            tuple(one for one in serving if not isinstance(one, Skipped)),
            tuple(resolver.training(one) for one in raw.training),
        )
        skipped = tuple(one for one in serving if isinstance(one, Skipped))
        if not len(taken):
            why = "; ".join(f"{one.where}: {one.reason}" for one in skipped) or "it is empty"
            raise ConfigurationError(
                f"{str(path)!r} has no point to take: {why}", hint="check how the benchmark ended"
            )
        target = into or measurements_path(self._settings)
        kept = read_book(target, self._specs).with_more(taken)
        write_book(target, kept)
        return Imported(raw.format, tuple(resolver.notes), skipped, taken, kept, target)

    def rows(self, path: Path | None = None) -> tuple[MeasuredRow, ...]:
        """Show what is kept: a row of each deployment.

        Raises:
            ConfigurationError: the file cannot be read.
        """
        settings, specs = self._settings, self._specs
        kept = read_book(path or measurements_path(settings), specs)
        return measured_rows(kept, own_numbers_of(settings, specs, path=path))


def own_numbers_of(
    settings: Settings,
    specs: Specs,
    *,
    path: Path | None = None,
    models: Mapping[str, LlmModel] | None = None,
) -> OwnNumbers:
    """Give the corrections that the kept points support; `models` are those beside the tables.

    Raises:
        ConfigurationError: the file of points cannot be read.
    """
    file = path or measurements_path(settings)
    if not file.exists():
        return NO_NUMBERS
    kept = read_book(file, specs)
    beside = models or {}
    return own_numbers(
        kept.serving,
        kept.training,
        gpu_of=specs.gpu,
        model_of=lambda name: beside.get(name) or specs.llm(name),
    )


def measured_rows(kept: Measurements, own: OwnNumbers) -> tuple[MeasuredRow, ...]:
    """Make a row of each deployment with points: how many, and what they say of its estimates."""
    rows = [*_serving_rows(kept, own), *_training_rows(kept, own)]
    return tuple(sorted(rows, key=lambda row: (row.kind, row.model, row.gpu)))


def _serving_rows(kept: Measurements, own: OwnNumbers) -> Iterator[MeasuredRow]:
    for deployment in dict.fromkeys(one.deployment for one in kept.serving):
        points = [one for one in kept.serving if one.deployment == deployment]
        known = own.serving.get(deployment)
        factors = [known.step.at(one.at).factor for one in points] if known else []
        yield MeasuredRow(
            kind="serving",
            model=deployment.model,
            gpu=deployment.gpu,
            engine=deployment.engine,
            precision=deployment.precision.value,
            points=len(points),
            low_factor=min(factors, default=None),
            high_factor=max(factors, default=None),
            used=_serving_use(deployment.engine, len(points), known=known is not None),
        )


def _training_rows(kept: Measurements, own: OwnNumbers) -> Iterator[MeasuredRow]:
    for trained in dict.fromkeys(one.trained for one in kept.training):
        points = [one for one in kept.training if one.trained == trained]
        known = own.training.get(trained)
        factors = [known.at(one.at).factor for one in points] if known else []
        yield MeasuredRow(
            kind="training",
            model=trained.model,
            gpu=trained.gpu,
            engine=f"{trained.stack.value} {trained.method.value}",
            precision=trained.precision.value,
            points=len(points),
            low_factor=min(factors, default=None),
            high_factor=max(factors, default=None),
            used="yes" if known else _REFUSED,
        )


def _serving_use(engine: str, points: int, *, known: bool) -> str:
    if engine not in tuple(ServingEngine):
        return f"no: no service runs on {engine}"
    if points < LEAST_SERVING_POINTS:
        return f"no: needs {LEAST_SERVING_POINTS} points"
    return "yes" if known else _REFUSED
