"""The door of `validate_sizing.py memory`: peaks of training, or start logs of serving engines."""

import csv
from pathlib import Path

from judging import Verdict
from memory_judge import verdict
from memory_rows import read_memory_rows
from serving_trial import judge_start_logs

from broker.specs.load import Specs

_OF_START_LOGS = "weights_gib_per_gpu"


def judge(path: Path, specs: Specs) -> list[Verdict]:
    """Judge every row of a file; its columns say which of the two it is."""
    with path.open(encoding="utf-8", newline="") as lines:
        columns = next(csv.reader(lines), [])
    if _OF_START_LOGS in columns:
        return judge_start_logs(path, specs)
    return [verdict(row) for row in read_memory_rows(path, specs)]
