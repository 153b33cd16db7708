"""The door of `validate_sizing.py serving`."""

from pathlib import Path

from judging import Verdict
from serving_judge import verdicts
from serving_rows import read_rows

from broker.specs.load import Specs


def judge(path: Path, specs: Specs) -> list[Verdict]:
    """Judge every row of a file of serving measurements."""
    return verdicts(list(read_rows(path, specs)))
