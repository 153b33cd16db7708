"""A fleet: replicas on machines, gangs at their times, reservations. The repaired answer."""

from dataclasses import dataclass, field

from solver.milp.sets import Floats


@dataclass(slots=True)
class Fleet:
    """What runs where, by positions in the sets.

    `replicas` are those of a group as the program counts them: by block where one kind serves each
    demand, else by period. `shares` are the parts of each size class that go to a kind. A run has
    an option and the periods in which its gang is up.
    """

    replicas: dict[int, Floats] = field(default_factory=dict)
    shares: dict[int, tuple[float, ...]] = field(default_factory=dict)
    runs: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    committed: dict[int, int] = field(default_factory=dict)
    keeps_peak: bool = False
