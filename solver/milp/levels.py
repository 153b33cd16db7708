"""Levels: what outlives the horizon, machine by machine, stacked by break-even."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from solver.milp.savings import PlanRate, SavingsPlan
from solver.milp.sets import Committed, Group, Kind, Level, Machine

Outliving = Mapping[int, Sequence[tuple[float, bool, int]]]
"""What outlives the horizon by machine: break-even, whether a plan's rate, and its position."""


def outliving_by_machine(
    committed: Sequence[Committed], plans: Sequence[SavingsPlan], plan_rates: Sequence[PlanRate]
) -> Outliving:
    """Gather commitments and rates of savings plans whose term ends after the horizon."""
    found: dict[int, list[tuple[float, bool, int]]] = {}
    for at, one in enumerate(committed):
        if one.outlives:
            found.setdefault(one.machine, []).append((one.breakeven_utilization, False, at))
    for at, rate in enumerate(plan_rates):
        if plans[rate.plan].needs_steady:
            found.setdefault(rate.machine, []).append((rate.steady_share, True, at))
    return found


def levels_of(
    machines: Sequence[Machine],
    outliving: Outliving,
    kinds: Sequence[Kind],
    groups: Sequence[Group],
) -> Iterator[Level]:
    """Stack what outlives the horizon of each machine by break-even, the highest at the bottom."""
    peaks = _most_gpus_at_peak(kinds, groups)
    for number, own in sorted(outliving.items()):
        members: list[int] = []
        rates: list[int] = []
        most = math.ceil(peaks.get(number, 0) / machines[number].gpus)
        falling = sorted(own, key=lambda one: (-one[0], *one[1:]))
        for breakeven, alike in groupby(falling, key=lambda one: one[0]):
            for _, is_rate, at in alike:
                (rates if is_rate else members).append(at)
            yield Level(number, tuple(members), breakeven, most, tuple(rates))


def _most_gpus_at_peak(kinds: Sequence[Kind], groups: Sequence[Group]) -> dict[int, float]:
    """Add up the peaks of each demand's largest group, machine by machine."""
    peaks = [max(kind.replicas_alone) for kind in kinds]
    largest: dict[tuple[int, int], float] = {}
    for group in groups:
        if not group.on_spot:
            at = group.machine, group.demand
            largest[at] = max(largest.get(at, 0), peaks[group.kind] * group.gpus)
    total: dict[int, float] = {}
    for (machine, _), gpus in largest.items():
        total[machine] = total.get(machine, 0) + gpus
    return total
