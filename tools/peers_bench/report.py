"""The comparison at 80 columns, and docs/benchmarks/peers.md from the rows of peers.csv."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from textwrap import wrap

from peers_bench.records import BETWEEN, FROM_A_START, OURS, TABLE, PeerRow, last_of_each

PAGE = TABLE.with_suffix(".md")
_WIDTH = 80
_OWN = (OURS, FROM_A_START)
_SLACK_USD = 0.005
_HEAD = """# The plan beside other ways to buy

Written by `make bench-peers`; do not edit. All rows, with facts of their machine, are in peers.csv
beside this page, from the first one on.

Every rival gets the same workloads, options, prices and stock as our plan. *Own account* is what
its answer costs as its own method counts: whole nodes for each workload, stock without end, no
owned nodes. Then its fleet is repaired until the independent check of `gpubroker verify` accepts
it, and priced as a plan; what was changed stands below each table. In a repaired fleet workloads
share nodes, and owned nodes are used first, which no rival does by itself. *Bound* is what no plan
of that kind costs less than, where the rival proves one: Mélange of its own program, the narrower
strategies of theirs. *Saving* is what our plan costs less than the repaired one. Where the policy
plans for several scenarios, plan and bound are of what is minimized over all of them; a rival plans
for the forecast alone, which the check refuses.

- **Mélange**: its published integer program (slices of load to types of GPU, CBC), one service at a
  time; its peak is rented all the time, *by the hour* its counts follow the load.
  `tools/peers_bench/melange.py` says how it was rebuilt. Runs take what costs least in all.
- **Greedy**: each workload where a GPU-hour costs least.
- **SkyPilot's rule**: for each task the cheapest offer that fits, by the hour; spot where allowed.
- **70 % of peak reserved**: that part of each machine's peak is reserved, the rest is rented.
- **On demand only**, **best single provider**, **best single GPU model**: our own program with that
  freedom taken away, solved to the same gap.
"""


def text_of(rows: Sequence[PeerRow]) -> str:
    """Write the rows of one instance as a table of at most 80 columns, and its repairs."""
    head = f"{'':29}{'own account':>13}{'plan USD':>13}{'bound USD':>12}{'s':>6}{'saving':>7}"
    lines = [rows[0].instance, head, *(_line(row, rows) for row in _in_order(rows))]
    verdicts = (*_verdicts(rows), *_without_a_start(rows))
    lines += [line for one in verdicts for line in _wrapped(one, "")]
    for row in _in_order(rows):
        for note in _notes(row):
            lines += _wrapped(f"{row.rival}: {note}", "  ")
    return "\n".join(lines)


def _line(row: PeerRow, rows: Sequence[PeerRow]) -> str:
    return (
        f"{row.name[:28]:29}{_usd(row.own_usd):>13}{_usd(row.usd):>13}"
        f"{_usd(row.bound_usd):>12}{row.seconds:>6.0f}{_saving(row, rows):>7}"
    )


def summary_of(rows: Sequence[PeerRow]) -> list[str]:
    """Tell the median saving over each rival, over all instances."""
    found = []
    for rival in dict.fromkeys(row.rival for row in rows if row.rival not in _OWN):
        savings = [
            saving
            for row in rows
            if row.rival == rival and (saving := _saved(row, rows)) is not None
        ]
        if savings:
            on = f"{len(savings)} instance{'s' * (len(savings) > 1)}"
            spread = f"{min(savings):.1%} to {max(savings):.1%}, {on}"
            found.append(f"{rival}: median saving {median(savings):.1%} ({spread})")
        else:
            found.append(f"{rival}: no plan to compare with")
    return found


def write_page(rows: Sequence[PeerRow], path: Path) -> None:
    """Write the page anew."""
    path.write_text(page_of(rows), encoding="utf-8")


def page_of(rows: Sequence[PeerRow]) -> str:
    """Write what the last comparison of each instance says."""
    last = _of_last_run(rows)
    parts = [_HEAD, "\n## Median savings\n\n"]
    parts += [f"- {line}\n" for line in summary_of(last)] or ["Not run yet.\n"]
    for instance in dict.fromkeys(row.instance for row in last):
        parts.append(_section([row for row in last if row.instance == instance]))
    return "".join(parts)


def _of_last_run(rows: Sequence[PeerRow]) -> tuple[PeerRow, ...]:
    """Keep, of each instance, the rows of the program that it was last compared with."""
    program = {row.instance: (row.program, row.snapshot, row.times) for row in rows}
    return last_of_each(
        [row for row in rows if program[row.instance] == (row.program, row.snapshot, row.times)]
    )


def _section(rows: Sequence[PeerRow]) -> str:
    first = rows[0]
    lines = [
        f"\n## {first.instance}\n",
        _circumstances(first),
        "| rival | own account USD | plan USD | bound USD | seconds | saving |",
        "| --- | --: | --: | --: | --: | --: |",
    ]
    for row in _in_order(rows):
        cells = (
            row.name,
            _usd(row.own_usd),
            _usd(row.usd),
            _usd(row.bound_usd),
            f"{row.seconds:.1f}",
            _saving(row, rows),
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *(f"**{one}**\n" for one in _verdicts(rows))]
    lines += [f"{one}\n" for one in _without_a_start(rows)]
    repairs = [f"- {row.rival}: {note}" for row in _in_order(rows) for note in _notes(row)]
    if repairs:
        lines += ["What was repaired, and how searches ended:\n", *repairs]
    return "\n".join(lines) + "\n"


def _circumstances(row: PeerRow) -> str:
    return (
        f"On {row.made_on}, program `{row.program}`; gap and seconds of ours, of a narrower "
        f"strategy and of Mélange: {row.times}; {row.cpu}, {row.cores} cores, load {row.load:g}, "
        f"Python {row.python}, OR-Tools {row.ortools}.\n"
    )


def is_dearer(rows: Sequence[PeerRow]) -> bool:
    """Say whether our plan of an instance is not the cheapest."""
    return any(True for _ in _verdicts(rows))


def _verdicts(rows: Sequence[PeerRow]) -> Iterator[str]:
    """Say plainly where our plan is not the cheapest."""
    ours = _ours_usd(rows, rows[0].instance)
    for row in _in_order(rows):
        if row.rival in _OWN or row.usd is None:
            continue
        if ours is None:
            yield f"We have no plan; {row.name} has one."
        elif row.usd < ours - _SLACK_USD:
            yield f"Our plan is dearer than {row.name}, by {ours - row.usd:,.2f} USD."


def _without_a_start(rows: Sequence[PeerRow]) -> Iterator[str]:
    """Say what a search of ours missed that was not given a rival's plan to begin with."""
    by_name = {row.rival: row for row in rows}
    alone = by_name[OURS].usd if OURS in by_name else None
    theirs = [row for row in rows if row.rival not in _OWN and row.usd is not None]
    best = min(theirs, key=lambda row: row.usd or 0.0, default=None)
    if FROM_A_START in by_name and best is not None and best.usd is not None:
        over = "found no plan" if alone is None else f"ended {alone - best.usd:,.2f} USD above it"
        yield f"Without the plan of {best.name} to begin with, our search {over}."


def _in_order(rows: Sequence[PeerRow]) -> list[PeerRow]:
    return sorted(rows, key=lambda row: row.rival not in _OWN)


def _notes(row: PeerRow) -> list[str]:
    told = (*row.repairs.split(BETWEEN), *row.remarks.split(BETWEEN), row.refusal)
    return [one for one in told if one]


def _ours_usd(rows: Sequence[PeerRow], instance: str) -> float | None:
    own = [row.usd for row in rows if row.rival in _OWN and row.instance == instance]
    return min((usd for usd in own if usd is not None), default=None)


def _saved(row: PeerRow, rows: Sequence[PeerRow]) -> float | None:
    ours = _ours_usd(rows, row.instance)
    if row.rival in _OWN or not row.usd or ours is None:
        return None
    return 1 - ours / row.usd


def _saving(row: PeerRow, rows: Sequence[PeerRow]) -> str:
    saved = _saved(row, rows)
    return "–" if saved is None else f"{saved:.1%}"


def _usd(value: float | None) -> str:
    return "–" if not value else f"{value:,.2f}"


def _wrapped(text: str, indent: str) -> list[str]:

    return wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ")
