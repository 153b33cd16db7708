"""What the program is to reach on generated instances, and how long a run may take by itself."""

from typing import NamedTuple


class Goal(NamedTuple):
    """A proven gap within seconds, on instances of a size and scale."""

    size: str
    scale: float
    gap: float
    within_s: float

    @property
    def instance(self) -> str:
        """Name the instances."""
        return instance_name(self.size, self.scale)


class Ends(NamedTuple):
    """Where a run ends: at a proven gap, or after seconds."""

    gap: float
    time_limit_s: float


GOALS = (
    Goal("small", 1.0, 0.005, 30.0),
    Goal("small", 1.0, 0.001, 120.0),
    Goal("small", 8.0, 0.001, 60.0),
    Goal("medium", 1.0, 0.05, 300.0),
    Goal("medium", 1.0, 0.03, 900.0),
    Goal("large", 1.0, 0.08, 1200.0),
    Goal("huge", 1.0, 0.15, 1800.0),
)


def instance_name(size: str, scale: float) -> str:
    """Name the instances of a size and scale."""
    return size if scale == 1 else f"{size}, fleets ×{scale:g}"


def default_ends(size: str, scale: float) -> Ends:
    """Take the hardest goal of an instance; where it has none, that of its size."""
    same = [one for one in GOALS if (one.size, one.scale) == (size, scale)]
    alike = same or [one for one in GOALS if one.size == size]
    if not alike:
        return Ends(0.001, 60.0)
    hardest = min(alike, key=lambda one: one.gap)
    return Ends(hardest.gap, hardest.within_s)
