"""Periods that are added up: what they sum to."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Clusters:
    """The cluster of each period (`of`): clusters are numbered from 0, none is empty.

    `count` is how many periods each has, `first` one of them.
    """

    of: Ints
    count: Ints = field(init=False)
    first: Ints = field(init=False)

    def __post_init__(self) -> None:
        """Count the periods of each."""
        object.__setattr__(self, "count", np.bincount(self.of))
        object.__setattr__(self, "first", np.unique(self.of, return_index=True)[1])

    @classmethod
    def single(cls, periods: int) -> "Clusters":
        """Add nothing up."""
        return cls(np.arange(periods))

    def summed(self, by_period: Floats) -> Floats:
        """Add up what is by period in the last place; all that is equal in a cluster, exactly."""
        if len(self.count) == len(self.of):
            return np.asarray(by_period[..., self.first])
        parts = [by_period[..., self.of == one].sum(axis=-1) for one in range(len(self.count))]
        return np.stack(parts, axis=-1) if parts else by_period

    def least(self, by_period: Floats) -> Floats:
        """Give the least of each cluster of what is by period in the last place."""
        parts = [by_period[..., self.of == one].min(axis=-1) for one in range(len(self.count))]
        return np.stack(parts, axis=-1) if parts else by_period

    def is_even(self, by_period: Floats) -> npt.NDArray[np.bool_]:
        """Say of each row whether it is the same in all periods of each cluster."""
        return np.asarray((by_period == by_period[:, self.first][:, self.of]).all(axis=1))

    def mean(self, by_period: Floats) -> Floats:
        """Average what is by period in the last place."""
        return np.asarray(self.summed(by_period) / self.count)
