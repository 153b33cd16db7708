"""Where a user's measurements are kept: one CSV file, replaced in one step."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from broker.domain.errors import ConfigurationError
from broker.planning.measured.plain import write_plain
from broker.planning.measured.reading import read_text, text_of
from broker.planning.measured.resolving import Resolver, Said, Skipped
from broker.settings import Settings
from broker.specs.load import Specs
from solver.sizing.measured import ServingPoint, TrainingPoint

FILE_NAME = "measurements.csv"


@dataclass(frozen=True, slots=True)
class Measurements:
    """All points that are kept."""

    serving: tuple[ServingPoint, ...] = ()
    training: tuple[TrainingPoint, ...] = ()

    def __len__(self) -> int:
        return len(self.serving) + len(self.training)

    def with_more(self, other: "Measurements") -> "Measurements":
        """Add points; one at the place of an older one of the same configuration replaces it."""
        serving = {_place(one): one for one in (*self.serving, *other.serving)}
        training = {(one.trained, one.at): one for one in (*self.training, *other.training)}
        return Measurements(tuple(serving.values()), tuple(training.values()))


def measurements_path(settings: Settings) -> Path:
    """Give the file in the data folder."""
    return settings.data_dir / FILE_NAME


def read_book(path: Path, specs: Specs) -> Measurements:
    """Read the points that are kept; none where there is no file.

    Raises:
        ConfigurationError: the file cannot be read, or a name in it is not known any more.
    """
    if not path.exists():
        return Measurements()
    raw = read_text(text_of(path), str(path))
    resolver = Resolver(specs, Said(), str(path))
    serving = [resolver.serving(one) for one in raw.serving]
    return Measurements(
        tuple(one for one in serving if not isinstance(one, Skipped)),
        tuple(resolver.training(one) for one in raw.training),
    )


def write_book(path: Path, kept: Measurements) -> None:
    """Write all points: whoever reads the file finds the old ones or the new ones.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    text = write_plain(_ordered(kept.serving), kept.training)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            beside.write_text(text, encoding="utf-8")
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as cause:
        raise ConfigurationError(
            f"{str(path)!r} cannot be written: {cause.strerror}", hint="check its folder"
        ) from cause


def _ordered(points: Iterable[ServingPoint]) -> list[ServingPoint]:
    return sorted(points, key=lambda one: (str(one.deployment), one.tensor, one.at))


def _place(point: ServingPoint) -> tuple[object, ...]:
    return (point.deployment, point.tensor, point.at)
