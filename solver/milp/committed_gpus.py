"""What GPUs of commitments cost at least: how high prices may be before one of them pays."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from solver.milp.clusters import Clusters
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Ints

_HALVINGS = 30


@dataclass(frozen=True, slots=True)
class CommittedGpus:
    """Dollars of a GPU of the cheapest commitment of each machine, by when that is active.

    `usd` is by machine and pattern, infinite where there is none; `active` by pattern and cluster.
    """

    usd: Floats
    active: Floats

    def of(self, machines: Ints) -> "CommittedGpus":
        """Take some machines alone."""
        return CommittedGpus(self.usd[machines], self.active)

    def held(self, prices: Floats) -> Floats:
        """Lower prices, machine by cluster, until no commitment earns more than it costs."""
        for usd, active in zip(self.usd.T, self.active, strict=True):
            earned = prices @ active
            is_more = earned > usd
            share = np.divide(usd, earned, out=np.ones_like(earned), where=is_more)
            prices = prices * share[:, None]
        return prices

    def raised(self, prices: Floats, rent: Floats, hours: Floats) -> Floats:
        """Raise prices evenly until renting (by the hour) or a commitment earns what it costs.

        Where there is neither, they stay.
        """
        can_rent, can_commit = np.isfinite(rent), np.asarray(np.isfinite(self.usd).any(axis=1))
        most = np.maximum(rent[:, None] * hours, prices)
        dearest = self.usd[np.isfinite(self.usd)].max(initial=0.0) / hours.min()
        low, high = np.zeros(len(rent)), np.where(can_rent, rent, dearest)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            earned = np.minimum(prices + middle[:, None] * hours, most) @ self.active.T
            fits = (earned <= self.usd).all(axis=1)
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        raised = np.minimum(prices + low[:, None] * hours, most)
        unbound = np.where(can_rent[:, None], most, prices)
        return np.where(can_commit[:, None], raised, unbound)


def committed_gpus(sets: Sets, clusters: Clusters, *, outlives: bool = True) -> CommittedGpus:
    """Read the commitments of a program, where asked for without those that outlive the horizon."""
    cheapest: dict[tuple[bool, ...], dict[int, float]] = defaultdict(dict)
    for one in sets.committed:
        if one.outlives and not outlives:
            continue
        own = cheapest[one.active]
        usd = one.usd_per_node / sets.machines[one.machine].gpus
        own[one.machine] = min(usd, own.get(one.machine, np.inf))
    by_pattern = np.full((len(sets.machines), len(cheapest)), np.inf)
    for at, by_machine in enumerate(cheapest.values()):
        by_pattern[list(by_machine), at] = list(by_machine.values())
    active = np.array(list(cheapest), dtype=float).reshape(len(cheapest), len(sets.periods))
    return CommittedGpus(by_pattern, active[:, clusters.first])
