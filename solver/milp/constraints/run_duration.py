"""No run takes longer than its file allows, from its first start to its end."""

from collections.abc import Iterator

import numpy as np

from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns, Ints


def run_duration(sets: Sets, columns: Columns) -> Rows:
    """Let no gang of a run with a longest duration be up when that is over.

        begun    Σ_{a ∈ options[j]} gang_up[a,t] ≤ run_begun[j,t]    ∀ t ∈ window[j]
        goes_on  run_begun[j,t−1] ≤ run_begun[j,t]    ∀ t ∈ window[j] but the first
        over     Σ_{a ∈ options[j]} gang_up[a,t] + run_begun[j,t−most[j]] ≤ 1
                 ∀ t ∈ window[j] but the first most[j]
        ∀ j ∈ runs with max_duration

    most[j] are the whole slots in it. Pauses between pieces count. run_begun need not be whole:
    where gangs are, its least value is.

    gang_up stands with 1 in rows that have an upper limit alone: their duals only make a gang
    dearer. An option that is priced without them (price_out) is priced as if it had no limit,
    which is no more, so bounds and penalties from that hold.
    """
    keys: list[Key] = []
    parts: list[Entries] = []
    upper: list[float] = []
    for number, run in enumerate(sets.runs):
        options = [at for at, one in enumerate(sets.run_options) if one.run == number]
        if run.max_duration is None or not options:
            continue
        window = np.array(sets.run_options[options[0]].window, dtype=np.int64)
        for name, periods, own in _rows(columns, number, window, sets.most_slots(number)):
            rows = len(keys) + np.arange(len(periods))
            keys.extend((name, number, int(period)) for period in periods)
            upper.extend([1.0 if name == "over" else 0.0] * len(periods))
            parts.extend(entries(rows, column, value) for column, value in own)
            if name != "goes_on":
                up = (columns.gang_up.at(option, periods) for option in options)
                parts.extend(entries(rows, column, 1.0) for column in up)
    return rows_of("run_duration", keys, parts, upper=np.array(upper))


def _rows(
    columns: Columns, run: int, window: Ints, most: int
) -> Iterator[tuple[str, Ints, list[tuple[Ints, float]]]]:
    """Give the rows of a run by name: their periods, and their entries of run_begun."""
    begun = columns.run_begun
    yield "begun", window, [(begun.at(run, window), -1.0)]
    before, after = window[:-1], window[1:]
    yield "goes_on", after, [(begun.at(run, before), 1.0), (begun.at(run, after), -1.0)]
    yield "over", window[most:], [(begun.at(run, window[: max(0, len(window) - most)]), 1.0)]
