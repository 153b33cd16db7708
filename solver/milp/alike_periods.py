"""Which periods are alike enough to be added up."""

from collections.abc import Iterable

import numpy as np

from solver.milp.clusters import Clusters, Floats, Ints
from solver.milp.sets import Sets

MANY_PERIODS = 120
"""From here on hours are added up."""
CLUSTERS = 40
"""So many cost a fifth of a percent of the bound, of 168 hours, and a tenth of the time."""
_SAME = 1e-12
_PARTED = 0.5
"""So much of a load, from nothing to the largest, is it to be parted or not."""


def clusters_of(sets: Sets, clusters: int, parted: Iterable[Ints] = ()) -> Clusters:
    """Put periods with like loads together: split where they differ most, until there are enough.

    To be in the window of a run or not counts as much as a load of nothing or the largest one, to
    be among some `parted` periods half as much.
    Periods that differ in what is owned, or what commitments are active, are never together. More
    clusters are parts of those of fewer.
    """
    alike = np.vstack([_loads_and_windows(sets), *(_are_in(sets, own) for own in parted)])
    parts = _that_may_be_together(sets)
    while len(parts) < clusters:
        spreads = [float(alike[:, own].var(axis=1).sum()) * len(own) for own in parts]
        widest = int(np.argmax(spreads))
        if spreads[widest] <= _SAME:
            break
        own = parts.pop(widest)
        one = alike[int(alike[:, own].var(axis=1).argmax())][own]
        parts += [own[one <= one.mean()], own[one > one.mean()]]
    found = np.zeros(len(sets.periods), dtype=np.int64)
    for number, own in enumerate(parts):
        found[own] = number
    return Clusters(found)


def _loads_and_windows(sets: Sets) -> Floats:
    """Give each demand's load as a part of its peak, and who may run, by period."""
    by_class = (one.load_requests_per_s.sum(axis=0) for one in sets.demands)
    windows = dict.fromkeys((one.run, one.window) for one in sets.run_options)
    alike = np.zeros((len(sets.demands) + len(windows), len(sets.periods)))
    for number, load in enumerate(by_class):
        alike[number] = load / max(float(load.max(initial=0.0)), 1)
    for number, (_, window) in enumerate(windows, start=len(sets.demands)):
        alike[number, list(window)] = 1.0
    return alike


def _are_in(sets: Sets, periods: Ints) -> Floats:
    return np.where(np.isin(np.arange(len(sets.periods)), periods), _PARTED, 0.0)


def _that_may_be_together(sets: Sets) -> list[Ints]:
    owned = list(dict.fromkeys(one.owned for one in sets.machines if any(one.owned)))
    active = list(dict.fromkeys(one.active for one in sets.committed))
    facts: dict[tuple[object, ...], list[int]] = {}
    for period, one in enumerate(sets.periods):
        fact = (one.hours, *(own[period] for own in owned), *(own[period] for own in active))
        facts.setdefault(fact, []).append(period)
    return [np.array(own) for own in facts.values()]
