"""Which slots are planned alike: those that are equal in every datum.

Kinds of replica that serve for a window of time alone are chosen window by window. So slots of two
windows are alike only where all slots of these are, in order: then the same choice suits both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import groupby

from broker.domain.case import Case, OwnedNodes, committed_hours
from broker.domain.horizon import Slot
from broker.domain.workload import Workloads
from solver.milp.blocks import BlockWindow
from solver.milp.demands import Demand
from solver.milp.min_up import Ints
from solver.milp.months import counts_months, month_at
from solver.milp.sets import Period

_Datum = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Alike:
    """What must be the same in slots that are planned alike: loads, blocks, and what stays up."""

    demands: Sequence[Demand]
    windows: Sequence[BlockWindow]
    fleets: Sequence[Ints]


def periods_of(case: Case, slots: Sequence[Slot], like: Alike) -> tuple[Period, ...]:
    """Gather the slots that are planned alike, in the order of the first of each."""
    data = _data(case, slots, like)
    windows = _burst_windows(case.workloads, data)
    keys = list(zip(data, windows, strict=True))
    by_key = sorted(range(len(slots)), key=lambda index: (repr(keys[index]), index))
    alike = [tuple(same) for _, same in groupby(by_key, key=keys.__getitem__)]
    return tuple(Period(same, slots[same[0]].hours, windows[same[0]]) for same in sorted(alike))


def owned_at(owned: Sequence[OwnedNodes], machine: str, slot: Slot) -> int:
    """Count the nodes of a machine that are owned throughout a slot."""
    return sum(
        one.nodes
        for one in owned
        if one.machine == machine and (one.until is None or slot.end_at <= one.until)
    )


def is_active(term_h: Decimal, case: Case, slot: Slot) -> bool:
    """Say whether a term that begins with the horizon holds throughout a slot."""
    return _hours_to(slot.end_at, case) <= float(term_h)


def is_held(term_h: Decimal, case: Case, slot: Slot) -> bool:
    """Say whether a term that begins with the horizon holds in some part of a slot."""
    return _hours_to(slot.start_at, case) < float(term_h)


def _hours_to(moment: datetime, case: Case) -> float:
    return (moment - case.workloads.horizon.start).total_seconds() / 3600


def _data(case: Case, slots: Sequence[Slot], like: Alike) -> list[_Datum]:
    spans = [run.window for run in case.workloads.runs]
    terms_h = sorted({committed_hours(offer) for offer in case.offers if offer.commitment})
    horizon, has_months = case.workloads.horizon, counts_months(case.workloads)

    def datum(slot: Slot) -> _Datum:
        in_window = any(
            one.earliest < slot.end_at and slot.start_at < one.deadline for one in spans
        )
        return (
            slot.index if in_window else -1,
            month_at(horizon, slot.start_at) if has_months else -1,
            slot.hours,
            tuple(owned_at(case.owned, one.machine, slot) for one in case.owned),
            tuple((is_held(h, case, slot), is_active(h, case, slot)) for h in terms_h),
            tuple((one.touches(slot), one.covers(slot)) for one in like.windows),
            tuple(tuple(one.load_requests_per_s[:, slot.index].tolist()) for one in like.demands),
            tuple(int(up[slot.index]) for up in like.fleets),
        )

    return [datum(slot) for slot in slots]


def _burst_windows(workloads: Workloads, data: Sequence[_Datum]) -> list[int]:
    """Number the windows of burst kinds, slot by slot; those that are equal have one number."""
    burst, slot = workloads.policy.burst, workloads.horizon.slot
    slots = len(data) if burst is None else burst.change_every // slot
    number_of: dict[tuple[_Datum, ...], int] = {}
    numbers: list[int] = []
    for first in range(0, len(data), slots):
        window = tuple(data[first : first + slots])
        numbers += [number_of.setdefault(window, len(number_of))] * len(window)
    return numbers
