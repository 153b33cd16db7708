"""Hold the sizing against measurements: every row of a file, predicted from its configuration.

    python tools/validate_sizing.py serving FILE.csv [--format json]
    python tools/validate_sizing.py training FILE.csv
    python tools/validate_sizing.py memory FILE.csv    # training peaks, or engines' start logs

Prints a line a row (id, predicted, low, high, measured, label, reason) and a summary by metric, GPU
and kind of network, beside naive baselines. `low` to `high` is the 90 % band; a row that is refused
says why. The columns of each kind of file are those of the project's tables in broker/specs.
"""

import argparse
import csv
import importlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "accuracy"))

from judging import Summary, Verdict, summaries, summary

from broker.specs.load import Specs, load_specs

_KINDS = {"serving": "judge_serving", "training": "judge_training", "memory": "judge_memory"}
_COLUMNS = ("id", "predicted", "low", "high", "measured", "label", "reason")
_DIGITS = 4


def main() -> int:
    """Judge one file and print rows and summary."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("kind", choices=sorted(_KINDS), help="what the file measures")
    parser.add_argument("file", type=Path, metavar="FILE.csv", help="the measurements")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--summary", action="store_true", help="leave the rows out")
    options = parser.parse_args()
    judge: Callable[[Path, Specs], list[Verdict]] = importlib.import_module(
        _KINDS[options.kind]
    ).judge
    try:
        verdicts = judge(options.file, load_specs())
    except KeyError as lack:
        print(
            f"{options.file} has no column {lack}, as files of {options.kind} have", file=sys.stderr
        )
        return 2
    if options.format == "json":
        print(json.dumps(_as_json(verdicts, rows=not options.summary), indent=1))
        return 0
    if not options.summary:
        _print_rows(verdicts)
    for name, groups in _groups(verdicts):
        _print_summary(name, groups)
    return 0


def _groups(verdicts: Sequence[Verdict]) -> list[tuple[str, list[Summary]]]:
    return [
        ("all", [summary("all", verdicts)]),
        ("metric", summaries(verdicts, lambda one: one.metric)),
        ("GPU and metric", summaries(verdicts, lambda one: f"{one.gpu}: {one.metric}")),
        ("kind and metric", summaries(verdicts, lambda one: f"{one.kind}: {one.metric}")),
        (
            "reason of refusal",
            summaries([one for one in verdicts if one.reason], lambda one: one.reason),
        ),
    ]


def _as_json(verdicts: Sequence[Verdict], *, rows: bool) -> dict[str, object]:
    summed = {name: [asdict(one) for one in groups] for name, groups in _groups(verdicts)}
    listed = [{name: getattr(one, name) for name in _COLUMNS} for one in verdicts]
    return {"rows": listed if rows else [], "summary": summed}


def _print_rows(verdicts: Sequence[Verdict]) -> None:
    out = csv.writer(sys.stdout)
    out.writerow(_COLUMNS)
    for one in verdicts:
        out.writerow([_cell(getattr(one, name)) for name in _COLUMNS])


def _print_summary(name: str, groups: Sequence[Summary]) -> None:
    print(f"\nby {name}" if name != "all" else "")
    print(f"{'':44} {'rows':>5} {'none':>5} {'median':>7} {'p90':>7} {'in band':>8}  naive median")
    for one in groups:
        naive = ", ".join(f"{guess} {error:.0f} %" for guess, error in one.naive_percent.items())
        held = "" if one.within_share is None else f"{one.within_share:.0%}"
        print(
            f"{one.group[:44]:44} {one.rows:5} {one.refused:5} {_percent(one.median_percent):>7} "
            f"{_percent(one.top_percent):>7} {held:>8}  {naive}"
        )


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} %"


def _cell(value: object) -> object:
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else "" if value is None else value


if __name__ == "__main__":
    raise SystemExit(main())
